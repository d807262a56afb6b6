/** What is kept of tasks: rows and alarms of their objects, and of the lists. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { type Binding, exchange, expectRefused, type Operation, operate } from "./bindings.ts";
import { type CallOptions, message } from "./client.ts";

export function stubOf(id: string): DurableObjectStub {
  return env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
}

/** The time (ms) of the object's alarm. */
export function alarmOf(id: string): Promise<number | null> {
  return runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm());
}

/** Everything the object has stored: the rows of each table. */
export function tablesOf(id: string): Promise<Record<string, Record<string, unknown>[]>> {
  return runInDurableObject(stubOf(id), (_, { storage: { sql } }) => {
    const names = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    return Object.fromEntries(
      [...names]
        .filter(({ name }) => !name.startsWith("_cf"))
        .map(({ name }) => [name, sql.exec(`SELECT * FROM ${name}`).toArray()]),
    );
  });
}

/** The object of the list of an owner's tasks. */
export function indexOf(agent: string, principal = "alice", scheme = "apiKey"): DurableObjectStub {
  return env.TASK_INDEX.getByName(JSON.stringify([agent, "", scheme, principal]));
}

/** The ids in the list. */
export function listedIn(index: DurableObjectStub): Promise<string[]> {
  return runInDurableObject(index, (_, { storage: { sql } }) => {
    const exists = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'task'").toArray().length > 0;
    return exists ? [...sql.exec<{ id: string }>("SELECT id FROM task")].map(({ id }) => id) : [];
  });
}

/** Resolves when the object holds no tables and no alarm. */
export async function gone(id: string): Promise<void> {
  await vi.waitFor(
    async () => {
      expect(await tablesOf(id)).toEqual({});
      expect(await alarmOf(id)).toBeNull();
    },
    { timeout: 5_000 },
  );
}

/** Every operation on the task is answered like one on an id that was never given. */
export async function expectUnknown(binding: Binding, id: string, options: CallOptions): Promise<void> {
  const operations: [Operation, (id: string) => object][] = [
    ["GetTask", (id) => ({ id })],
    ["CancelTask", (id) => ({ id })],
    ["SubscribeToTask", (id) => ({ id })],
    ["SendMessage", (taskId) => ({ message: message("more", { taskId, messageId: "m" }) })],
    ["SendStreamingMessage", (taskId) => ({ message: message("more", { taskId, messageId: "m" }) })],
    ["ListTaskPushNotificationConfigs", (taskId) => ({ taskId })],
    ["GetTaskPushNotificationConfig", (taskId) => ({ taskId, id: "hook" })],
    [
      "CreateTaskPushNotificationConfig",
      (taskId) => ({ taskId, id: "hook", url: "https://example.com/hook" }),
    ],
  ];
  const random = env.TASK_OBJECT.newUniqueId().toString();
  for (const [operation, params] of operations) {
    const face = async (of: string) => {
      const response = await exchange(binding, operation, params(of), options);
      const text = (await response.text())
        .replaceAll(of, "<id>")
        .replace(/\d{4}-[\dT:.-]+Z/g, "<time>");
      return { status: response.status, text };
    };
    expect(await face(id), operation).toEqual(await face(random));
    expectRefused(await operate(binding, operation, params(id), options), "TASK_NOT_FOUND");
  }
}
