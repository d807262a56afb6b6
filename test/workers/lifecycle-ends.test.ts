/** How tasks end: cancels, completions, both at once, and what comes too late (CASES.md, group 3). */
import type { TaskState } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { witnessed } from "./agents.ts";
import {
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
import { call, message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";

const PLAIN = { agent: "plain" };
const PATIENT = { agent: "patient" };
const CARELESS = { agent: "careless" };
const TERMINAL: TaskState[] = [
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_REJECTED",
];

function other(binding: Binding): Binding {
  return binding === "rest" ? "jsonrpc" : "rest";
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("50 tasks at once that are answered immediately all complete, and the card is served meanwhile (T-12)", async () => {
    const parts = script({ do: "sleep", ms: 100 }, { do: "artifact", parts: [{ text: "made" }] });
    const starts = Array.from({ length: 50 }, () => start(binding, parts));
    const card = await call("/.well-known/agent-card.json");
    expect(card.status).toBe(200);
    await card.body?.cancel();
    const tasks = await Promise.all(starts);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(50);
    const done = await Promise.all(tasks.map(({ id }) => reached(binding, id, "TASK_STATE_COMPLETED")));
    for (const { artifacts } of done) expect(artifacts).toMatchObject([{ parts: [{ text: "made" }] }]);
  }, 15_000);

  test("a cancel that races the completion ends the task once: stream, answers and GetTask agree (T-14)", async () => {
    const race = async (wait: number): Promise<TaskState> => {
      const { id } = await send(binding, script({ do: "input" }), {}, PLAIN);
      const stream = await open(binding, "SubscribeToTask", { id }, PLAIN);
      const answer = send(binding, script({ do: "sleep", ms: 20 }), { taskId: id }, PLAIN);
      await stream.until((event) => event.statusUpdate?.status.state === "TASK_STATE_WORKING");
      await pause(wait);
      const cancel = await operate(other(binding), "CancelTask", { id }, PLAIN);
      const { status } = await getTask(binding, id, PLAIN);
      expect(TERMINAL).toContain(status.state);
      expect(statesOf(await stream.rest())).toEqual([status.state]);
      expect((await answer).status).toEqual(status);
      if (status.state === "TASK_STATE_CANCELED") expect(cancel.value).toMatchObject({ id, status });
      else expectRefused(cancel, "TASK_NOT_CANCELABLE");
      return status.state;
    };
    const ends = new Set<TaskState>();
    let wait = 12;
    for (let round = 0; round < 15; round++) {
      const end = await race(wait);
      ends.add(end);
      // Whoever won has a harder time next, so that the two come ever closer.
      wait = Math.max(0, wait + (end === "TASK_STATE_CANCELED" ? 2 : -2));
    }
    expect(ends).toEqual(new Set(["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"]));
  }, 15_000);

  test("a second cancel returns the same canceled task (T-15)", async () => {
    const { id } = await start(binding, script({ do: "sleep", ms: 10_000 }));
    const first = await operate(binding, "CancelTask", { id });
    expect(first.value).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" } });
    await pause(20);
    const second = await operate(binding, "CancelTask", { id });
    expect(second.value).toEqual(first.value);
  });

  test.each(["complete", "fail", "reject"] as const)(
    "a cancel of a task that ended by %s is refused, and the task stays as it is (T-15)",
    async (ending) => {
      const task = await send(binding, script({ do: ending, text: "the end" }));
      expectRefused(await operate(binding, "CancelTask", { id: task.id }), "TASK_NOT_CANCELABLE");
      expect(await getTask(binding, task.id)).toEqual(task);
    },
  );

  test("a cancel of a task that waits for input cancels it (T-15)", async () => {
    const { id } = await send(binding, script({ do: "input" }));
    const { value } = await operate(binding, "CancelTask", { id });
    expect(value).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" } });
  });

  test("a cancel reaches an agent by its signal and by onCancel; what it publishes later is dropped (T-16)", async () => {
    const { id } = await start(binding, "100 heedless", {}, PATIENT);
    const { value } = await operate(binding, "CancelTask", { id }, PATIENT);
    expect(value).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" }, artifacts: [] });
    await expect.poll(() => witnessed.get(id)).toContain("end 100 heedless");
    expect(witnessed.get(id)).toEqual([
      "run 100 heedless",
      "abort",
      "onCancel TASK_STATE_CANCELED false",
      "end 100 heedless",
    ]);
    await pause(20);
    expect(await getTask(binding, id, PATIENT)).toEqual(value);
  });

  test("a cancel by another client ends the stream as CANCELED at once (T-17, D-21)", async () => {
    const parts = script({ do: "working", text: "begun" }, { do: "sleep", ms: 10_000 });
    const stream = await open(binding, "SendStreamingMessage", { message: message(parts) }, PLAIN);
    const { id = "" } = (await stream.next())?.event.task ?? {};
    const subscribed = await open(other(binding), "SubscribeToTask", { id }, PLAIN);
    await operate(other(binding), "CancelTask", { id }, PLAIN);
    expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_WORKING", "TASK_STATE_CANCELED"]);
    expect(statesOf(await subscribed.rest()).at(-1)).toBe("TASK_STATE_CANCELED");
    expect((await getTask(binding, id, PLAIN)).status.state).toBe("TASK_STATE_CANCELED");
  });

  test("a cancel by another client answers the message that waits with the canceled task (T-17)", async () => {
    const { id } = await send(binding, script({ do: "input" }));
    const waits = send(binding, script({ do: "sleep", ms: 10_000 }), { taskId: id });
    await reached(binding, id, "TASK_STATE_WORKING");
    const canceled = await operate(other(binding), "CancelTask", { id });
    expect(await waits).toEqual(canceled.value);
  });

  test.each([
    ["a status", { statusUpdate: { status: { state: "TASK_STATE_WORKING" } } }],
    ["another end", { statusUpdate: { status: { state: "TASK_STATE_FAILED" } } }],
    [
      "an artifact",
      { artifactUpdate: { artifact: { artifactId: "late", parts: [{ text: "late" }] } } },
    ],
    [
      "a task",
      {
        task: {
          status: { state: "TASK_STATE_WORKING" },
          artifacts: [{ artifactId: "late", parts: [{ text: "late" }] }],
          metadata: { late: true },
        },
      },
    ],
  ])("%s published after the end is dropped (T-19)", async (_, event) => {
    const end = { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } };
    const parts = script(
      { do: "publish", event: end },
      { do: "publish", event },
      { do: "chunks", count: 2, text: "late" },
      { do: "fail", text: "late" },
    );
    const stream = await open(binding, "SendStreamingMessage", { message: message(parts) }, PLAIN);
    const events = await stream.rest();
    expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    expect(events).toHaveLength(2);
    await pause(20);
    const task = await getTask(binding, events[0]?.event.task?.id ?? "", PLAIN);
    expect(task.status).toEqual(events[1]?.event.statusUpdate?.status);
    expect(task.artifacts).toEqual([]);
    expect(task.metadata).toBeUndefined();
    expect(task.history).toHaveLength(1);
  });

  test("what a turn publishes after it asked for input and was over is dropped (T-19)", async () => {
    const asked = await send(binding, "ask", {}, CARELESS);
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await pause(100);
    expect(await getTask(binding, asked.id, CARELESS)).toEqual(asked);
  });

  test("what a turn publishes after it was over is no part of the next turn (T-19)", async () => {
    const { id } = await start(binding, "first", {}, CARELESS);
    const task = await send(binding, "second", { taskId: id }, CARELESS);
    expect(task.artifacts?.map(({ parts }) => parts[0]?.text)).toEqual(["first", "second"]);
    expect(task.history).toHaveLength(2);
  });
});
