import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { Alarms } from "../../durable-objects/alarms.ts";
import { IndexCursor } from "../../durable-objects/index-cursor.ts";
import type { IndexRow } from "../../src/operations/ports.ts";
import type { TaskRecord } from "../../src/task/apply.ts";
import { script as listed } from "./agents.ts";
import { getTask, pause, reached, send, start } from "./bindings.ts";
import { script } from "./client.ts";
import { meter } from "./meter.ts";

function stubOf(id: string): DurableObjectStub {
  return env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
}

function alarmOf(id: string): Promise<number | null> {
  return runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm());
}

function daysFromNow(time: number): number {
  return (time - Date.now()) / (24 * 60 * 60 * 1000);
}

describe("the alarm of a task", () => {
  test("holds the object while a turn runs, is set anew when it fires, and then waits for the end of the retention (D-04)", async () => {
    const { id } = await start("rest", script({ do: "working" }, { do: "sleep", ms: 400 }));
    const first = (await alarmOf(id)) ?? 0;
    expect(first - Date.now()).toBeGreaterThan(25_000);
    expect(first - Date.now()).toBeLessThanOrEqual(30_000);
    await pause(20);
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    expect(await alarmOf(id)).toBeGreaterThan(first);
    await reached("rest", id, "TASK_STATE_COMPLETED");
    await pause(50);
    expect(daysFromNow((await alarmOf(id)) ?? 0)).toBeCloseTo(30, 3);
  });

  test("is set for the deadline alone while a task waits for its client", async () => {
    const { id } = await send("rest", script({ do: "input" }));
    await pause(50);
    expect(daysFromNow((await alarmOf(id)) ?? 0)).toBeCloseTo(7, 3);
  });

  test("fired twice, early and late, changes nothing of the task (D-07)", async () => {
    const { id } = await start("rest", script({ do: "working" }, { do: "sleep", ms: 300 }));
    await runDurableObjectAlarm(stubOf(id));
    await runDurableObjectAlarm(stubOf(id));
    const done = await reached("rest", id, "TASK_STATE_COMPLETED");
    await runInDurableObject(stubOf(id), (object) => (object as { alarm(): Promise<void> }).alarm());
    expect(await getTask("rest", id)).toEqual(done);
  });

  test("wakes an object whose turn was cut off: nobody has to ask for the task to end (D-05)", async () => {
    const { id } = await start("rest", script({ do: "working" }, { do: "sleep", ms: 300 }));
    await abortAllDurableObjects();
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    // The list knows it without the task being asked.
    await vi.waitFor(async () => {
      const rows = await runInDurableObject(
        env.TASK_INDEX.getByName(JSON.stringify(["script", "", "open", ""])),
        (_, { storage }) =>
          storage.sql.exec<{ state: string }>("SELECT state FROM task WHERE id = ?", id).toArray(),
      );
      expect(rows).toEqual([{ state: "TASK_STATE_COMPLETED" }]);
    });
  });
});

describe("an index that fails", () => {
  const record = {
    agentId: listed.id,
    owner: "owner",
    task: {
      id: "t",
      contextId: "c",
      status: { state: "TASK_STATE_WORKING", timestamp: "2026-01-01T00:00:00.000Z" },
      artifacts: [],
      history: [],
    },
    waiting: [],
    turns: 1,
    heardAt: "2026-01-01T00:00:00.000Z",
  } satisfies TaskRecord;
  const entry = { seq: 1, event: { kind: "metadata", metadata: {} }, record } as const;

  /** A cursor over an index that is only `put`, and the time its alarm is set to. */
  function cursorOver(put: (row: IndexRow) => Promise<void>) {
    let alarm: number | undefined;
    const clock = {
      setAlarm: async (time: number | Date) => {
        alarm = Number(time);
      },
    };
    const agents = new Map([[listed.id, listed]]);
    return {
      cursor: new IndexCursor(() => ({ put, remove: async () => {} }), new Alarms(clock), agents),
      alarm: () => alarm,
    };
  }

  test("keeps an answer waiting no longer than two seconds", async () => {
    const { cursor } = cursorOver(() => new Promise(() => {}));
    cursor.tell([entry]);
    const begun = Date.now();
    await cursor.settled();
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1_900);
    expect(Date.now() - begun).toBeLessThan(4_000);
  });

  test("is tried again by the alarm, with the latest state", async () => {
    const rows: string[] = [];
    let broken = true;
    const { cursor, alarm } = cursorOver(async ({ state }) => {
      if (broken) throw new Error("the index is away");
      rows.push(state);
    });
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    cursor.tell([entry]);
    await cursor.settled();
    log.mockRestore();
    expect(alarm()).toBeGreaterThan(Date.now());
    broken = false;
    cursor.resume(record);
    await cursor.settled();
    expect(rows).toEqual(["TASK_STATE_WORKING"]);
  });

  test("is told many changes in few updates, and the last one always", async () => {
    const states: string[] = [];
    const { cursor } = cursorOver(async ({ body }) => {
      await pause(20);
      states.push((JSON.parse(body) as { metadata: { n: number } }).metadata.n.toString());
    });
    for (let n = 0; n < 50; n++) {
      const task = { ...record.task, metadata: { n } };
      cursor.tell([{ ...entry, record: { ...record, task } }]);
      if (n % 10 === 0) await pause(5);
    }
    await cursor.settled();
    expect(states.length).toBeLessThan(6);
    expect(states.at(-1)).toBe("49");
  });
});

test("an alarm that fires for a task that has ended long ago writes nothing but what the index may have missed", async () => {
  const { id } = await send("rest", script({ do: "complete" }));
  await abortAllDurableObjects();
  meter.reset();
  await runInDurableObject(stubOf(id), (object) => (object as { alarm(): Promise<void> }).alarm());
  await pause(50);
  expect(meter.readings().filter(({ statement }) => statement === "INSERT INTO event")).toEqual([]);
});
