/** `Idempotency-Key`: one key, one task (CASES.md, T-26, T-27, D-03). */
import { abortAllDurableObjects, listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { deleteTask, type Message, type Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import {
  type Answer,
  BINDINGS,
  type Binding,
  expectRefused,
  getTask,
  operate,
  pause,
  reached,
  send,
  start,
} from "./bindings.ts";
import { type CallOptions, message, script } from "./client.ts";
import { assemble, content, open, statesOf } from "./event-stream.ts";
import { indexOf, listedIn, tablesOf } from "./kept.ts";
import { meter } from "./meter.ts";

const ALICE = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
const BOB = { agent: "keyed", headers: { "X-API-Key": "bob-key" } };
const UNIQUE = { agent: "unique", headers: { "X-API-Key": "alice-key" } };
const SCRIPT = { agent: "script", headers: {} };

function keyed(key: string = crypto.randomUUID(), options: CallOptions = ALICE): CallOptions {
  return { ...options, headers: { ...options.headers, "Idempotency-Key": key } };
}

function taskOf({ value, error }: Answer): Task {
  if (!value?.task) throw new Error(`no task: ${JSON.stringify(error ?? value)}`);
  return value.task as Task;
}

/** A step that counts its runs, and the count. */
const COUNTED: Step[] = [{ do: "step", name: "work", ms: 30, result: 1 }, { do: "report" }];
const RAN_ONCE = [{ parts: [{ data: { attempt: 1, executions: { work: 1 } } }] }];

function countObjects(): Promise<number> {
  return listDurableObjectIds(env.TASK_OBJECT).then((ids) => ids.length);
}

describe.each(BINDINGS)("messages with one key (%s)", (binding) => {
  test("20 at once make one task, whose agent runs once, and are all answered with it (T-26)", async () => {
    const as = keyed();
    const asked = { message: message(script(...COUNTED)) };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => operate(binding, "SendMessage", asked, as)),
    );
    const tasks = answers.map(taskOf);
    const [first] = tasks;
    for (const task of tasks) expect(task).toEqual(first);
    expect(first?.artifacts).toMatchObject(RAN_ONCE);
    expect(first?.history?.filter(({ role }) => role === "ROLE_USER")).toHaveLength(1);
    const { value } = await operate(binding, "ListTasks", { contextId: first?.contextId }, ALICE);
    expect(value).toMatchObject({ totalSize: 1 });
  });

  test("20 at once that stream make one task, and each stream adds up to it (T-26)", async () => {
    const as = keyed();
    const asked = {
      message: message(script({ do: "chunks", count: 10, everyMs: 10, text: "x" }, ...COUNTED)),
    };
    const streams = await Promise.all(
      Array.from({ length: 20 }, async () =>
        (await open(binding, "SendStreamingMessage", asked, as)).rest(),
      ),
    );
    const ids = streams.map(([first]) => first?.event.task?.id);
    expect(new Set(ids).size).toBe(1);
    const task = await getTask(binding, ids[0] ?? "", ALICE);
    expect(task.artifacts?.at(-1)).toMatchObject(RAN_ONCE[0] ?? {});
    for (const events of streams) expect(content(assemble(events))).toEqual(content(task));
  });

  test("one that is repeated while the first waits gets the same answer (T-26)", async () => {
    const as = keyed();
    const asked = { message: message(script({ do: "sleep", ms: 150 }, ...COUNTED)) };
    const first = operate(binding, "SendMessage", asked, as);
    await pause(50);
    const second = taskOf(await operate(binding, "SendMessage", asked, as));
    expect(second.status.state).toBe("TASK_STATE_COMPLETED");
    expect(taskOf(await first)).toEqual(second);
    expect(second.artifacts).toMatchObject(RAN_ONCE);
  });

  test.each([
    ["complete", "TASK_STATE_COMPLETED"],
    ["fail", "TASK_STATE_FAILED"],
    ["input", "TASK_STATE_INPUT_REQUIRED"],
  ] as const)(
    "one that is repeated after a turn that ended by %s is answered with the task as it is (T-26)",
    async (end, state) => {
      const as = keyed();
      const asked = { message: message(script({ do: "working", text: "on it" }, { do: end })) };
      const first = taskOf(await operate(binding, "SendMessage", asked, as));
      expect(first.status.state).toBe(state);
      for (const repeat of [1, 2]) {
        expect(taskOf(await operate(binding, "SendMessage", asked, as)), `${repeat}`).toEqual(first);
      }
      await abortAllDurableObjects();
      expect(taskOf(await operate(binding, "SendMessage", asked, as))).toEqual(first);
      expect(await getTask(binding, first.id, ALICE)).toEqual(first);
    },
  );

  test("one that returns immediately does so when it is repeated (T-26)", async () => {
    const as = keyed();
    const asked = {
      message: message(script({ do: "sleep", ms: 300 }, ...COUNTED)),
      configuration: { returnImmediately: true },
    };
    const tasks = [];
    const begun = Date.now();
    for (let repeats = 0; repeats < 3; repeats++) {
      tasks.push(taskOf(await operate(binding, "SendMessage", asked, as)));
    }
    expect(Date.now() - begun).toBeLessThan(300);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    const done = await reached(binding, tasks[0]?.id ?? "", "TASK_STATE_COMPLETED", ALICE);
    expect(done.artifacts).toMatchObject(RAN_ONCE);
    expect(taskOf(await operate(binding, "SendMessage", asked, as))).toEqual(done);
  });

  test("one whose object was cut off in its turn is answered when that has gone on (T-26, D-03)", async () => {
    const as = keyed();
    const steps = script({ do: "working" }, { do: "sleep", ms: 200 }, ...COUNTED);
    const asked = { message: message(steps), configuration: { returnImmediately: true } };
    const { id } = taskOf(await operate(binding, "SendMessage", asked, as));
    await abortAllDurableObjects();
    expect(taskOf(await operate(binding, "SendMessage", asked, as)).id).toBe(id);
    const done = await reached(binding, id, "TASK_STATE_COMPLETED", ALICE);
    expect(done.artifacts).toMatchObject([
      { parts: [{ data: { attempt: 2, executions: { work: 1 } } }] },
    ]);
    expect(done.history?.filter(({ role }) => role === "ROLE_USER")).toHaveLength(1);
  });

  test("one that waits when its object is cut off is answered, and so is its retry (T-26, D-03)", async () => {
    const as = keyed();
    const asked = {
      message: message(script({ do: "working" }, { do: "sleep", ms: 200 }, ...COUNTED)),
    };
    const first = operate(binding, "SendMessage", asked, as);
    await pause(80);
    await abortAllDurableObjects();
    const second = taskOf(await operate(binding, "SendMessage", asked, as));
    expect(taskOf(await first)).toEqual(second);
    expect(second.artifacts).toMatchObject([{ parts: [{ data: { executions: { work: 1 } } }] }]);
  });

  test("one that streams attaches to the task that is there (T-26)", async () => {
    const as = keyed();
    const steps = script(
      { do: "artifact", artifactId: "a", parts: [{ text: "first" }] },
      { do: "sleep", ms: 200 },
      { do: "artifact", artifactId: "b", parts: [{ text: "second" }] },
    );
    const asked = { message: message(steps) };
    const first = await open(binding, "SendStreamingMessage", asked, as);
    await first.until(({ artifactUpdate }) => artifactUpdate !== undefined);
    await first.close();
    const second = await (await open(binding, "SendStreamingMessage", asked, as)).rest();
    expect(second[0]?.event.task).toMatchObject({
      status: { state: "TASK_STATE_WORKING" },
      artifacts: [{ artifactId: "a" }],
    });
    expect(statesOf(second).at(-1)).toBe("TASK_STATE_COMPLETED");
    const task = await getTask(binding, second[0]?.event.task?.id ?? "", ALICE);
    expect(content(assemble(second))).toEqual(content(task));
  });

  test("one that streams goes on behind its Last-Event-ID: nothing is lost, nothing comes twice (T-26)", async () => {
    const as = keyed();
    const steps = Array.from({ length: 6 }, (_, i): Step[] => [
      { do: "artifact", artifactId: `a${i}`, parts: [{ text: `${i}` }] },
      { do: "sleep", ms: 40 },
    ]);
    const asked = { message: message(script(...steps.flat())) };
    const first = await open(binding, "SendStreamingMessage", asked, as);
    const seen = await first.until(
      ({ artifactUpdate }) => artifactUpdate?.artifact.artifactId === "a1",
    );
    await first.close();
    await pause(100);
    const last = seen.at(-1)?.id;
    const resuming = { ...as, headers: { ...as.headers, "Last-Event-ID": `${last}` } };
    const rest = await (await open(binding, "SendStreamingMessage", asked, resuming)).rest();
    expect(rest[0]?.id).toBe(last);
    const later = rest.slice(1);
    expect(later.flatMap(({ event }) => event.artifactUpdate?.artifact.artifactId ?? [])).toEqual([
      "a2",
      "a3",
      "a4",
      "a5",
    ]);
    const task = await getTask(binding, rest[0]?.event.task?.id ?? "", ALICE);
    expect(content(assemble([...seen, ...later]))).toEqual(content(task));
    // The task has ended since: what was missed, then the end.
    const again = await (await open(binding, "SendStreamingMessage", asked, resuming)).rest();
    expect(again).toEqual(rest);
  });

  test.each(["complete", "input"] as const)(
    "one that streams shows the task of a turn that ended by %s, and closes (T-26)",
    async (end) => {
      const as = keyed();
      const asked = { message: message(script({ do: "chunks", count: 3 }, { do: end })) };
      const first = await (await open(binding, "SendStreamingMessage", asked, as)).rest();
      const task = await getTask(binding, first[0]?.event.task?.id ?? "", ALICE);
      expect(
        (await (await open(binding, "SendStreamingMessage", asked, as)).rest()).map(
          ({ event }) => event,
        ),
      ).toEqual([{ task }]);
      await abortAllDurableObjects();
      expect(
        (await (await open(binding, "SendStreamingMessage", asked, as)).rest()).map(
          ({ event }) => event,
        ),
      ).toEqual([{ task }]);
      // The same request without a stream is the same request.
      expect(taskOf(await operate(binding, "SendMessage", asked, as))).toEqual(task);
    },
  );

  test.each([
    ["another text", { parts: [{ text: "other" }] }, {}],
    ["another messageId", { messageId: "other" }, {}],
    ["another configuration", {}, { configuration: { historyLength: 1 } }],
    ["other metadata", {}, { metadata: { a: 1 } }],
  ])("one with %s is refused, and changes nothing", async (_, fields, request) => {
    const as = keyed();
    const first = message("hi");
    const task = taskOf(await operate(binding, "SendMessage", { message: first }, as));
    const other = { message: { ...first, ...fields }, ...request };
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, other, as);
      expectRefused(answer, "INVALID_PARAMS", "Idempotency-Key");
      expect(answer.error?.message).toContain("Idempotency-Key");
    }
    expect(await getTask(binding, task.id, ALICE)).toEqual(task);
  });

  test("one whose agent threw is answered with the same error, and the agent does not run again (T-26)", async () => {
    const as = keyed();
    const steps = script(...COUNTED.slice(0, 1), { do: "throw", reason: "INVALID_AGENT_RESPONSE" });
    const asked = { message: message(steps) };
    const first = await operate(binding, "SendMessage", asked, as);
    expectRefused(first, "INVALID_AGENT_RESPONSE");
    const again = await operate(binding, "SendMessage", asked, as);
    const taskId = ({ error }: Answer) =>
      error?.details.flatMap(({ metadata }) => (metadata as { taskId?: string })?.taskId ?? []);
    expect(again.error?.message).toBe(first.error?.message);
    expect(taskId(again)).toEqual(taskId(first));
    expect(taskId(first)).toHaveLength(1);
  });

  test("one with a webhook stores it once, as do further messages (T-26)", async () => {
    const configuration = { taskPushNotificationConfig: { url: "https://example.com/hook" } };
    const asked = { message: message(script({ do: "input" })), configuration };
    const as = keyed();
    const { id } = taskOf(await operate(binding, "SendMessage", asked, as));
    await operate(binding, "SendMessage", asked, as);
    expect((await tablesOf(id)).push).toHaveLength(1);
    const more = { message: message(script({ do: "input" }), { taskId: id }), configuration };
    const followed = keyed();
    for (let repeats = 0; repeats < 3; repeats++) await operate(binding, "SendMessage", more, followed);
    expect((await tablesOf(id)).push).toHaveLength(2);
  });

  test("of different owners make different tasks", async () => {
    const key = crypto.randomUUID();
    const asked = { message: message("hi") };
    const tasks = [];
    for (const as of [ALICE, BOB, { ...ALICE, agent: "mirror" }]) {
      tasks.push(taskOf(await operate(binding, "SendMessage", asked, keyed(key, as))));
    }
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(3);
    expectRefused(await operate(binding, "GetTask", { id: tasks[0]?.id }, BOB), "TASK_NOT_FOUND");
  });

  test("one whose task was deleted is refused as not found, says why, and makes no new task", async () => {
    const as = keyed();
    const asked = { message: message("hi") };
    const { id } = taskOf(await operate(binding, "SendMessage", asked, as));
    expect(await deleteTask(env, id)).toBe(true);
    const before = await countObjects();
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, asked, as);
      expectRefused(answer, "TASK_NOT_FOUND");
      expect(answer.error?.message).toContain("Idempotency-Key");
      expect(answer.error?.message).toContain("deleted");
    }
    await abortAllDurableObjects();
    expectRefused(await operate(binding, "SendMessage", asked, as), "TASK_NOT_FOUND");
    // Also with another request: the key is used up.
    expectRefused(
      await operate(binding, "SendMessage", { message: message("new") }, as),
      "TASK_NOT_FOUND",
    );
    expect(await countObjects()).toBe(before);
    expect(Object.keys(await tablesOf(id))).toEqual(["remains"]);
    expect(await listedIn(indexOf("keyed"))).not.toContain(id);
  });
});

describe.each(BINDINGS)("further messages with a key (%s)", (binding) => {
  test("that are repeated are taken in once, one after the other and at once (T-27)", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, ALICE);
    const as = keyed();
    const more = { message: message(script(...COUNTED.slice(0, 1), { do: "input" }), { taskId: id }) };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => operate(binding, "SendMessage", more, as)),
    );
    const [first, ...others] = answers.map(taskOf);
    expect(first?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    for (const other of others) expect(other).toEqual(first);
    expect(taskOf(await operate(binding, "SendMessage", more, as))).toEqual(first);
    await abortAllDurableObjects();
    expect(taskOf(await operate(binding, "SendMessage", more, as))).toEqual(first);
    const last = await send(binding, script({ do: "report" }), { taskId: id }, ALICE);
    expect(last.artifacts).toMatchObject([{ parts: [{ data: { executions: { work: 1 } } }] }]);
    expect(last.history?.filter(({ role }) => role === "ROLE_USER")).toHaveLength(3);
    // And after the end of the task too.
    expect(taskOf(await operate(binding, "SendMessage", more, as))).toEqual(last);
  });

  test("that answer a question answer one question, though they are repeated (T-27)", async () => {
    const questions = script(
      { do: "ask", name: "one", text: "one?" },
      { do: "ask", name: "two", text: "two?" },
      { do: "complete" },
    );
    const { id } = await send(binding, questions, {}, ALICE);
    const as = keyed();
    const answer = { message: message("1", { taskId: id }) };
    for (let repeats = 0; repeats < 3; repeats++) {
      const { status } = taskOf(await operate(binding, "SendMessage", answer, as));
      expect(status).toMatchObject({
        state: "TASK_STATE_INPUT_REQUIRED",
        message: { parts: [{ text: "two?" }] },
      });
    }
    const done = await send(binding, "2", { taskId: id }, keyed());
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
  });

  test("that arrive during a turn wait once, though they are repeated (T-27)", async () => {
    const { id } = await start(binding, script({ do: "sleep", ms: 150 }), {}, ALICE);
    const as = keyed();
    const more = {
      message: message("next", { taskId: id }),
      configuration: { returnImmediately: true },
    };
    for (let repeats = 0; repeats < 3; repeats++) {
      expect(taskOf(await operate(binding, "SendMessage", more, as)).id).toBe(id);
    }
    const { artifacts, history } = await reached(binding, id, "TASK_STATE_COMPLETED", ALICE);
    expect(artifacts?.map(({ parts }) => parts[0]?.text)).toEqual(["You said: next"]);
    expect(history?.filter(({ role }) => role === "ROLE_USER")).toHaveLength(2);
  });

  test("with a stream attach to what they began", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, ALICE);
    const as = keyed();
    const more = { message: message(script({ do: "sleep", ms: 150 }, ...COUNTED), { taskId: id }) };
    const first = await open(binding, "SendStreamingMessage", more, as);
    await first.next();
    await first.close();
    const events = await (await open(binding, "SendStreamingMessage", more, as)).rest();
    expect(statesOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
    const task = await getTask(binding, id, ALICE);
    expect(task.artifacts).toMatchObject(RAN_ONCE);
    expect(content(assemble(events))).toEqual(content(task));
  });

  test("with the key of another request of the task are refused, and not taken in", async () => {
    const as = keyed();
    const { id } = await send(binding, script({ do: "input" }), {}, as);
    const answer = await operate(binding, "SendMessage", { message: message("b", { taskId: id }) }, as);
    expectRefused(answer, "INVALID_PARAMS", "Idempotency-Key");
    const followed = keyed();
    await send(binding, script({ do: "input" }), { taskId: id }, followed);
    expectRefused(
      await operate(binding, "SendMessage", { message: message("b", { taskId: id }) }, followed),
      "INVALID_PARAMS",
      "Idempotency-Key",
    );
    expect((await getTask(binding, id, ALICE)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  test("to a task of another owner are refused as not found, whatever their key", async () => {
    const as = keyed();
    const first = { message: message(script({ do: "input" })) };
    const { id } = taskOf(await operate(binding, "SendMessage", first, as));
    const key = as.headers?.["Idempotency-Key"] ?? "";
    for (const theirs of [key, crypto.randomUUID()]) {
      const more = { message: message("hi", { taskId: id }) };
      expectRefused(await operate(binding, "SendMessage", more, keyed(theirs, BOB)), "TASK_NOT_FOUND");
      expectRefused(
        await operate(binding, "SendStreamingMessage", more, keyed(theirs, BOB)),
        "TASK_NOT_FOUND",
      );
    }
    expect((await getTask(binding, id, ALICE)).history).toHaveLength(1);
  });
});

describe.each(BINDINGS)("a Message as the answer to a message with a key (%s)", (binding) => {
  const reply: Step = { do: "reply", parts: [{ text: "so" }] };
  const key = () => keyed(crypto.randomUUID(), SCRIPT);

  async function said(asked: object, as: CallOptions): Promise<Message> {
    const { value, error } = await operate(binding, "SendMessage", asked, as);
    if (!value?.message) throw new Error(`no message: ${JSON.stringify(error ?? value)}`);
    return value.message as Message;
  }

  async function streamed(asked: object, as: CallOptions): Promise<unknown[]> {
    return (await (await open(binding, "SendStreamingMessage", asked, as)).rest()).map(
      ({ event }) => event,
    );
  }

  test("is the same Message for all that repeat it: at once, later, by stream, after a cut (T-26)", async () => {
    const as = key();
    const asked = { message: message(script({ do: "sleep", ms: 50 }, reply)) };
    const answers = await Promise.all(Array.from({ length: 10 }, () => said(asked, as)));
    const [first] = answers;
    for (const answer of answers) expect(answer).toEqual(first);
    expect(await said(asked, as)).toEqual(first);
    expect(await streamed(asked, as)).toEqual([{ message: first }]);
    await abortAllDurableObjects();
    expect(await said(asked, as)).toEqual(first);
    expect(await streamed(asked, as)).toEqual([{ message: first }]);
  });

  test("is the same Message when it was streamed first (T-26)", async () => {
    const as = key();
    const asked = { message: message(script({ do: "sleep", ms: 50 }, reply)) };
    const all = await Promise.all([streamed(asked, as), streamed(asked, as)]);
    expect(all[0]).toMatchObject([{ message: { parts: [{ text: "so" }] } }]);
    expect(all[1]).toEqual(all[0]);
    expect([{ message: await said(asked, as) }]).toEqual(all[0]);
  });

  test("is refused to another request with the key", async () => {
    const as = key();
    await said({ message: message(script(reply)) }, as);
    const other = { message: message("other") };
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      expectRefused(await operate(binding, operation, other, as), "INVALID_PARAMS", "Idempotency-Key");
    }
  });

  test("is no task: its object has the answer alone, also for a webhook, which no id brings to light", async () => {
    const as = key();
    const before = new Set((await listDurableObjectIds(env.TASK_OBJECT)).map((id) => id.toString()));
    const asked = {
      message: message(script(reply)),
      configuration: { taskPushNotificationConfig: { url: "https://example.com/hook" } },
    };
    const first = await said(asked, as);
    const ids = (await listDurableObjectIds(env.TASK_OBJECT)).map((id) => id.toString());
    const [id = ""] = ids.filter((each) => !before.has(each));
    expect(Object.keys(await tablesOf(id))).toEqual(["remains", "push"]);
    expectRefused(await operate(binding, "GetTask", { id }, SCRIPT), "TASK_NOT_FOUND");
    const more = { message: { ...asked.message, taskId: id }, configuration: asked.configuration };
    expectRefused(await operate(binding, "SendMessage", more, as), "TASK_NOT_FOUND");
    expectRefused(await operate(binding, "SendMessage", more, key()), "TASK_NOT_FOUND");
    expect(await said(asked, as)).toEqual(first);
    expect(Object.keys(await tablesOf(id))).toEqual(["remains", "push"]);
  });

  test("that comes too late for one is a task for all", async () => {
    const as = key();
    const asked = { message: message(script({ do: "working" }, reply)) };
    const first = taskOf(await operate(binding, "SendMessage", asked, as));
    expect(first.status).toMatchObject({
      state: "TASK_STATE_COMPLETED",
      message: { parts: [{ text: "so" }] },
    });
    expect(taskOf(await operate(binding, "SendMessage", asked, as))).toEqual(first);
  });
});

describe.each(BINDINGS)("a key (%s)", (binding) => {
  test.each([
    ["empty", ""],
    ["of spaces", "  "],
    ["of 257 characters", "k".repeat(257)],
    ["with a space within", "two words of a key that is long enough"],
    ["with a control character", "a-key-that-is-long-enough-\u0001"],
    ["with a tab", "a-key-that-is-long\tenough"],
    ["beyond ASCII", "ein-Schl\u00fcssel-der-lang-genug-ist"],
  ])("that is %s is refused, and nothing is made", async (_, key) => {
    const before = await countObjects();
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, { message: message("hi") }, keyed(key));
      expectRefused(answer, "INVALID_PARAMS", "Idempotency-Key");
    }
    expect(await countObjects()).toBe(before);
  });

  test.each([
    ["of one character", "k"],
    ["of 256 characters", "k".repeat(256)],
    [
      "with every visible character",
      Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join(""),
    ],
    ["between spaces", "  padded  "],
  ])("of a caller with a name that is %s is taken", async (_, key) => {
    const asked = { message: message("hi") };
    // Each binding has an owner of its own: the keys are the same.
    const as = keyed(key, binding === "rest" ? ALICE : BOB);
    const first = taskOf(await operate(binding, "SendMessage", asked, as));
    expect(taskOf(await operate(binding, "SendMessage", asked, as)).id).toBe(first.id);
  });

  test("of a caller without a name has at least 22 characters", async () => {
    const plain = { agent: "plain" };
    const asked = { message: message("hi") };
    const key = crypto.randomUUID().slice(0, 22);
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, asked, keyed(key.slice(1), plain));
      expectRefused(answer, "INVALID_PARAMS", "Idempotency-Key");
      expect(answer.error?.message).toContain("22");
    }
    const { id } = taskOf(await operate(binding, "SendMessage", asked, keyed(key, plain)));
    expect(taskOf(await operate(binding, "SendMessage", asked, keyed(key, plain))).id).toBe(id);
    const more = { message: message("hi", { taskId: id }) };
    expectRefused(
      await operate(binding, "SendMessage", more, keyed(key.slice(1), plain)),
      "INVALID_PARAMS",
      "Idempotency-Key",
    );
  });
});

describe.each(BINDINGS)('an agent with idempotency: "messageId" (%s)', (binding) => {
  test("makes one task of messages with the same messageId, at once and one after the other (T-26)", async () => {
    const asked = { message: message(script(...COUNTED)) };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => operate(binding, "SendMessage", asked, UNIQUE)),
    );
    const [first, ...others] = answers.map(taskOf);
    for (const other of others) expect(other).toEqual(first);
    expect(first?.artifacts).toMatchObject(RAN_ONCE);
    expect(taskOf(await operate(binding, "SendMessage", asked, UNIQUE))).toEqual(first);
  });

  test("refuses another request with a messageId that was used, and takes it with a key (T-26)", async () => {
    const messageId = crypto.randomUUID();
    const first = await send(binding, "one", { messageId }, UNIQUE);
    const other = { message: message("two", { messageId }) };
    const answer = await operate(binding, "SendMessage", other, UNIQUE);
    expectRefused(answer, "INVALID_PARAMS", "message.messageId");
    expect(answer.error?.message).toContain("message.messageId");
    // A key that says the same as the messageId is another thing.
    const second = taskOf(await operate(binding, "SendMessage", other, keyed(messageId, UNIQUE)));
    expect(second.id).not.toBe(first.id);
  });

  test("takes a further message with the same messageId in once (T-27)", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, UNIQUE);
    const more = { message: message(script({ do: "input" }), { taskId: id }) };
    for (let repeats = 0; repeats < 3; repeats++) await operate(binding, "SendMessage", more, UNIQUE);
    expect((await getTask(binding, id, UNIQUE)).history).toHaveLength(2);
  });

  test("wants messageIds of 22 characters where callers have no names (T-26)", async () => {
    const as = { agent: "unique-open" };
    const messageId = crypto.randomUUID().slice(0, 22);
    const asked = { message: message("hi", { messageId }) };
    const first = await send(binding, "hi", { messageId }, as);
    expect(taskOf(await operate(binding, "SendMessage", asked, as)).id).toBe(first.id);
    const short = { message: message("hi", { messageId: messageId.slice(1) }) };
    expectRefused(
      await operate(binding, "SendMessage", short, as),
      "INVALID_PARAMS",
      "message.messageId",
    );
  });

  test("does not make an agent without it merge anything (T-26)", async () => {
    const asked = { message: message("hi") };
    const one = taskOf(await operate(binding, "SendMessage", asked, ALICE));
    const two = taskOf(await operate(binding, "SendMessage", asked, ALICE));
    expect(one.id).not.toBe(two.id);
  });
});

test.each(["SendMessage", "SendStreamingMessage"] as const)(
  "a message that is repeated by %s counts for no task in progress, when its task waits",
  async (operation) => {
    const busy = (key: string) => keyed(key, { ...ALICE, agent: "busy" });
    const asked = () => ({ message: message(script({ do: "input" })) });
    const sent = [1, 2, 3].map(() => ({ as: busy(crypto.randomUUID()), asked: asked() }));
    for (const { as, asked } of sent.slice(0, 2))
      taskOf(await operate("rest", "SendMessage", asked, as));
    for (const { as, asked } of sent.slice(0, 2)) {
      if (operation === "SendMessage") taskOf(await operate("rest", operation, asked, as));
      else await (await open("rest", operation, asked, as)).rest();
    }
    // The agent's callers have at most two in progress.
    for (const { as, asked } of sent) taskOf(await operate("rest", "SendMessage", asked, as));
  },
);

test("the same request in both bindings is the same request (T-26)", async () => {
  const as = keyed();
  const asked = { message: message(script(...COUNTED)) };
  const [one, two] = await Promise.all(
    BINDINGS.map((binding: Binding) => operate(binding, "SendMessage", asked, as)),
  );
  expect(one && taskOf(one)).toEqual(two && taskOf(two));
});

test("a task with a key costs no more than one without: at most 12 written rows, listed", async () => {
  await send("rest", "first", {}, ALICE);
  await pause(50);
  meter.reset();
  const as = keyed();
  const asked = { message: message(script({ do: "artifact", parts: [{ text: "done" }] })) };
  await operate("rest", "SendMessage", asked, as);
  await pause(50);
  expect(meter.rowsWritten, JSON.stringify(meter.readings())).toBeLessThanOrEqual(12);
  expect(meter.requests).toBeLessThanOrEqual(3);
  meter.reset();
  await operate("rest", "SendMessage", asked, as);
  await pause(50);
  expect(meter.rowsWritten).toBe(0);
  expect(meter.requests).toBe(1);
});
