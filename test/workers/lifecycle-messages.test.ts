/** What becomes of user messages: new tasks, further messages, answers (CASES.md, group 3). */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { BINDINGS, expectRefused, getTask, operate, pause, reached, send, start } from "./bindings.ts";
import { message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";

const { TASK_OBJECT } = env;

describe.each(BINDINGS)("over %s", (binding) => {
  test.each([
    ["TASK_STATE_COMPLETED", script({ do: "complete" })],
    ["TASK_STATE_FAILED", script({ do: "fail" })],
    ["TASK_STATE_REJECTED", script({ do: "reject" })],
    ["TASK_STATE_CANCELED", script({ do: "sleep", ms: 10_000 })],
  ])("a message to a task that is %s is refused and changes nothing (T-01)", async (state, parts) => {
    const { id } = await start(binding, parts);
    if (state === "TASK_STATE_CANCELED") await operate(binding, "CancelTask", { id });
    const before = await reached(binding, id, state as never);
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, { message: message("more", { taskId: id }) });
      expectRefused(answer, "UNSUPPORTED_OPERATION");
    }
    expect(await getTask(binding, id)).toEqual(before);
  });

  test.each([
    ["is no id of ours", () => "nope"],
    ["was never given", () => TASK_OBJECT.newUniqueId().toString()],
  ])("a message to a task whose id %s is refused, and no task is made (T-02)", async (_, makeId) => {
    const taskId = makeId();
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, { message: message("hi", { taskId }) });
      expectRefused(answer, "TASK_NOT_FOUND");
    }
    expectRefused(await operate(binding, "GetTask", { id: taskId }), "TASK_NOT_FOUND");
    if (taskId === "nope") return;
    const tables = await runInDurableObject(
      TASK_OBJECT.get(TASK_OBJECT.idFromString(taskId)),
      (_, state) => state.storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
    );
    expect(tables).toEqual([]);
  });

  test("a message that names the task and another context is refused, and changes nothing (T-03)", async () => {
    const before = await send(binding, script({ do: "input" }));
    const fields = { taskId: before.id, contextId: "other" };
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await operate(binding, operation, { message: message("hi", fields) });
      expectRefused(answer, "INVALID_PARAMS", "message.contextId");
    }
    expect(await getTask(binding, before.id)).toEqual(before);
  });

  test("a message that names the task and its own context is taken (T-03)", async () => {
    const { id, contextId } = await send(binding, script({ do: "input" }), { contextId: "mine" });
    expect(contextId).toBe("mine");
    const task = await send(binding, "hi", { taskId: id, contextId });
    expect(task).toMatchObject({ id, contextId: "mine", status: { state: "TASK_STATE_COMPLETED" } });
  });

  test("a message that names only the task goes on in the task's context (T-04)", async () => {
    const { id, contextId } = await send(binding, script({ do: "input" }));
    const task = await send(binding, script({ do: "complete", text: "done" }), { taskId: id });
    expect(task.contextId).toBe(contextId);
    expect(task.status.message).toMatchObject({ taskId: id, contextId });
    expect(task.history?.map((each) => [each.taskId, each.contextId])).toEqual([
      [id, contextId],
      [id, contextId],
    ]);
  });

  test("a Task that the agent publishes in its second turn wipes neither history nor artifacts (T-06)", async () => {
    const first = script(
      { do: "artifact", artifactId: "one", parts: [{ text: "1" }] },
      { do: "input", text: "more?" },
    );
    const { id, history = [], status } = await send(binding, first);
    const published = {
      status: { state: "TASK_STATE_WORKING" },
      artifacts: [{ artifactId: "two", parts: [{ text: "2" }] }],
    };
    const second = message(script({ do: "publish", event: { task: published } }), { taskId: id });
    const { value } = await operate(binding, "SendMessage", { message: second });
    const { task } = value as { task: Awaited<ReturnType<typeof getTask>> };
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts?.map(({ artifactId }) => artifactId)).toEqual(["one", "two"]);
    expect(task.history?.map(({ messageId }) => messageId)).toEqual([
      history[0]?.messageId,
      status.message?.messageId,
      second.messageId,
    ]);
  });

  test("a turn that needs input waits as INPUT_REQUIRED, and a message goes on with it (T-07)", async () => {
    const waiting = await send(binding, script({ do: "input", text: "May I?" }));
    expect(waiting.status).toMatchObject({
      state: "TASK_STATE_INPUT_REQUIRED",
      message: { role: "ROLE_AGENT", parts: [{ text: "May I?" }] },
    });
    const done = await send(binding, "yes", { taskId: waiting.id });
    expect(done).toMatchObject({
      id: waiting.id,
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "You said: yes" }] }],
    });
  });

  test("a task that was answered immediately completes by itself, and GetTask says so (T-08, D-10)", async () => {
    const { id, status } = await start(
      binding,
      script({ do: "sleep", ms: 50 }, { do: "artifact", parts: [{ text: "made" }] }),
    );
    expect(status.state).toBe("TASK_STATE_WORKING");
    const done = await reached(binding, id, "TASK_STATE_COMPLETED");
    expect(done.artifacts).toMatchObject([{ parts: [{ text: "made" }] }]);
  });

  test("without returnImmediately the answer waits for the end, and has the artifacts (T-09)", async () => {
    const began = Date.now();
    const task = await send(
      binding,
      script({ do: "sleep", ms: 400 }, { do: "artifact", artifactId: "a", parts: [{ text: "made" }] }),
    );
    expect(Date.now() - began).toBeGreaterThanOrEqual(390);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts).toEqual([{ artifactId: "a", parts: [{ text: "made" }] }]);
  });

  test.each(["TASK_STATE_AUTH_REQUIRED", "TASK_STATE_INPUT_REQUIRED"])(
    "without returnImmediately the answer comes at %s, though the agent goes on (T-09)",
    async (state) => {
      const event = { statusUpdate: { status: { state } } };
      const began = Date.now();
      const task = await send(binding, script({ do: "publish", event }, { do: "sleep", ms: 5_000 }));
      expect(task.status.state).toBe(state);
      expect(Date.now() - began).toBeLessThan(2_000);
    },
  );

  test("two messages with the same messageId make two tasks, one after the other or at once (T-26)", async () => {
    const fields = { messageId: "the-same" };
    const first = await send(binding, "hi", fields);
    const others = await Promise.all([send(binding, "hi", fields), send(binding, "hi", fields)]);
    expect(new Set([first, ...others].map(({ id }) => id)).size).toBe(3);
  });

  test("a message with the id of an earlier one of its task is a message like any other (T-26)", async () => {
    const { id } = await send(binding, script({ do: "input" }), { messageId: "again" });
    const task = await send(binding, "hi", { messageId: "again", taskId: id });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.history?.map(({ messageId }) => messageId)).toEqual(["again", "again"]);
  });

  test("a task goes on after its object left memory between turns (T-28)", async () => {
    const plain = { agent: "plain" };
    const turn = (text: string) => script({ do: "artifact", parts: [{ text }] }, { do: "input", text });
    const { id } = await send(binding, turn("1"), {}, plain);
    await evictDurableObject(TASK_OBJECT.get(TASK_OBJECT.idFromString(id)));
    await send(binding, turn("2"), { taskId: id }, plain);
    await evictDurableObject(TASK_OBJECT.get(TASK_OBJECT.idFromString(id)));
    const task = await send(binding, "3", { taskId: id }, plain);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const texts = task.artifacts?.map(({ parts }) => parts[0]?.text);
    expect(texts).toEqual(["1", "2", "You said: 3"]);
    const roles = task.history?.map(({ role }) => role.slice("ROLE_".length));
    expect(roles).toEqual(["USER", "AGENT", "USER", "AGENT", "USER"]);
  });

  test("at AUTH_REQUIRED a stream stays open, and shows what the agent does by itself (T-29)", async () => {
    const event = { statusUpdate: { status: { state: "TASK_STATE_AUTH_REQUIRED" } } };
    const steps = script(
      { do: "publish", event },
      { do: "sleep", ms: 200 },
      { do: "artifact", artifactId: "late", parts: [{ text: "made" }] },
      { do: "complete" },
    );
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) });
    const events = await stream.rest();
    expect(statesOf(events)).toEqual([
      "TASK_STATE_WORKING",
      "TASK_STATE_AUTH_REQUIRED",
      "TASK_STATE_COMPLETED",
    ]);
    const stored = await getTask(binding, events[0]?.event.task?.id ?? "");
    expect(stored.status.state).toBe("TASK_STATE_COMPLETED");
    expect(stored.artifacts).toEqual([{ artifactId: "late", parts: [{ text: "made" }] }]);
  });

  test("GetTask gives the very task that SendMessage answered (T-31)", async () => {
    const task = await send(binding, "hi");
    expect(await getTask(binding, task.id)).toEqual(task);
    await pause(50);
    expect(await getTask(binding, task.id)).toEqual(task);
  });
});
