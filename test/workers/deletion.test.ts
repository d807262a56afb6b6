/** How the operator deletes tasks (CASES.md, D-15). */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { deleteTask, deleteTasksOf } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { witnessed } from "./agents.ts";
import { BINDINGS, getTask, operate, pause, send, start } from "./bindings.ts";
import { type CallOptions, message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";
import { alarmOf, expectUnknown, gone, indexOf, listedIn, stubOf, tablesOf } from "./kept.ts";

const FLEETING = { agent: "fleeting", headers: { "X-API-Key": "alice-key" } };
const KEYED = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
const STUBBORN = { agent: "stubborn", headers: { "X-API-Key": "alice-key" } };
const HOOK = { id: "hook", url: "https://example.com/hook" };

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(BINDINGS)("deleteTask (%s)", (binding) => {
  test("deletes a task that has ended: all of it is gone at once", async () => {
    const { id } = await send(binding, "hi", {}, KEYED);
    expect(await listedIn(indexOf("keyed"))).toContain(id);
    expect(await deleteTask(env, id)).toBe(true);
    await gone(id);
    await expectUnknown(binding, id, KEYED);
    expect(await listedIn(indexOf("keyed"))).not.toContain(id);
  });

  test("deletes a task that waits, with its webhooks, and closes its streams", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, KEYED);
    await operate(binding, "CreateTaskPushNotificationConfig", { taskId: id, ...HOOK }, KEYED);
    const stream = await open(binding, "SubscribeToTask", { id }, KEYED);
    await stream.next();
    expect(await deleteTask(env, id)).toBe(true);
    expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_CANCELED"]);
    await gone(id);
    await expectUnknown(binding, id, KEYED);
    expect(await listedIn(indexOf("keyed"))).not.toContain(id);
  });

  test("deletes a running task: calls are answered, streams end, and its turn writes nothing more", async () => {
    const parts = "300 ms";
    const stream = await open(binding, "SendStreamingMessage", { message: message(parts) }, STUBBORN);
    const id = (await stream.next())?.event.task?.id ?? "";
    const waiting = operate(
      binding,
      "SendMessage",
      { message: message("0", { taskId: id }) },
      STUBBORN,
    );
    await pause(50);
    expect(await deleteTask(env, id)).toBe(true);
    expect((await waiting).value).toMatchObject({
      task: { id, status: { state: "TASK_STATE_CANCELED" } },
    });
    expect(statesOf(await stream.rest()).at(-1)).toBe("TASK_STATE_CANCELED");
    await gone(id);
    // The turn goes on, heedless of its signal.
    await vi.waitFor(() => expect(witnessed.get(id)).toContain("end 300 ms"));
    await pause(30);
    expect(await tablesOf(id)).toEqual({});
    expect(await alarmOf(id)).toBeNull();
    await expectUnknown(binding, id, STUBBORN);
    expect(await listedIn(indexOf("stubborn"))).not.toContain(id);
    expect(witnessed.get(id)).toEqual(["run 300 ms", "abort", "end 300 ms"]);
  });

  test.each([
    ["sleeps", { do: "durableSleep", name: "s", ms: 60_000 }],
    ["is in a step", { do: "step", name: "s", ms: 200, result: 1 }],
    ["is in a stream", { do: "chunks", count: 200, everyMs: 5, text: "x" }],
  ] as const)("deletes a task whose turn %s, and nothing comes back", async (_, step) => {
    const { id } = await start(
      binding,
      script(step, { do: "artifact", parts: [{ text: "late" }] }),
      {},
      KEYED,
    );
    await pause(100);
    expect(await deleteTask(env, id)).toBe(true);
    await gone(id);
    await pause(250);
    expect(await tablesOf(id)).toEqual({});
    expect(await alarmOf(id)).toBeNull();
    expect(await listedIn(indexOf("keyed"))).not.toContain(id);
  });

  test("deletes a task whose object was cut off in the middle of its turn", async () => {
    const { id } = await start(
      binding,
      script({ do: "working" }, { do: "sleep", ms: 5_000 }),
      {},
      KEYED,
    );
    await abortAllDurableObjects();
    expect(await deleteTask(env, id)).toBe(true);
    await gone(id);
    await expectUnknown(binding, id, KEYED);
  });

  test("deletes a canceled task in the middle of its clean-up", async () => {
    const { id } = await start(binding, "100 hang", {}, STUBBORN);
    await operate(binding, "CancelTask", { id }, STUBBORN);
    expect(witnessed.get(id)?.at(-1)).toBe("onCancel");
    expect(await deleteTask(env, id)).toBe(true);
    expect(witnessed.get(id)?.at(-1)).toBe("abort of onCancel");
    await gone(id);
  });
});

describe("deleteTask", () => {
  test("gives false for a task that is unknown, deleted already, or no id at all", async () => {
    const { id } = await send("rest", "hi", {}, KEYED);
    expect(await deleteTask(env, id)).toBe(true);
    expect(await deleteTask(env, id)).toBe(false);
    const random = env.TASK_OBJECT.newUniqueId().toString();
    expect(await deleteTask(env, random)).toBe(false);
    expect(await tablesOf(random)).toEqual({});
    for (const text of ["", "nope", id.toUpperCase()]) expect(await deleteTask(env, text)).toBe(false);
  });

  test("asked twice at once deletes once", async () => {
    const { id } = await send("rest", script({ do: "input" }), {}, KEYED);
    const answers = await Promise.all([deleteTask(env, id), deleteTask(env, id)]);
    expect(answers.sort()).toEqual([false, true]);
    await gone(id);
  });
});

describe("deleteTasksOf", () => {
  const ALICE = { agent: "fleeting", scheme: "apiKey", principal: "alice" };

  test("deletes all tasks of the owner, also more than 40, and no others", async () => {
    const make = async (as: CallOptions) => (await send("rest", script({ do: "input" }), {}, as)).id;
    const ids = await Promise.all(Array.from({ length: 85 }, () => make(FLEETING)));
    const bobs = await make({ ...FLEETING, headers: { "X-API-Key": "bob-key" } });
    const elsewhere = await make(KEYED);
    const before = (await listedIn(indexOf("fleeting"))).length;
    expect(before).toBeGreaterThanOrEqual(85);
    expect(await deleteTasksOf(env, ALICE)).toBe(before);
    expect(await listedIn(indexOf("fleeting"))).toEqual([]);
    const { value } = await operate("rest", "ListTasks", {}, FLEETING);
    expect(value).toMatchObject({ tasks: [], totalSize: 0 });
    const newer = await make(FLEETING);
    await vi.waitFor(
      async () => {
        const doomed = await runInDurableObject(indexOf("fleeting"), (_, { storage: { sql } }) =>
          sql.exec("SELECT name FROM sqlite_master WHERE name = 'doomed'").toArray().length === 0
            ? []
            : sql.exec("SELECT id FROM doomed").toArray(),
        );
        expect(doomed).toEqual([]);
      },
      { timeout: 8_000 },
    );
    const left = await Promise.all(ids.map(async (id) => Object.keys(await tablesOf(id))));
    expect(left.flat()).toEqual([]);
    expect(await listedIn(indexOf("fleeting"))).toEqual([newer]);
    const kept: [string, CallOptions][] = [
      [newer, FLEETING],
      [bobs, { ...FLEETING, headers: { "X-API-Key": "bob-key" } }],
      [elsewhere, KEYED],
    ];
    for (const [id, as] of kept) expect((await getTask("rest", id, as)).id).toBe(id);
    expect(await deleteTasksOf(env, ALICE)).toBe(1);
  });

  test("takes running tasks out of the list at once, and what they still do does not bring them back", async () => {
    const as = { ...KEYED, headers: { "X-API-Key": "bob-key" } };
    const owner = { agent: "keyed", scheme: "apiKey", principal: "bob" };
    const running = script({ do: "sleep", ms: 200 }, { do: "working" }, { do: "sleep", ms: 100 });
    const ids = await Promise.all(
      Array.from({ length: 45 }, async () => (await start("rest", running, {}, as)).id),
    );
    const index = indexOf("keyed", "bob");
    await vi.waitFor(async () => expect((await listedIn(index)).length).toBe(45));
    // Their objects take long to answer, and go on meanwhile.
    const prototype = await runInDurableObject(stubOf(ids[0] ?? ""), (object) =>
      Object.getPrototypeOf(object),
    );
    const erase = prototype.erase as () => Promise<boolean>;
    vi.spyOn(prototype, "erase").mockImplementation(async function (this: object) {
      await pause(400);
      return erase.call(this);
    });
    expect(await deleteTasksOf(env, owner)).toBe(45);
    const seen = new Set<string>();
    for (let looks = 0; looks < 20; looks++) {
      for (const id of await listedIn(index)) seen.add(id);
      await pause(25);
    }
    expect([...seen]).toEqual([]);
    for (const id of ids) await gone(id);
  });

  test("goes on after a task that cannot be deleted yet, and comes back to it", async () => {
    const as = { ...STUBBORN, agent: "mirror" };
    const owner = { agent: "mirror", scheme: "apiKey", principal: "alice" };
    const ids = await Promise.all(
      Array.from({ length: 45 }, async () => (await send("rest", "hi", {}, as)).id),
    );
    const [stuck = ""] = [...ids].sort();
    const prototype = await runInDurableObject(stubOf(stuck), (object) =>
      Object.getPrototypeOf(object),
    );
    const erase = prototype.erase as () => Promise<boolean>;
    vi.spyOn(console, "error").mockImplementation(() => {});
    const broken = vi.spyOn(prototype, "erase").mockImplementation(async function (this: {
      ctx: DurableObjectState;
    }) {
      if (this.ctx.id.toString() === stuck) throw new Error("the object is away");
      return erase.call(this);
    });
    expect(await deleteTasksOf(env, owner)).toBe(45);
    const others = ids.filter((id) => id !== stuck);
    await vi.waitFor(
      async () => {
        const left = await Promise.all(others.map(async (id) => Object.keys(await tablesOf(id))));
        expect(left.flat()).toEqual([]);
      },
      { timeout: 5_000 },
    );
    const index = indexOf("mirror");
    await vi.waitFor(async () => {
      const alarm = await runInDurableObject(index, (_, { storage }) => storage.getAlarm());
      expect(alarm).toBeGreaterThan(Date.now() + 10_000);
    });
    broken.mockRestore();
    await runDurableObjectAlarm(index);
    await gone(stuck);
  });

  test("gives 0 for an owner without tasks, and makes nothing", async () => {
    const owner = { agent: "keyed", scheme: "apiKey", principal: "nobody" };
    expect(await deleteTasksOf(env, owner)).toBe(0);
    expect(await deleteTasksOf(env, { ...owner, tenant: "t" })).toBe(0);
  });
});
