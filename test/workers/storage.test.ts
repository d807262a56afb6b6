import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Message, Task } from "durable-a2a";
import { beforeEach, describe, expect, test } from "vitest";
import { EventLog } from "../../durable-objects/event-log.ts";
import type { TaskEvent } from "../../src/task/event.ts";
import { birth } from "../births.ts";
import type { Step } from "../lab/script.ts";
import { rpc } from "./client.ts";

async function send(script: Step[], more: Partial<Message> = {}, configuration = {}): Promise<Task> {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ data: { script } }], ...more };
  const { body } = await rpc("SendMessage", { message, configuration });
  return (body.result as { task: Task }).task;
}

async function getTask(id: string): Promise<Task> {
  return (await rpc("GetTask", { id })).body.result as Task;
}

function stubOf(id: string): DurableObjectStub {
  return env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
}

function tables(id: string): Promise<string[]> {
  return runInDurableObject(stubOf(id), (_, { storage }) =>
    storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .toArray()
      .map(({ name }) => name)
      .filter((name) => !name.startsWith("_cf")),
  );
}

function rows(id: string): Promise<{ seq: number; count: number; length: number }[]> {
  return runInDurableObject(stubOf(id), (_, { storage }) =>
    storage.sql
      .exec<{ seq: number; count: number; length: number }>(
        "SELECT seq, count, length(body) AS length FROM event ORDER BY seq",
      )
      .toArray(),
  );
}

describe("the log of a task", () => {
  test("a task that is done at once is two rows in one table", async () => {
    const task = await send([{ do: "artifact", parts: [{ text: "done" }] }]);
    expect(await tables(task.id)).toEqual(["event"]);
    const stored = await rows(task.id);
    // Born with its first event, because the agent might have replied instead; then the completion.
    expect(stored.map(({ seq, count }) => [seq, count])).toEqual([
      [1, 4],
      [5, 1],
    ]);
  });

  test("a reply leaves an object without tables", async () => {
    const message = {
      messageId: "m",
      role: "ROLE_USER",
      parts: [{ data: { script: [{ do: "reply", parts: [{ text: "hey" }] }] } }],
    };
    const before = await listedTasks();
    const { body } = await rpc("SendMessage", { message });
    expect(body.result).toMatchObject({ message: { role: "ROLE_AGENT", parts: [{ text: "hey" }] } });
    expect(body.result).not.toHaveProperty("message.taskId");
    expect(await listedTasks()).toBe(before);
  });

  test("two hundred chunks are a handful of rows, and one artifact with one text", async () => {
    const task = await send([
      { do: "chunks", artifactId: "a", count: 200, everyMs: 5, text: "chunk " },
      { do: "complete" },
    ]);
    expect((await rows(task.id)).length).toBeLessThanOrEqual(12);
    const text = Array.from({ length: 200 }, (_, i) => `chunk ${i}`).join("");
    expect(task.artifacts).toEqual([{ artifactId: "a", parts: [{ text }] }]);
    await abortAllDurableObjects();
    expect(await getTask(task.id)).toEqual(task);
  });

  test("what an agent published is the same after its object was evicted", async () => {
    const task = await send(
      [
        { do: "working", text: "one" },
        { do: "artifact", artifactId: "a", name: "A", parts: [{ text: "1" }, { data: null }] },
        { do: "artifact", artifactId: "a", parts: [{ url: "https://e.com/x" }], append: true },
        { do: "input", text: "more?" },
      ],
      { metadata: { a: [1, null] }, extensions: ["https://e.com/ext"] },
    );
    expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await evictDurableObject(stubOf(task.id));
    expect(await getTask(task.id)).toEqual(task);
    const done = await send([{ do: "complete" }], { taskId: task.id });
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
    expect(done.history?.map(({ role }) => role)).toEqual([
      "ROLE_USER",
      "ROLE_AGENT",
      "ROLE_AGENT",
      "ROLE_USER",
    ]);
  });
});

describe("an event that does not fit a row is split, and comes back whole after waking", () => {
  // Pairs of surrogates at every place where a row could end, and three bytes a character elsewhere.
  const text = `${"€".repeat(499_000)}${"😀".repeat(300_000)}x${"😀".repeat(300_000)}`;

  test.each([
    ["just under one row", 499_000, 1],
    ["just over one row", 501_000, 2],
    ["three rows", 1_400_000, 3],
  ])("%s: %d characters", async (_title, length, expected) => {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    const stored = await runInDurableObject(stub, (_, { storage }) => {
      const log = new EventLog(storage, new Map(), () => {});
      log.append(birth("t"));
      const before = log.seq;
      log.append([artifact("big", text.slice(0, length))]);
      log.append([artifact("next", "after")]);
      const again = new EventLog(storage, new Map(), () => {});
      again.append([artifact("later", "still in step")]);
      return {
        rows: storage.sql.exec("SELECT seq FROM event WHERE seq > ?", before).toArray().length - 2,
        same: again.record?.task.artifacts[0]?.parts[0]?.text === text.slice(0, length),
        ids: again.record?.task.artifacts.map(({ artifactId }) => artifactId),
        seqs: [...again.stored()].map(({ seq }) => seq),
        seq: again.seq,
      };
    });
    expect(stored.rows).toBe(expected);
    expect(stored.same).toBe(true);
    expect(stored.ids).toEqual(["big", "next", "later"]);
    expect(new Set(stored.seqs).size).toBe(stored.seqs.length);
    expect(stored.seqs.at(-1)).toBe(stored.seq);
  });
});

describe("an append", () => {
  let stub: DurableObjectStub;
  beforeEach(() => {
    stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
  });

  test("stores nothing when one of its events breaks the rules", async () => {
    const result = await runInDurableObject(stub, (_, { storage }) => {
      const log = new EventLog(storage, new Map(), () => {});
      log.append(birth("t"));
      const before = log.seq;
      const refused = log.append([
        artifact("a", "fine"),
        { ...artifact("b", ""), artifact: { artifactId: "b", parts: [] } },
      ]);
      return { refused, grew: log.seq - before, artifacts: log.record?.task.artifacts };
    });
    expect(result.refused).toMatchObject({ ok: false, refusal: { reason: "INVALID_AGENT_RESPONSE" } });
    expect(result).toMatchObject({ grew: 0, artifacts: [] });
  });

  test("to a task that has ended drops the events", async () => {
    const result = await runInDurableObject(stub, (_, { storage }) => {
      const log = new EventLog(storage, new Map(), () => {});
      log.append(birth("t"));
      log.append([status("TASK_STATE_COMPLETED", "2026-01-01T00:00:02.000Z")]);
      const before = log.seq;
      log.append([status("TASK_STATE_WORKING", "2026-01-01T00:00:03.000Z"), artifact("late", "x")]);
      return { grew: log.seq - before, state: log.record?.task.status.state };
    });
    expect(result).toEqual({ grew: 0, state: "TASK_STATE_COMPLETED" });
  });
});

async function listedTasks(): Promise<number> {
  const { body } = await rpc("ListTasks", {});
  return (body.result as { totalSize: number }).totalSize;
}

function artifact(artifactId: string, text: string): TaskEvent & { kind: "artifact" } {
  return { kind: "artifact", artifact: { artifactId, parts: [{ text }] } };
}

function status(state: Task["status"]["state"], timestamp: string): TaskEvent {
  return { kind: "status", status: { state, timestamp } };
}
