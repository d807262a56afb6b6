import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { deleteTask, type Task } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { BINDINGS, type Binding, expectRefused, operate, pause, send } from "./bindings.ts";
import { message, script } from "./client.ts";
import { executed } from "./durable-agents.ts";
import { assemble, content, open, statesOf } from "./event-stream.ts";
import { meter } from "./meter.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Options of a call with a key, of a caller with a name. */
function keyed(key: string, caller = "alice", agent = "keyed") {
  return { agent, headers: { "X-API-Key": `${caller}-key`, "Idempotency-Key": key } };
}

function newKey(): string {
  return crypto.randomUUID();
}

async function answered(binding: Binding, params: object, options: object): Promise<Task> {
  const { value, error } = await operate(binding, "SendMessage", params, options);
  if (!value?.task) throw new Error(JSON.stringify(error ?? value));
  return value.task as Task;
}

describe.each(BINDINGS)("a request with an Idempotency-Key over %s", (binding) => {
  test("is taken in once, however often and however it is sent (T-26)", async () => {
    const options = keyed(newKey(), "alice", "merging");
    const params = { message: message(`once over ${binding}`) };
    const tasks = await Promise.all(
      Array.from({ length: 20 }, () => answered(binding, params, options)),
    );
    await abortAllDurableObjects();
    tasks.push(await answered(binding, params, options));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(tasks.every(({ status }) => status.state === "TASK_STATE_COMPLETED")).toBe(true);
    expect(executed.get(`once over ${binding}`)).toEqual(["run"]);
  });

  test("goes on waiting for the same task after a crash in the middle of it", async () => {
    const options = keyed(newKey());
    const params = {
      message: message(script({ do: "step", name: "work", ms: 150 }, { do: "report" })),
    };
    const first = answered(binding, params, options);
    await pause(60);
    await abortAllDurableObjects();
    const again = answered(binding, params, options);
    const [one, two] = await Promise.all([first, again]);
    expect(two).toEqual(one);
    expect(one.artifacts).toMatchObject([{ parts: [{ data: { attempt: 2 } }] }]);
  });

  test("is refused when the key came with another request", async () => {
    const options = keyed(newKey());
    await answered(binding, { message: message("one") }, options);
    const other = await operate(binding, "SendMessage", { message: message("two") }, options);
    expectRefused(other, "INVALID_PARAMS", "Idempotency-Key");
  });

  test("gives each owner, and each key, a task of its own", async () => {
    const key = newKey();
    const params = { message: message("same") };
    const ids = [
      (await answered(binding, params, keyed(key))).id,
      (await answered(binding, params, keyed(key, "bob"))).id,
      (await answered(binding, params, keyed(newKey()))).id,
    ];
    expect(new Set(ids).size).toBe(3);
    const { value } = await operate(binding, "GetTask", { id: ids[0] }, keyed(key, "bob"));
    expect(value).toBeUndefined();
  });

  test("as a follow-up is consumed once, also in parallel and after a crash (T-27)", async () => {
    const { id } = await answered(
      binding,
      { message: message(script({ do: "input" })) },
      keyed(newKey()),
    );
    const options = keyed(newKey());
    const params = { message: message(script({ do: "input", text: "more" }), { taskId: id }) };
    const tasks = await Promise.all([1, 2, 3].map(() => answered(binding, params, options)));
    await abortAllDurableObjects();
    tasks.push(await answered(binding, params, options));
    for (const { history } of tasks) {
      expect(history?.filter(({ role }) => role === "ROLE_USER")).toHaveLength(2);
    }
    const other = { message: message("other", { taskId: id }) };
    expectRefused(
      await operate(binding, "SendMessage", other, options),
      "INVALID_PARAMS",
      "Idempotency-Key",
    );
    const stranger = { ...params, message: { ...params.message, taskId: id } };
    expectRefused(
      await operate(binding, "SendMessage", stranger, keyed(newKey(), "bob")),
      "TASK_NOT_FOUND",
    );
  });

  test("of a stream attaches to the task that is there, and resumes it by Last-Event-ID", async () => {
    const options = keyed(newKey());
    const params = {
      message: message(script({ do: "chunks", artifactId: "a", count: 10, everyMs: 20, text: "w" })),
    };
    const first = await open(binding, "SendStreamingMessage", params, options);
    const seen = await first.until((event) => event.artifactUpdate !== undefined);
    await first.close();
    const last = seen.findLast(({ id }) => id !== undefined)?.id;
    const headers = { ...options.headers, "Last-Event-ID": String(last) };
    const again = await open(binding, "SendStreamingMessage", params, { ...options, headers });
    const events = await again.rest();
    const id = events[0]?.event.task?.id ?? "";
    expect(id).toBe(seen[0]?.event.task?.id);
    expect(statesOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
    const { value } = await operate(binding, "GetTask", { id }, options);
    expect(content(assemble(events))).toEqual(content(value as unknown as Task));
    // Once more, when it has ended: the task, and the end of the stream.
    const after = await (await open(binding, "SendStreamingMessage", params, options)).rest();
    expect(after).toMatchObject([
      { event: { task: { id, status: { state: "TASK_STATE_COMPLETED" } } } },
    ]);
  });

  test("of a stream ends at a question that was asked already", async () => {
    const options = keyed(newKey());
    const params = { message: message(script({ do: "input", text: "which?" })) };
    await (await open(binding, "SendStreamingMessage", params, options)).rest();
    const again = await (await open(binding, "SendStreamingMessage", params, options)).rest();
    expect(again).toHaveLength(1);
    expect(statesOf(again)).toEqual(["TASK_STATE_INPUT_REQUIRED"]);
  });

  test("that is answered with a Message gives the same Message again", async () => {
    const options = { headers: { "Idempotency-Key": newKey() } };
    const params = { message: message(script({ do: "reply", parts: [{ text: "hey" }] })) };
    const first = await operate(binding, "SendMessage", params, options);
    expect(first.value).toMatchObject({ message: { parts: [{ text: "hey" }] } });
    expect((await operate(binding, "SendMessage", params, options)).value).toEqual(first.value);
    await abortAllDurableObjects();
    expect((await operate(binding, "SendMessage", params, options)).value).toEqual(first.value);
    const events = await (await open(binding, "SendStreamingMessage", params, options)).rest();
    expect(events.map(({ event }) => event)).toEqual([first.value]);
    const other = await operate(binding, "SendMessage", { message: message("other") }, options);
    expectRefused(other, "INVALID_PARAMS", "Idempotency-Key");
  });

  test("of a task that was deleted makes no other, for 30 days", async () => {
    const options = keyed(newKey());
    const params = { message: message("gone") };
    const { id } = await answered(binding, params, options);
    expect(await deleteTask(env, id)).toBe(true);
    const refused = await operate(binding, "SendMessage", params, options);
    expectRefused(refused, "TASK_NOT_FOUND");
    expect(refused.error?.message).toMatch(/made with this Idempotency-Key has been deleted/);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 30 * 24 * 60 * 60 * 1000);
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
    await runDurableObjectAlarm(stub);
    const alarm = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    expect(alarm).toBeNull();
    expect((await answered(binding, params, options)).status.state).toBe("TASK_STATE_COMPLETED");
  });

  test("needs 22 characters where callers have no names, and visible ASCII anywhere", async () => {
    const params = { message: message("hi") };
    const withKey = (key: string) =>
      operate(binding, "SendMessage", params, { agent: "plain", headers: { "Idempotency-Key": key } });
    expectRefused(await withKey("k".repeat(21)), "INVALID_PARAMS", "Idempotency-Key");
    expect((await withKey(binding.padEnd(22, "k"))).value).toBeDefined();
    const named = (key: string) => operate(binding, "SendMessage", params, keyed(key));
    expect((await named(`${binding}`)).value).toBeDefined();
    expect((await named(`${binding}${"k".repeat(256 - binding.length)}`)).value).toBeDefined();
    for (const key of ["k".repeat(257), "a b", "é"]) {
      expectRefused(await named(key), "INVALID_PARAMS", "Idempotency-Key");
    }
  });

  test("is unknown to equal messageIds, unless the agent merges those (T-26)", async () => {
    const params = { message: message("merged") };
    const named = { headers: { "X-API-Key": "alice-key" } };
    const twice = (agent: string) =>
      Promise.all([1, 2].map(() => answered(binding, params, { agent, ...named })));
    const [one, two] = await twice("keyed");
    expect(one?.id).not.toBe(two?.id);
    const [three, four] = await twice("merging");
    expect(three?.id).toBe(four?.id);
  });
});

test("a keyed task costs no more rows than another", async () => {
  await send("rest", "first", {}, keyed(newKey()));
  await pause(50);
  meter.reset();
  const params = { message: message("hi") };
  const options = keyed(newKey());
  await answered("rest", params, options);
  await pause(50);
  expect(meter.rowsWritten).toBeLessThanOrEqual(12);
  expect(meter.rowsWritten).toBeGreaterThan(0);
  // A retry writes nothing.
  meter.reset();
  await answered("rest", params, options);
  expect(meter.rowsWritten).toBe(0);
});
