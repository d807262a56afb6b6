import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { resumeTask, type Task } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { getTask, operate, pause, reached, start } from "./bindings.ts";
import { executed, PLACES, stopAt } from "./durable-agents.ts";

const LONG = { agent: "long" };
const DURABLE = { agent: "durable" };

afterEach(() => {
  vi.useRealTimers();
});

function fireAlarm(id: string): Promise<boolean> {
  return runDurableObjectAlarm(env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id)));
}

/** Answers what the task asks until it has ended. */
async function see(id: string): Promise<Task> {
  for (;;) {
    const task = await getTask("rest", id, LONG);
    const { state } = task.status;
    if (state === "TASK_STATE_INPUT_REQUIRED") await start("rest", "red", { taskId: id }, LONG);
    else if (state === "TASK_STATE_AUTH_REQUIRED") await start("rest", "open", { taskId: id }, LONG);
    else if (state !== "TASK_STATE_WORKING") return task;
    await pause(5);
  }
}

/** What a task says, without what differs from one to the next. */
function said({ artifacts, history = [], status }: Task) {
  const texts = history.map(({ role, parts }) => `${role} ${parts[0]?.text}`);
  return { artifacts, state: status.state, texts: texts.slice(1) };
}

describe("a turn of ten durable calls", () => {
  const whole = ["a", "echo", "b", "round", "round", "words"];
  const uncut = start("rest", "uncut", {}, LONG).then(({ id }) => see(id));

  test("runs once when nothing happens to it", async () => {
    expect(said(await uncut)).toMatchObject({
      state: "TASK_STATE_COMPLETED",
      artifacts: [
        { artifactId: "first-1.1", parts: [{ data: { name: "a", attempt: 1 } }] },
        { artifactId: "echo-1.1", parts: [{ text: "red, it is" }] },
        { artifactId: "words", parts: [{ data: 1 }, { data: 2 }, { data: 3 }] },
        { artifactId: "end-1.1", parts: [{ data: { how: "open" } }] },
      ],
    });
    expect(executed.get("uncut")?.slice(0, -1)).toEqual(whole);
  });

  test.each(PLACES)("cut off at %j ends alike, and repeats no step that was done", async (place) => {
    const text = `cut at ${place}`;
    const stopped = stopAt(text, place);
    const { id } = await start("rest", text, {}, LONG);
    const end = see(id);
    await stopped();
    // Nobody who waits here has to come for it.
    await abortAllDurableObjects();
    await fireAlarm(id);
    const task = await end;
    expect(said(task)).toEqual(said(await uncut));
    const runs = executed.get(text) ?? [];
    const attempt = Number(runs.pop()?.replace("attempt ", ""));
    expect(attempt).toBeGreaterThan(1);
    // What was cut in the middle runs once more; nothing else does.
    const inside = place.startsWith("in ");
    expect(runs.length).toBe(whole.length + (inside ? 1 : 0));
    expect([...new Set(runs)]).toEqual([...new Set(whole)]);
  });

  test.each(["ask", "authorize"])(
    "cut off while its %s waits goes on with the answer",
    async (kind) => {
      const text = `waits in ${kind}`;
      const { id } = await start("rest", text, {}, LONG);
      await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", LONG);
      if (kind === "authorize") {
        await start("rest", "red", { taskId: id }, LONG);
        await reached("rest", id, "TASK_STATE_AUTH_REQUIRED", LONG);
      }
      const before = await getTask("rest", id, LONG);
      await abortAllDurableObjects();
      expect(await getTask("rest", id, LONG)).toEqual(before);
      if (kind === "authorize") await resumeTask(env, id, "door", "open");
      const task = await see(id);
      expect(task.artifacts).toEqual((await uncut).artifacts);
      const runs = executed.get(text) ?? [];
      expect(runs.slice(0, -1)).toEqual(whole);
      expect(runs.at(-1)).not.toBe("attempt 1");
    },
  );
});

describe("a cancel", () => {
  test.each([...PLACES, "asked"])(
    "at %j ends the task at once, and its clean-up knows what was done",
    async (place) => {
      const text = `cancel at ${place}`;
      const stopped = stopAt(text, place);
      const { id } = await start("rest", text, {}, LONG);
      if (place === "asked") await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", LONG);
      else void see(id);
      if (place !== "asked") await stopped();
      const { value } = await operate("rest", "CancelTask", { id }, LONG);
      expect(value).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
      await expect.poll(() => executed.get(text)).toContain("bye");
      const [refund] = executed.get(text)?.filter((each) => each.startsWith("refund")) ?? [];
      const done = !["begin", "in a"].includes(place);
      expect(refund).toBe(done ? 'refund of {"name":"a","attempt":1}' : "refund of undefined");
      expect(await getTask("rest", id, LONG)).toEqual(value);
    },
  );

  test("between two runs of a turn ends it too", async () => {
    const text = "cancel between runs";
    const stopped = stopAt(text, "b");
    const { id } = await start("rest", text, {}, LONG);
    void see(id);
    await stopped();
    await abortAllDurableObjects();
    const { value } = await operate("rest", "CancelTask", { id }, LONG);
    expect(value).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
    await expect.poll(() => executed.get(text)).toContain("bye");
  });

  test("is followed by a clean-up that outlives its object, does nothing twice and changes nothing", async () => {
    const text = "cleanup";
    const { id } = await start("rest", text, {}, LONG);
    await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", LONG);
    const stopped = stopAt(text, "clean-up");
    const { value } = await operate("rest", "CancelTask", { id }, LONG);
    await stopped();
    await abortAllDurableObjects();
    await fireAlarm(id);
    await expect.poll(() => executed.get(text)).toContain("bye");
    expect(executed.get(text)?.filter((each) => /refund|bye/.test(each))).toEqual([
      'refund of {"name":"a","attempt":1}',
      "bye",
    ]);
    expect(await getTask("rest", id, LONG)).toEqual(value);
  });
});

describe("a turn that sleeps for an hour", () => {
  async function asleep(text: string) {
    const { id } = await start("rest", text, {}, DURABLE);
    await pause(30);
    return id;
  }
  const anHourLater = () => vi.setSystemTime(Date.now() + 3_600_000);

  test("is woken by the alarm, also when its object is gone, early and twice", async () => {
    const id = await asleep("long 1");
    await abortAllDurableObjects();
    vi.useFakeTimers({ toFake: ["Date"] });
    anHourLater();
    await fireAlarm(id);
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: 2 }]);
    await fireAlarm(id);
    expect(await getTask("rest", id, DURABLE)).toEqual(task);
  });

  test("sleeps on when the alarm fires early", async () => {
    const id = await asleep("long 2");
    await fireAlarm(id);
    await fireAlarm(id);
    expect((await getTask("rest", id, DURABLE)).status.state).toBe("TASK_STATE_WORKING");
    vi.useFakeTimers({ toFake: ["Date"] });
    anHourLater();
    await fireAlarm(id);
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    // In the same object: it was not run again.
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: 1 }]);
  });

  test("is left alone by those who only look at it", async () => {
    const id = await asleep("long 3");
    await abortAllDurableObjects();
    for (let i = 0; i < 3; i++) await getTask("rest", id, DURABLE);
    vi.useFakeTimers({ toFake: ["Date"] });
    anHourLater();
    await fireAlarm(id);
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: 2 }]);
  });

  test("beside a step is held for the step, and runs again when that is cut off", async () => {
    const stopped = stopAt("race 1", "race");
    const { id } = await start("rest", "race 1", {}, DURABLE);
    await stopped();
    await abortAllDurableObjects();
    await fireAlarm(id);
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: "work won" }]);
  });
});

test("a short sleep that was cut off ends in time once somebody looks, and not with the next alarm", async () => {
  const { id } = await start("rest", "brief 1", {}, DURABLE);
  await abortAllDurableObjects();
  await getTask("rest", id, DURABLE);
  expect(executed.get("brief 1")).toBeUndefined();
  const awake = () => expect(executed.get("brief 1")).toEqual(["awake in attempt 2"]);
  await vi.waitFor(awake, { timeout: 5_000 });
});

describe("a question that is open", () => {
  test("keeps its turn waiting when a sleep beside it is over: looking at it is no restart", async () => {
    const { id } = await start("rest", "outlived 1", {}, DURABLE);
    await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", DURABLE);
    await abortAllDurableObjects();
    vi.useFakeTimers({ toFake: ["Date"] });
    // Longer than a turn may go on without getting anywhere, each time.
    for (let i = 0; i < 8; i++) {
      vi.setSystemTime(Date.now() + 3_600_000);
      await getTask("rest", id, DURABLE);
      await pause(5);
      await abortAllDurableObjects();
    }
    // The end of the sleep was worth one run, and no more.
    expect(executed.get("outlived 1")).toEqual(["attempt 1", "attempt 2"]);
    expect((await getTask("rest", id, DURABLE)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await operate("rest", "CancelTask", { id }, DURABLE);
  });

  test("is answered by a message that comes before a later run has come to it", async () => {
    const { id } = await start("rest", "slowToAsk 1", {}, DURABLE);
    await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", DURABLE);
    await abortAllDurableObjects();
    await fireAlarm(id);
    await start("rest", "blue", { taskId: id }, DURABLE);
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: "blue" }]);
    const asked = task.history?.filter(({ role }) => role === "ROLE_AGENT");
    expect(asked).toHaveLength(1);
  });
});

test("a step that nobody awaited is no part of the next turn, which has one of the same name", async () => {
  const { id } = await start("rest", "leaves one", {}, DURABLE);
  await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", DURABLE);
  const stopped = stopAt("leaves two", "left");
  await start("rest", "leaves two", { taskId: id }, DURABLE);
  await stopped();
  await abortAllDurableObjects();
  await fireAlarm(id);
  const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
  expect(task.artifacts?.[0]?.parts).toEqual([{ data: "two" }]);
});

describe("after a deploy that changed the code", () => {
  test("calls with the same names go on, and one with a new name is made", async () => {
    const stopped = stopAt("renamed 1", "renamed");
    const { id } = await start("rest", "renamed 1", {}, DURABLE);
    await stopped();
    await abortAllDurableObjects();
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: { old: 2, kept: 1 } }]);
    expect(executed.get("renamed 1")).toEqual(["run 1", "run 2"]);
  });

  test("a name that was another kind of call fails the task, which says so", async () => {
    const stopped = stopAt("changed 1", "changed");
    const { id } = await start("rest", "changed 1", {}, DURABLE);
    await stopped();
    await abortAllDurableObjects();
    const { status, artifacts } = await reached("rest", id, "TASK_STATE_FAILED", DURABLE);
    expect(status.message?.parts[0]?.text).toContain('"thing" was turn.step when this turn ran before');
    expect(artifacts).toEqual([]);
  });

  test("what is published alike is not said again, and what differs replaces it", async () => {
    const stopped = stopAt("differing 1", "differing");
    const { id } = await start("rest", "differing 1", {}, DURABLE);
    await stopped();
    await abortAllDurableObjects();
    const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
    const texts = task.artifacts?.map(({ parts }) => parts.map(({ text }) => text));
    expect(texts).toEqual([["same"], ["1", "two"], ["a"], [undefined]]);
    const statuses = task.history?.slice(1).map(({ parts }) => parts[0]?.text);
    expect(statuses).toEqual(["same", "run 1", "same", "run 2", "same"]);
  });
});

describe("a turn that gets nowhere", () => {
  test("is failed when its restarts and its time are used up, and says so (D-08)", async () => {
    const { id } = await start("rest", "stuck 1", {}, { agent: "impatient" });
    for (let i = 0; i < 3; i++) {
      await pause(5);
      await abortAllDurableObjects();
      await fireAlarm(id);
    }
    const { status } = await reached("rest", id, "TASK_STATE_FAILED", { agent: "impatient" });
    expect(status.message?.parts[0]?.text).toMatch(/^The agent was interrupted 3 times in 0 minutes/);
    expect(executed.get("stuck 1")).toEqual(["attempt 1", "attempt 2", "attempt 3"]);
  });

  test("is not failed by many resets in a short time (D-08)", async () => {
    const { id } = await start("rest", "stuck 2", {}, DURABLE);
    for (let i = 0; i < 8; i++) {
      await abortAllDurableObjects();
      await fireAlarm(id);
    }
    expect((await getTask("rest", id, DURABLE)).status.state).toBe("TASK_STATE_WORKING");
    await operate("rest", "CancelTask", { id }, DURABLE);
  });
});

test("an authorization is refused for another name, and when nothing waits for it (§7.6.4)", async () => {
  const { id } = await start("rest", "authorize 1", {}, DURABLE);
  const asked = await reached("rest", id, "TASK_STATE_AUTH_REQUIRED", DURABLE);
  expect(asked.status.message?.parts).toEqual([{ text: "Let me in" }]);
  const refused = { reason: "UNSUPPORTED_OPERATION" };
  await expect(resumeTask(env, id, "other")).rejects.toMatchObject(refused);
  expect(await getTask("rest", id, DURABLE)).toEqual(asked);
  await resumeTask(env, id, "calendar", { token: "t" });
  const task = await reached("rest", id, "TASK_STATE_COMPLETED", DURABLE);
  expect(task.artifacts?.[0]?.parts).toEqual([{ data: { via: "resume", value: { token: "t" } } }]);
  await expect(resumeTask(env, id, "calendar")).rejects.toMatchObject(refused);
  await expect(resumeTask(env, "nope", "calendar")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
});
