/** `turn.publish`: legal events become part of the task, others fail it (§3.1.2, §3.2.3). */
import { describe, expect, test } from "vitest";
import { BINDINGS, expectRefused, getTask, operate, send } from "./bindings.ts";
import { type Json, message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";

const PLAIN = { agent: "plain" };

function publish(...events: object[]) {
  return message(script(...events.map((event) => ({ do: "publish", event }) as const)));
}

const WORKING = { state: "TASK_STATE_WORKING" };
const ARTIFACT = { artifactId: "a", parts: [{ text: "1" }] };
const ANSWER = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "so" }] };

const ILLEGAL: [string, object][] = [
  ["nothing", {}],
  ["two things", { statusUpdate: { status: WORKING }, artifactUpdate: { artifact: ARTIFACT } }],
  ["an unknown kind", { progress: 50 }],
  ["no object", { statusUpdate: "working" }],
  ["a status update without a status", { statusUpdate: {} }],
  ["a status without a state", { statusUpdate: { status: {} } }],
  ["an unknown state", { statusUpdate: { status: { state: "TASK_STATE_PAUSED" } } }],
  ["a state of version 0.3", { statusUpdate: { status: { state: "working" } } }],
  ["the unspecified state", { statusUpdate: { status: { state: "TASK_STATE_UNSPECIFIED" } } }],
  ["a step back to SUBMITTED", { statusUpdate: { status: { state: "TASK_STATE_SUBMITTED" } } }],
  [
    "a status message without parts",
    { statusUpdate: { status: { ...WORKING, message: { ...ANSWER, parts: [] } } } },
  ],
  ["an artifact without parts", { artifactUpdate: { artifact: { artifactId: "a", parts: [] } } }],
  ["an artifact without an id", { artifactUpdate: { artifact: { parts: [{ text: "1" }] } } }],
  [
    "a part with two contents",
    { artifactUpdate: { artifact: { ...ARTIFACT, parts: [{ text: "1", url: "u" }] } } },
  ],
  ["a part without content", { artifactUpdate: { artifact: { ...ARTIFACT, parts: [{}] } } }],
  ["a status of another task", { statusUpdate: { taskId: "other", status: WORKING } }],
  ["a status of another context", { statusUpdate: { contextId: "other", status: WORKING } }],
  ["an artifact of another task", { artifactUpdate: { taskId: "other", artifact: ARTIFACT } }],
  ["another task", { task: { id: "other", status: WORKING } }],
  ["a task of another context", { task: { contextId: "other", status: WORKING } }],
  ["a task without a status", { task: {} }],
  [
    "a task with an artifact without parts",
    { task: { status: WORKING, artifacts: [{ ...ARTIFACT, parts: [] }] } },
  ],
  ["a message, though it declares no replies", { message: ANSWER }],
];

describe.each(BINDINGS)("over %s", (binding) => {
  test.each(ILLEGAL)(
    "an agent that publishes %s fails the task as INVALID_AGENT_RESPONSE",
    async (_, event) => {
      const answer = await operate(binding, "SendMessage", { message: publish(event) }, PLAIN);
      expectRefused(answer, "INVALID_AGENT_RESPONSE");
      const { taskId = "" } = (answer.error?.details[0]?.metadata ?? {}) as { taskId?: string };
      const task = await getTask(binding, taskId, PLAIN);
      expect(task.status.state).toBe("TASK_STATE_FAILED");
      expect(task.status.message?.parts[0]?.text).toMatch(/^Invalid agent response/);
      expect(task.artifacts).toEqual([]);

      const stream = await open(binding, "SendStreamingMessage", { message: publish(event) }, PLAIN);
      expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_WORKING", "TASK_STATE_FAILED"]);
    },
  );

  test("what was published before an illegal event stays", async () => {
    const events = publish({ artifactUpdate: { artifact: ARTIFACT } }, { statusUpdate: {} });
    const stream = await open(binding, "SendStreamingMessage", { message: events }, PLAIN);
    const id = (await stream.rest())[0]?.event.task?.id ?? "";
    expect(await getTask(binding, id, PLAIN)).toMatchObject({
      status: { state: "TASK_STATE_FAILED" },
      artifacts: [ARTIFACT],
    });
  });

  test("a status update is shown with its message and metadata, and the server's own time", async () => {
    const status = { ...WORKING, message: ANSWER, timestamp: "2000-01-01T00:00:00Z" };
    const sent = publish({ statusUpdate: { status, metadata: { percent: 50 } } });
    const began = new Date().toISOString();
    const stream = await open(binding, "SendStreamingMessage", { message: sent }, PLAIN);
    const events = await stream.rest();
    const { id: taskId, contextId } = events[0]?.event.task ?? {};
    const { timestamp = "" } = events[1]?.event.statusUpdate?.status ?? {};
    expect(timestamp >= began).toBe(true);
    expect(events[1]?.event).toEqual({
      statusUpdate: {
        taskId,
        contextId,
        status: { ...status, timestamp, message: expect.objectContaining(ANSWER) },
        metadata: { percent: 50 },
      },
    });
  });

  test("an artifact update is shown with its metadata and marks, and stored", async () => {
    const update = { artifact: ARTIFACT, append: true, lastChunk: true, metadata: { source: "s" } };
    const sent = publish({ artifactUpdate: update });
    const stream = await open(binding, "SendStreamingMessage", { message: sent }, PLAIN);
    const events = await stream.rest();
    const { id: taskId = "", contextId } = events[0]?.event.task ?? {};
    expect(events[1]?.event).toEqual({ artifactUpdate: { taskId, contextId, ...update } });
    expect((await getTask(binding, taskId, PLAIN)).artifacts).toEqual([ARTIFACT]);
  });

  test("an event may name its own task and context", async () => {
    const { id, contextId } = await send(binding, script({ do: "input" }), {}, PLAIN);
    const parts = script(
      { do: "publish", event: { statusUpdate: { taskId: id, contextId, status: WORKING } } },
      { do: "publish", event: { artifactUpdate: { taskId: id, contextId, artifact: ARTIFACT } } },
      { do: "publish", event: { task: { id, contextId, status: WORKING } } },
    );
    const task = await send(binding, parts, { taskId: id }, PLAIN);
    expect(task).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" }, artifacts: [ARTIFACT] });
  });

  test("a published Task is merged: status, artifacts by id and metadata are taken over, history stays", async () => {
    const published: Json = {
      status: { ...WORKING, message: ANSWER },
      artifacts: [
        { artifactId: "a", parts: [{ text: "new" }] },
        { artifactId: "b", parts: [{ text: "2" }] },
      ],
      history: [{ messageId: "made up", role: "ROLE_USER", parts: [{ text: "never sent" }] }],
      metadata: { score: 1 },
    };
    const sent = publish({ artifactUpdate: { artifact: ARTIFACT } }, { task: published });
    const stream = await open(binding, "SendStreamingMessage", { message: sent }, PLAIN);
    const events = await stream.rest();
    expect(events.slice(1).map(({ event }) => Object.keys(event)[0])).toEqual([
      "artifactUpdate",
      "artifactUpdate",
      "artifactUpdate",
      "statusUpdate",
      "statusUpdate",
    ]);
    const task = await getTask(binding, events[0]?.event.task?.id ?? "", PLAIN);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts).toEqual(published.artifacts);
    expect(task.metadata).toEqual({ score: 1 });
    expect(task.history?.map(({ messageId }) => messageId)).toEqual([sent.messageId, "m"]);
  });

  test("a published interrupted state without an ending keeps the task so, and a message goes on with it", async () => {
    for (const state of ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"]) {
      const { parts } = publish({ statusUpdate: { status: { state } } });
      const waiting = await send(binding, parts, {}, PLAIN);
      expect(waiting.status.state).toBe(state);
      const done = await send(binding, "go on", { taskId: waiting.id }, PLAIN);
      expect(done.status.state).toBe("TASK_STATE_COMPLETED");
    }
  });
});
