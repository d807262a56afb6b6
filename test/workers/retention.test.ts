import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { deleteTask, deleteTasksOf, type Task } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Step } from "../lab/script.ts";
import {
  BINDINGS,
  type Binding,
  expectRefused,
  operate,
  pause,
  reached,
  send,
  start,
} from "./bindings.ts";
import { message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";

const BRIEF = { agent: "brief", headers: { "X-API-Key": "alice-key" } };
const KEYED = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
const DAY_MS = 24 * 60 * 60 * 1000;
const done: Step[] = [{ do: "artifact", parts: [{ text: "done" }] }];

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** It is so much later, in ms. */
function later(ms: number): void {
  const time = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(time);
}

function stubOf(id: string): DurableObjectStub {
  return env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
}

/** Tables and alarm of an object. */
function holds(id: string): Promise<{ tables: string[]; alarm: number | null }> {
  return runInDurableObject(stubOf(id), async (_, { storage }) => ({
    tables: storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .toArray()
      .map(({ name }) => name)
      .filter((name) => !name.startsWith("_cf")),
    alarm: await storage.getAlarm(),
  }));
}

async function listed(options: typeof BRIEF): Promise<string[]> {
  const { value } = await operate("rest", "ListTasks", { pageSize: 100 }, options);
  return ((value?.tasks ?? []) as Task[]).map(({ id }) => id);
}

async function expectGone(binding: Binding, id: string, options: typeof BRIEF): Promise<void> {
  for (const operation of ["GetTask", "CancelTask", "SubscribeToTask"] as const) {
    expectRefused(await operate(binding, operation, { id }, options), "TASK_NOT_FOUND");
  }
  expect(await listed(options)).not.toContain(id);
}

describe.each(BINDINGS)("a task that has ended, over %s", (binding) => {
  test("is gone after its retention: storage, index row and webhooks (D-13)", async () => {
    const { id } = await send(binding, script(...done), {}, KEYED);
    const config = { taskId: id, url: "https://example.com/hook" };
    await operate(binding, "CreateTaskPushNotificationConfig", config, KEYED);
    expect(await listed(KEYED)).toContain(id);
    expect((await holds(id)).tables).toEqual(["event", "push"]);
    later(30 * DAY_MS);
    await runDurableObjectAlarm(stubOf(id));
    await expectGone(binding, id, KEYED);
    expect(await holds(id)).toEqual({ tables: [], alarm: null });
  });

  test("is kept until then: an alarm that fires early deletes nothing", async () => {
    const task = await send(binding, script(...done), {}, KEYED);
    later(30 * DAY_MS - 60_000);
    await runDurableObjectAlarm(stubOf(task.id));
    expect((await operate(binding, "GetTask", { id: task.id }, KEYED)).value).toEqual(task);
    later(60_000);
    await runDurableObjectAlarm(stubOf(task.id));
    await expectGone(binding, task.id, KEYED);
  });
});

describe("a deletion", () => {
  test("by the operator ends a running task for all who wait for it, and what it does later is nothing", async () => {
    const steps: Step[] = [{ do: "working" }, { do: "sleep", ms: 300 }, ...done];
    const stream = await open(
      "rest",
      "SendStreamingMessage",
      { message: message(script(...steps)) },
      KEYED,
    );
    const id = (await stream.next())?.event.task?.id ?? "";
    expect(await deleteTask(env, id)).toBe(true);
    expect(statesOf(await stream.rest()).at(-1)).toBe("TASK_STATE_CANCELED");
    await pause(400);
    await expectGone("rest", id, KEYED);
    expect(await holds(id)).toEqual({ tables: [], alarm: null });
    expect(await deleteTask(env, id)).toBe(false);
    expect(await deleteTask(env, "nope")).toBe(false);
  });

  test("does not call onCancel", async () => {
    const { id } = await start("rest", "to be deleted", {}, { agent: "long" });
    await reached("rest", id, "TASK_STATE_INPUT_REQUIRED", { agent: "long" });
    expect(await deleteTask(env, id)).toBe(true);
    await pause(50);
    const { executed } = await import("./durable-agents.ts");
    expect(executed.get("to be deleted")).toEqual(["a"]);
  });

  test("goes on by its alarm when the index failed or the object was cut off in the middle, and nothing comes back (D-15)", async () => {
    const { id } = await send("rest", script(...done), {}, KEYED);
    // As after a crash between the two halves: the tombstone is there, the row in the list too.
    const owner = JSON.stringify(["keyed", "", "apiKey", "alice"]);
    const index = env.TASK_INDEX.getByName(owner);
    const row = await runInDurableObject(index, (_, { storage }) =>
      storage.sql.exec("SELECT * FROM task WHERE id = ?", id).one(),
    );
    await deleteTask(env, id);
    await runInDurableObject(index, (_, { storage }) => {
      const { contextId, state, time, body } = row;
      storage.sql.exec("INSERT INTO task VALUES (?, ?, ?, ?, ?)", id, contextId, state, time, body);
    });
    await runInDurableObject(stubOf(id), async (_, { storage }) => {
      const tombstone = { kind: "tombstone", agentId: "keyed", owner, taskId: id, named: false };
      storage.sql.exec("CREATE TABLE remains (body TEXT NOT NULL)");
      const body = JSON.stringify({ ...tombstone, listed: true, until: Date.now() + DAY_MS });
      storage.sql.exec("INSERT INTO remains VALUES (?)", body);
      await storage.setAlarm(Date.now() + DAY_MS);
    });
    await abortAllDurableObjects();
    expect(await listed(KEYED)).toContain(id);
    expectRefused(await operate("rest", "GetTask", { id }, KEYED), "TASK_NOT_FOUND");
    await runDurableObjectAlarm(stubOf(id));
    await expectGone("rest", id, KEYED);
    expect(await holds(id)).toEqual({ tables: [], alarm: null });
  });

  test("of all tasks of an owner takes them off the list at once, and goes through them by its alarm", async () => {
    const bob = { agent: "keyed", headers: { "X-API-Key": "bob-key" } };
    const kept = await send("rest", "of bob", {}, bob);
    const ids = await Promise.all(
      Array.from({ length: 45 }, async () => (await send("rest", "hi", {}, KEYED)).id),
    );
    const owner = { agent: "keyed", scheme: "apiKey", principal: "alice" };
    expect(await deleteTasksOf(env, owner)).toBeGreaterThanOrEqual(45);
    expect(await listed(KEYED)).toEqual([]);
    const later = await send("rest", "later", {}, KEYED);
    await vi.waitFor(async () => {
      for (const id of ids) {
        expectRefused(await operate("rest", "GetTask", { id }, KEYED), "TASK_NOT_FOUND");
      }
    }, 5_000);
    expect(await listed(KEYED)).toEqual([later.id]);
    expect(await listed(bob)).toEqual([kept.id]);
    expect(await deleteTasksOf(env, { ...owner, principal: "nobody" })).toBe(0);
  });
});

describe("the webhooks of a task", () => {
  async function withHook(steps: Step[], options: typeof BRIEF): Promise<string> {
    const { id } = await start("rest", script(...steps), {}, options);
    const config = { taskId: id, id: "hook", url: "https://example.com/hook" };
    const { error } = await operate("rest", "CreateTaskPushNotificationConfig", config, options);
    expect(error).toBeUndefined();
    return id;
  }

  async function hooks(id: string, options: typeof BRIEF): Promise<unknown> {
    const { value } = await operate("rest", "ListTaskPushNotificationConfigs", { taskId: id }, options);
    return (value?.configs as { id: string }[] | undefined)?.map((config) => config.id);
  }

  test("stay when a reader leaves", async () => {
    const id = await withHook([{ do: "input" }], KEYED);
    const stream = await open("rest", "SubscribeToTask", { id }, KEYED);
    await stream.next();
    await stream.close();
    expect(await hooks(id, KEYED)).toEqual(["hook"]);
  });

  test("stay when its object is cut off, and when it is canceled or past its deadline", async () => {
    const id = await withHook([{ do: "input" }], KEYED);
    await abortAllDurableObjects();
    expect(await hooks(id, KEYED)).toEqual(["hook"]);
    await operate("rest", "CancelTask", { id }, KEYED);
    expect(await hooks(id, KEYED)).toEqual(["hook"]);
    const late = await withHook([{ do: "input" }], KEYED);
    later(7 * DAY_MS);
    await runDurableObjectAlarm(stubOf(late));
    await reached("rest", late, "TASK_STATE_FAILED", KEYED);
    expect(await hooks(late, KEYED)).toEqual(["hook"]);
  });
});

describe.each(BINDINGS)("a deadline, over %s", (binding) => {
  const late = "The task was not done within 150 ms of the last message";
  const cases: [title: string, steps: Step[]][] = [
    ["a turn that works", [{ do: "working" }, { do: "sleep", ms: 5_000 }]],
    ["a turn that asks", [{ do: "ask", name: "which", text: "which?" }]],
    ["a turn that sleeps", [{ do: "durableSleep", name: "hour", ms: 3_600_000 }]],
    ["a task that waits between turns", [{ do: "input", text: "which?" }]],
  ];
  test.each(cases)("fails %s, and says why", async (_title, steps) => {
    const { id } = await start(binding, script(...steps), {}, BRIEF);
    await pause(170);
    await runDurableObjectAlarm(stubOf(id));
    const { value } = await operate(binding, "GetTask", { id }, BRIEF);
    expect(value).toMatchObject({
      status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: late }] } },
    });
  });

  test("ends the streams of the task", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, KEYED);
    const stream = await open(binding, "SubscribeToTask", { id }, KEYED);
    later(7 * DAY_MS);
    await runDurableObjectAlarm(stubOf(id));
    expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_FAILED"]);
  });

  test("is counted from the client's last message, and an alarm that fires early changes nothing", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, KEYED);
    later(6 * DAY_MS);
    await send(binding, script({ do: "input" }), { taskId: id }, KEYED);
    later(6 * DAY_MS);
    await runDurableObjectAlarm(stubOf(id));
    await reached(binding, id, "TASK_STATE_INPUT_REQUIRED", KEYED);
    later(DAY_MS);
    await runDurableObjectAlarm(stubOf(id));
    await reached(binding, id, "TASK_STATE_FAILED", KEYED);
  });
});
