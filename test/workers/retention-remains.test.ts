/** How the data of a task end: `retention` after its end, or by the operator's word (CASES.md, D-13, D-15). */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { deleteTask, type Task } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Alarms } from "../../durable-objects/alarms.ts";
import { IndexCursor } from "../../durable-objects/index-cursor.ts";
import { keyed } from "./agents.ts";
import { BINDINGS, getTask, operate, pause, send, start } from "./bindings.ts";
import { message, script } from "./client.ts";
import { alarmOf, expectUnknown, gone, indexOf, listedIn, stubOf, tablesOf } from "./kept.ts";

const FLEETING = { agent: "fleeting", headers: { "X-API-Key": "alice-key" } };
const KEYED = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
const HOOK = { id: "hook", url: "https://example.com/hook" };
const DAY_MS = 24 * 60 * 60 * 1000;

type Options = { agent: string; headers: Record<string, string> };

function withKey(options: Options, key: string = crypto.randomUUID()): Options {
  return { ...options, headers: { ...options.headers, "Idempotency-Key": key } };
}

/** Puts a failure in the place of a method of every index, until the test ends. */
async function breakIndex(index: DurableObjectStub, method: "put" | "remove") {
  const prototype = await runInDurableObject(index, (object) => Object.getPrototypeOf(object));
  return vi.spyOn(prototype, method).mockRejectedValue(new Error("the index is away"));
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(BINDINGS)("retention (%s)", (binding) => {
  test.each(["complete", "fail", "reject"] as const)(
    "after it a task that ended by %s is gone: operations, storage, alarm and list know nothing (D-13)",
    async (end) => {
      const { id } = await send(binding, script({ do: "chunks", count: 3 }, { do: end }), {}, FLEETING);
      await gone(id);
      await expectUnknown(binding, id, FLEETING);
      expect(await listedIn(indexOf("fleeting"))).not.toContain(id);
      expect(await tablesOf(id)).toEqual({});
    },
  );

  test("a canceled task and its webhooks are gone after it", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, FLEETING);
    const put = { taskId: id, ...HOOK };
    expect(
      (await operate(binding, "CreateTaskPushNotificationConfig", put, FLEETING)).value,
    ).toMatchObject(HOOK);
    expect(Object.keys(await tablesOf(id)).sort()).toEqual(["event", "push"]);
    await operate(binding, "CancelTask", { id }, FLEETING);
    await gone(id);
    await expectUnknown(binding, id, FLEETING);
  });

  test("a task that has not ended is kept, however long it waits", async () => {
    const task = await send(binding, script({ do: "input" }), {}, FLEETING);
    await pause(300);
    await runDurableObjectAlarm(stubOf(task.id));
    expect(await getTask(binding, task.id, FLEETING)).toEqual(task);
  });

  test("it counts from the end, and what is read meanwhile does not move it", async () => {
    const { id } = await send(binding, script({ do: "complete" }), {}, KEYED);
    for (let reads = 0; reads < 3; reads++) await getTask(binding, id, KEYED);
    await runDurableObjectAlarm(stubOf(id));
    const task = await getTask(binding, id, KEYED);
    const ended = Date.parse(task.status.timestamp ?? "");
    expect(await alarmOf(id)).toBe(ended + 30 * DAY_MS);
  });
});

describe("what remains of a task that was made with an Idempotency-Key", () => {
  test("is a tombstone without a word of the task, and that is gone after 30 days", async () => {
    const as = withKey(FLEETING);
    const asked = { message: message("a secret") };
    const { value } = await operate("rest", "SendMessage", asked, as);
    const { id } = (value?.task ?? {}) as Task;
    await vi.waitFor(async () => {
      expect((await tablesOf(id)).remains).toMatchObject([
        { body: expect.stringMatching(/"listed":false/) },
      ]);
    });
    const tables = await tablesOf(id);
    expect(Object.keys(tables)).toEqual(["remains"]);
    expect(JSON.stringify(tables)).not.toContain("secret");
    expect(((await alarmOf(id)) ?? 0) / DAY_MS).toBeCloseTo(Date.now() / DAY_MS + 30, 2);
    expect(await listedIn(indexOf("fleeting"))).not.toContain(id);

    // An alarm before its time leaves it.
    await abortAllDurableObjects();
    await runDurableObjectAlarm(stubOf(id));
    expect(await tablesOf(id)).toEqual(tables);
    expect(((await alarmOf(id)) ?? 0) / DAY_MS).toBeCloseTo(Date.now() / DAY_MS + 30, 2);

    await passUntil(id);
    expect(await tablesOf(id)).toEqual({});
    expect(await alarmOf(id)).toBeNull();
    // The key is as good as new.
    const again = await operate("rest", "SendMessage", asked, as);
    expect(again.value).toMatchObject({ task: { id, status: { state: "TASK_STATE_COMPLETED" } } });
  });

  test("is the tombstone alone, also of a task with webhooks and a long log", async () => {
    const working = Array.from({ length: 260 }, () => ({ do: "working" }) as const);
    const { id } = await send("rest", script(...working, { do: "input" }), {}, withKey(KEYED));
    await operate("rest", "CreateTaskPushNotificationConfig", { taskId: id, ...HOOK }, KEYED);
    expect(Object.keys(await tablesOf(id)).sort()).toEqual(["event", "push", "snapshot"]);
    expect(await deleteTask(env, id)).toBe(true);
    expect(Object.keys(await tablesOf(id))).toEqual(["remains"]);
  });

  test("is nothing, when only a later message had a key", async () => {
    const { id } = await send("rest", script({ do: "input" }), {}, FLEETING);
    await send("rest", script({ do: "complete" }), { taskId: id }, withKey(FLEETING));
    await gone(id);
  });

  test("is not to be seen by anybody: all but its own key is answered like an id that was never given", async () => {
    const as = withKey(KEYED);
    const { id } = await send("rest", "hi", {}, as);
    expect(await deleteTask(env, id)).toBe(true);
    expect(Object.keys(await tablesOf(id))).toEqual(["remains"]);
    for (const binding of BINDINGS) {
      await expectUnknown(binding, id, KEYED);
      await expectUnknown(binding, id, as);
      await expectUnknown(binding, id, withKey(KEYED));
      await expectUnknown(binding, id, withKey({ ...KEYED, headers: { "X-API-Key": "bob-key" } }));
    }
  });
});

/** Makes what remains in the object as old as it may be, and lets its alarm go off. */
async function passUntil(id: string): Promise<void> {
  await runInDurableObject(stubOf(id), (_, { storage: { sql } }) => {
    sql.exec("UPDATE remains SET body = json_set(body, '$.until', ?)", Date.now() - 1);
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stubOf(id));
}

describe("an index that fails while a task is deleted (D-15)", () => {
  test("is asked again by the alarm; the task is gone meanwhile, and nothing comes back", async () => {
    const { id } = await send("rest", "hi", {}, KEYED);
    const broken = await breakIndex(indexOf("keyed"), "remove");
    expect(await deleteTask(env, id)).toBe(true);
    expect(broken).toHaveBeenCalledTimes(1);
    await expectUnknown("rest", id, KEYED);
    expect(Object.keys(await tablesOf(id))).toEqual(["remains"]);
    const alarm = (await alarmOf(id)) ?? 0;
    expect(alarm - Date.now()).toBeGreaterThan(20_000);
    expect(alarm - Date.now()).toBeLessThanOrEqual(60_000);
    expect(await listedIn(indexOf("keyed"))).toContain(id);

    await runDurableObjectAlarm(stubOf(id));
    expect(broken).toHaveBeenCalledTimes(2);
    await expectUnknown("rest", id, KEYED);

    // The deletion goes on in another incarnation of the object.
    broken.mockRestore();
    await abortAllDurableObjects();
    await runDurableObjectAlarm(stubOf(id));
    await gone(id);
    expect(await listedIn(indexOf("keyed"))).not.toContain(id);
    await expectUnknown("rest", id, KEYED);
  });

  test("leaves an alarm that waits for its time, also when an update of the list was on its way", async () => {
    const as = withKey(KEYED);
    const { id } = await send("rest", script({ do: "input" }), {}, as);
    const put = await breakIndex(indexOf("keyed"), "put");
    const removed = deleteTask(env, id);
    expect(await removed).toBe(true);
    expect(put).toHaveBeenCalled();
    put.mockRestore();
    expect(Object.keys(await tablesOf(id))).toEqual(["remains"]);
    // The tombstone is all that is due; an update that failed is not made up for.
    await pause(20);
    await runDurableObjectAlarm(stubOf(id));
    expect(((await alarmOf(id)) ?? 0) / DAY_MS).toBeCloseTo(Date.now() / DAY_MS + 30, 2);
    await vi.waitFor(async () => expect(await listedIn(indexOf("keyed"))).not.toContain(id));
  });

  test("does not keep an update that failed, once the task is to be removed", async () => {
    const times: number[] = [];
    const clock = { setAlarm: async (time: number | Date) => void times.push(Number(time)) };
    const alarms = new Alarms(clock);
    const removed: string[] = [];
    const index = {
      put: async () => {
        await pause(10);
        throw new Error("the index is away");
      },
      list: async () => ({ rows: [], more: false, total: 0 }),
      remove: async (id: string) => void removed.push(id),
      deleteAll: async () => 0,
    };
    const cursor = new IndexCursor(() => index, alarms, new Map([["keyed", keyed]]));
    const record = {
      agentId: "keyed",
      owner: "o",
      task: {
        id: "t",
        contextId: "c",
        status: { state: "TASK_STATE_CANCELED", timestamp: "2026-01-01T00:00:00.000Z" },
        artifacts: [],
        history: [],
      },
      waiting: [],
      turns: 1,
      heardAt: "2026-01-01T00:00:00.000Z",
    } as const;
    vi.spyOn(console, "error").mockImplementation(() => {});
    cursor.tell([
      {
        seq: 1,
        event: { kind: "metadata", metadata: {} },
        record: { ...record, task: { ...record.task, artifacts: [], history: [] } },
      },
    ]);
    await cursor.remove({ agentId: "keyed", owner: "o", taskId: "t" });
    expect(removed).toEqual(["t"]);
    alarms.fired();
    const later = Date.now() + DAY_MS;
    alarms.set("retention", later);
    expect(times.at(-1)).toBe(later);
  });

  test("loses the row of a task whose agent is no longer deployed", async () => {
    const removed: string[] = [];
    const index = {
      put: async () => {},
      list: async () => ({ rows: [], more: false, total: 0 }),
      remove: async (id: string) => void removed.push(id),
      deleteAll: async () => 0,
    };
    const cursor = new IndexCursor(() => index, new Alarms({ setAlarm: async () => {} }), new Map());
    await cursor.remove({ agentId: "withdrawn", owner: "o", taskId: "t" });
    expect(removed).toEqual(["t"]);
  });
});

test("the alarm of a task that ended and left memory tells the list once, then waits for the retention", async () => {
  const { id } = await send("rest", script({ do: "complete" }), {}, KEYED);
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stubOf(id));
  await pause(50);
  const { status } = await getTask("rest", id, KEYED);
  expect(await alarmOf(id)).toBe(Date.parse(status.timestamp ?? "") + 30 * DAY_MS);
});

test("a task that ended in an object that was cut off is gone after its retention all the same (D-13)", async () => {
  const { id } = await start("rest", script({ do: "working" }, { do: "sleep", ms: 100 }), {}, FLEETING);
  await abortAllDurableObjects();
  // It wakes, ends its turn, and is deleted.
  await runDurableObjectAlarm(stubOf(id));
  await gone(id);
});
