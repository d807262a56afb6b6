import type { Task } from "durable-a2a";
import { describe, expect, test, vi } from "vitest";
import { BINDINGS, getTask, operate, pause, reached, send, start } from "./bindings.ts";
import { message } from "./client.ts";
import type { CASES } from "./durable-agents.ts";
import { open, statesOf } from "./event-stream.ts";

const DURABLE = { agent: "durable" };

async function result(name: keyof typeof CASES): Promise<unknown> {
  const { artifacts, status } = await send("jsonrpc", name, {}, DURABLE);
  expect(status.state).toBe("TASK_STATE_COMPLETED");
  return artifacts?.at(-1)?.parts[0]?.data;
}

/** The message of the error that the case ends with. */
async function problem(name: keyof typeof CASES): Promise<string> {
  const { error } = await operate("jsonrpc", "SendMessage", { message: message(name) }, DURABLE);
  expect(error?.code).toBe(-32006);
  return error?.message ?? "";
}

describe("turn.step", () => {
  test("gives its result as JSON has it: undefined, null and false too, without members that are undefined", async () => {
    const object = { nested: [1, { two: null }] };
    expect(await result("values")).toEqual(["undefined", null, false, object, false]);
  });

  test("is tried again after a pause that grows", async () => {
    expect(await result("retried")).toEqual({ value: "done", tries: [1, 2, 3], slow: true });
  });

  test("throws the error of its last try, by name and message", async () => {
    expect(await result("exhausted")).toEqual({ tries: 2, name: "TypeError", message: "never" });
  });

  test("is not tried again after a NonRetryableError", async () => {
    expect(await result("final")).toEqual({ tries: 1, message: "no use" });
  });

  test("fails at its time limit, and its signal aborts", async () => {
    expect(await result("slow")).toEqual({ aborted: true, name: "TimeoutError" });
  });

  test("runs beside others of other names", async () => {
    expect(await result("parallel")).toEqual(["x", "y", "z"]);
  });

  test("remembers a result of just 1 MiB", async () => {
    expect(await result("big")).toBe(1024 * 1024 - 2);
  });

  test.each([
    ["tooBig", /its result has 1048577 bytes in JSON, at most 1048576/],
    ["twice", /turn\.step\("same"\) is in flight already; give each/],
    ["nested", /turn\.step\("inner"\) was called within the step "outer"/],
    ["nestedLater", /turn\.sleep\("inner"\) was called within the step "outer"/],
    ["publishing", /turn\.artifact was called within the step "outer"/],
    ["date", /turn\.step\("date"\): its result\.when\[0\] is a Date, not JSON/],
    ["duration", /turn\.sleep\("nap"\): duration is milliseconds or words such as "3 days"/],
    ["retries", /turn\.step\("often"\): retries is a number from 0 on/],
    ["factor", /turn\.step\("flat"\): backoff\.factor is a number from 1 on/],
    ["nameless", /the name must be a string of 1 to 256 characters/],
    ["caught", /its result is a Date, not JSON/],
  ] as const)("used wrongly (%s) fails the task with what to do", async (name, text) => {
    expect(await problem(name)).toMatch(text);
  });
});

test("a question that the turn does not wait for does not keep the task from its end", async () => {
  const { id } = await start("jsonrpc", "overtaken", {}, DURABLE);
  const { artifacts } = await reached("jsonrpc", id, "TASK_STATE_COMPLETED", DURABLE);
  expect(artifacts?.[0]?.parts).toEqual([{ data: "a" }]);
});

test("lines of the log do not have the whole id of a task", async () => {
  const lines: unknown[][] = [];
  const spies = (["log", "warn", "error"] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...line) => {
      lines.push(line);
    }),
  );
  const { id } = await start("jsonrpc", "exhausted", {}, DURABLE);
  await reached("jsonrpc", id, "TASK_STATE_COMPLETED", DURABLE);
  const failed = await start("jsonrpc", "unansweredAndUncaught", {}, DURABLE);
  await reached("jsonrpc", failed.id, "TASK_STATE_FAILED", DURABLE);
  for (const spy of spies) spy.mockRestore();
  const text = JSON.stringify(lines);
  expect(text).toContain(`task ${id.slice(0, 8)}…: try 1 of step`);
  expect(text).toContain(`task ${failed.id.slice(0, 8)}…: the agent threw`);
  expect(text).not.toContain(id);
  expect(text).not.toContain(failed.id);
});

test("two questions at once fail the task with what to do", async () => {
  const { id } = await send("jsonrpc", "twoQuestions", {}, DURABLE);
  const { status } = await reached("jsonrpc", id, "TASK_STATE_FAILED", DURABLE);
  expect(status.message?.parts[0]?.text).toMatch(/one question is open already; ask one by one/);
});

describe.each(BINDINGS)("turn.ask over %s", (binding) => {
  test("asks again and again in a loop, in one turn", async () => {
    let task = await send(binding, "loop", {}, DURABLE);
    for (const [i, text] of ["one", "two", "three"].entries()) {
      expect(task.status).toMatchObject({
        state: "TASK_STATE_INPUT_REQUIRED",
        message: { parts: [{ text: `number ${i}?` }] },
      });
      task = await send(binding, text, { taskId: task.id }, DURABLE);
    }
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts?.[0]?.parts).toEqual([{ data: ["one", "two", "three"] }]);
  });

  test("gives up after its time, and the turn goes on as WORKING", async () => {
    const { id } = await send(binding, "unanswered", {}, DURABLE);
    const { artifacts } = await reached(binding, id, "TASK_STATE_COMPLETED", DURABLE);
    expect(artifacts?.[0]?.parts).toEqual([{ data: { is: true, state: "TASK_STATE_WORKING" } }]);
  });

  test("fails the task when nobody answers and the agent does not mind", async () => {
    const { id } = await send(binding, "unansweredAndUncaught", {}, DURABLE);
    const { status } = await reached(binding, id, "TASK_STATE_FAILED", DURABLE);
    expect(status.message?.parts).toEqual([{ text: 'Nobody answered "color" in time' }]);
  });

  test("takes no message for its answer that came before the question; that one starts the next turn", async () => {
    const { id } = await start(binding, "lateQuestion", {}, DURABLE);
    await start(binding, "parallel early", { taskId: id }, DURABLE);
    await reached(binding, id, "TASK_STATE_INPUT_REQUIRED", DURABLE);
    const { artifacts } = await send(binding, "now", { taskId: id }, DURABLE);
    expect(artifacts?.map(({ parts }) => parts[0]?.data)).toEqual(["now", ["x", "y", "z"]]);
  });

  test("two answers at once: one is the answer, the other waits for a turn (T-27)", async () => {
    const { id } = await send(binding, "loop", {}, DURABLE);
    await Promise.all(["one", "two"].map((text) => start(binding, text, { taskId: id }, DURABLE)));
    await pause(30);
    const { history = [] }: Task = await getTask(binding, id, DURABLE);
    const texts = history.map(({ parts }) => parts[0]?.text);
    expect(texts).toEqual(expect.arrayContaining(["one", "two"]));
    await operate(binding, "CancelTask", { id }, DURABLE);
  });
});

test.each(BINDINGS)(
  "turn.authorize answers a blocking call at once and leaves streams open over %s (T-29)",
  async (binding) => {
    const stream = await open(
      binding,
      "SendStreamingMessage",
      { message: message("authorize") },
      DURABLE,
    );
    const id = (await stream.next())?.event.task?.id ?? "";
    await reached(binding, id, "TASK_STATE_AUTH_REQUIRED", DURABLE);
    const done = await send(binding, "here", { taskId: id }, DURABLE);
    expect(done.artifacts?.[0]?.parts).toMatchObject([
      { data: { via: "message", message: { parts: [{ text: "here" }] } } },
    ]);
    expect(statesOf(await stream.rest()).filter(Boolean)).toEqual([
      "TASK_STATE_AUTH_REQUIRED",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
    ]);
    const blocking = await send(binding, "authorize", {}, DURABLE);
    expect(blocking.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
  },
);
