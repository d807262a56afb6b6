/** `limits.taskDeadline`: how long a task may go on after its client's last message. */
import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import type { Task } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { witnessed } from "./agents.ts";
import { BINDINGS, expectRefused, getTask, operate, pause, reached, send, start } from "./bindings.ts";
import { message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";
import { alarmOf, stubOf } from "./kept.ts";

const HASTY = { agent: "hasty", headers: { "X-API-Key": "alice-key" } };
const KEYED = { ...HASTY, agent: "keyed" };
const STUBBORN = { ...HASTY, agent: "stubborn" };
const DEADLINE_MS = 200;
const DAY_MS = 24 * 60 * 60 * 1000;

function expectOverdue({ status }: Task, deadline = "200 ms"): void {
  expect(status.state).toBe("TASK_STATE_FAILED");
  expect(status.message?.role).toBe("ROLE_AGENT");
  expect(status.message?.parts).toEqual([
    { text: `The task was not done within ${deadline} of the last message` },
  ]);
}

/** It is so much later, in ms, and the alarm of the task goes off. */
async function later(id: string, ms: number): Promise<void> {
  const time = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(time);
  await runDurableObjectAlarm(stubOf(id));
}

afterEach(() => {
  vi.useRealTimers();
});

describe.each(BINDINGS)(
  "a task is FAILED, with a message that says why, at its deadline (%s)",
  (binding) => {
    test("while it waits for its client between turns, though nobody asks for it", async () => {
      const task = await send(binding, script({ do: "input" }), {}, HASTY);
      const asked = Date.parse(task.status.timestamp ?? "");
      const failed = await reached(binding, task.id, "TASK_STATE_FAILED", HASTY);
      expectOverdue(failed);
      const after = Date.parse(failed.status.timestamp ?? "") - asked;
      expect(after).toBeGreaterThanOrEqual(DEADLINE_MS - 50);
      expect(after).toBeLessThan(2_000);
      const more = { message: message("more", { taskId: task.id }) };
      expectRefused(await operate(binding, "SendMessage", more, HASTY), "UNSUPPORTED_OPERATION");
    });

    test("while its turn asks a question, and the turn goes on no more", async () => {
      const asking = script(
        { do: "ask", name: "q", text: "which?" },
        { do: "complete", text: "never" },
      );
      const task = await send(binding, asking, {}, HASTY);
      expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
      expectOverdue(await reached(binding, task.id, "TASK_STATE_FAILED", HASTY));
      await pause(50);
      expectOverdue(await getTask(binding, task.id, HASTY));
    });

    test("while its turn sleeps", async () => {
      const { id } = await start(
        binding,
        script({ do: "durableSleep", name: "s", ms: 60_000 }),
        {},
        HASTY,
      );
      expectOverdue(await reached(binding, id, "TASK_STATE_FAILED", HASTY));
    });

    test("while its turn runs: a call that waits is answered, and the signal aborts", async () => {
      // The sleep ends by its signal; what comes after it would show that it did not.
      const steps = script(
        { do: "artifact", artifactId: "before", parts: [{ text: "kept" }] },
        { do: "sleep", ms: 15_000 },
        { do: "artifact", artifactId: "after", parts: [{ text: "never" }] },
      );
      const task = await send(binding, steps, {}, HASTY);
      expectOverdue(task);
      expect(task.artifacts?.map(({ artifactId }) => artifactId)).toEqual(["before"]);
      expect(await getTask(binding, task.id, HASTY)).toEqual(task);
    });

    test("though its turn does not heed the signal: what that publishes later is dropped", async () => {
      const task = await send(binding, "800 ms", {}, STUBBORN);
      expectOverdue(task, "500 ms");
      expect(witnessed.get(task.id)).toEqual(["run 800 ms", "abort"]);
      await vi.waitFor(() => expect(witnessed.get(task.id)).toContain("end 800 ms"));
      await pause(20);
      expect(await getTask(binding, task.id, STUBBORN)).toEqual(task);
    });

    test("in the middle of a stream, which shows the end and closes; what was shown is kept", async () => {
      const chunks = script({ do: "chunks", artifactId: "a", count: 500, everyMs: 20, text: "x" });
      const stream = await open(binding, "SendStreamingMessage", { message: message(chunks) }, HASTY);
      const events = await stream.rest();
      expect(statesOf(events).at(-1)).toBe("TASK_STATE_FAILED");
      const shown = events.flatMap(({ event }) => event.artifactUpdate?.artifact.parts ?? []);
      const task = await getTask(binding, events[0]?.event.task?.id ?? "", HASTY);
      expectOverdue(task);
      expect(task.artifacts?.[0]?.parts[0]?.text).toBe(shown.map(({ text }) => text).join(""));
    });

    test("and the list says so too", async () => {
      const { id, contextId } = await send(binding, script({ do: "input" }), {}, HASTY);
      await reached(binding, id, "TASK_STATE_FAILED", HASTY);
      await pause(50);
      const { value } = await operate(binding, "ListTasks", { contextId }, HASTY);
      expect(value).toMatchObject({ tasks: [{ id, status: { state: "TASK_STATE_FAILED" } }] });
    });

    test("its webhooks stay, as those of any task that has ended", async () => {
      const { id } = await send(binding, script({ do: "input" }), {}, HASTY);
      const hook = { taskId: id, id: "hook", url: "https://example.com/hook" };
      await operate(binding, "CreateTaskPushNotificationConfig", hook, HASTY);
      await reached(binding, id, "TASK_STATE_FAILED", HASTY);
      const { value } = await operate(
        binding,
        "ListTaskPushNotificationConfigs",
        { taskId: id },
        HASTY,
      );
      expect(value).toMatchObject({ configs: [{ id: "hook" }] });
    });

    test("also when its object was cut off before", async () => {
      const { id } = await send(binding, script({ do: "input" }), {}, HASTY);
      await abortAllDurableObjects();
      await pause(DEADLINE_MS + 100);
      expectOverdue(await reached(binding, id, "TASK_STATE_FAILED", HASTY));
    });
  },
);

describe("a deadline", () => {
  test("is moved by each message of the client", async () => {
    const { id } = await send("rest", script({ do: "input" }), {}, KEYED);
    for (let more = 0; more < 3; more++) {
      await later(id, 6 * DAY_MS);
      const task = await send("rest", script({ do: "input" }), { taskId: id }, KEYED);
      expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    }
    await later(id, 6 * DAY_MS);
    expect((await getTask("rest", id, KEYED)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await later(id, 2 * DAY_MS);
    expectOverdue(await getTask("rest", id, KEYED), "1 week");
  });

  test("is moved by the answer to a question, and by a message that waits", async () => {
    const questions = script(
      { do: "ask", name: "one", text: "one?" },
      { do: "ask", name: "two", text: "two?" },
      { do: "durableSleep", name: "rest", ms: 20 * DAY_MS },
    );
    const { id } = await send("rest", questions, {}, KEYED);
    const working = async () => {
      const { status } = await getTask("rest", id, KEYED);
      expect(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WORKING"]).toContain(status.state);
    };
    for (const answer of ["1", "2", "no answer"]) {
      await later(id, 6 * DAY_MS);
      await working();
      await start("rest", answer, { taskId: id }, KEYED);
    }
    await later(id, 6 * DAY_MS);
    await working();
    await later(id, 2 * DAY_MS);
    expectOverdue(await getTask("rest", id, KEYED), "1 week");
  });

  test("is moved by nothing that the agent does", async () => {
    const working = Array.from({ length: 40 }, (_, i) => [
      { do: "working", text: `${i}` } as const,
      { do: "sleep", ms: 20 } as const,
    ]);
    expectOverdue(await send("rest", script(...working.flat()), {}, HASTY));
  });

  test("whose alarm fires early changes nothing, and the alarm is set again", async () => {
    const task = await send("rest", script({ do: "input" }), {}, KEYED);
    await later(task.id, 6 * DAY_MS);
    expect(await getTask("rest", task.id, KEYED)).toEqual(task);
    expect(((await alarmOf(task.id)) ?? 0) - Date.now()).toBeGreaterThan(DAY_MS - 60_000);
    await later(task.id, DAY_MS);
    expectOverdue(await getTask("rest", task.id, KEYED), "1 week");
  });

  test("does not fail a task that has ended", async () => {
    const done = await send("rest", script({ do: "complete" }), {}, HASTY);
    await pause(DEADLINE_MS + 100);
    await runDurableObjectAlarm(stubOf(done.id));
    expect(await getTask("rest", done.id, HASTY)).toEqual(done);
  });

  test("ends the clean-up of a canceled task too, which may take as long again", async () => {
    const { id } = await start("rest", "5000 hang", {}, STUBBORN);
    const { value: canceled } = await operate("rest", "CancelTask", { id }, STUBBORN);
    const saw = witnessed.get(id);
    expect(saw).toEqual(["run 5000 hang", "abort", "onCancel"]);
    await vi.waitFor(() => expect(saw?.at(-1)).toBe("abort of onCancel"), { timeout: 5_000 });
    expect(await getTask("rest", id, STUBBORN)).toEqual(canceled);
    // Nothing holds the object any more: what is due next is the end of the retention.
    await runDurableObjectAlarm(stubOf(id));
    expect(((await alarmOf(id)) ?? 0) - Date.now()).toBeGreaterThan(60_000);
  });
});
