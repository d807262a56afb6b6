import {
  abortAllDurableObjects,
  listDurableObjectIds,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { pushDeliveries, replayPush, restartPush } from "durable-a2a";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Step } from "../lab/script.ts";
import { script as listed } from "./agents.ts";
import { BINDINGS, expectRefused, getTask, operate, pause, reached, send, start } from "./bindings.ts";
import { script } from "./client.ts";
import { alarmOf, gone, stubOf, tablesOf } from "./kept.ts";
import { meter } from "./meter.ts";
import { queues } from "./queues.ts";
import { consume, hook, inShort, pump, receive } from "./webhooks.ts";

const ALICE = { "X-API-Key": "alice-key" };
const HOOK = { url: "https://example.com/hook" };
const inline = (config: object = HOOK) => ({ configuration: { taskPushNotificationConfig: config } });
const artifact = (artifactId: string): Step => ({
  do: "artifact",
  artifactId,
  parts: [{ text: artifactId }],
});
const failing = (status: number, headers = {}) => new Response(null, { status, headers });

/** Moves the clock, as objects see it, until the test ends. */
function later(ms: number): void {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
}

async function drive(id: string): Promise<void> {
  await runDurableObjectAlarm(stubOf(id));
  await pump();
}

describe.each(BINDINGS)("a webhook (%s)", (binding) => {
  test("that comes with the message gets everything after it, in order, each as a StreamResponse [W-06, W-07]", async () => {
    const received = receive();
    const { id } = await send(
      binding,
      script({ do: "working", text: "on it" }, artifact("a")),
      {},
      inline(),
    );
    await pump();
    expect(inShort(received)).toEqual(["status WORKING", "artifact a", "status COMPLETED"]);
    expect(received.map(({ headers }) => headers.get("Content-Type"))).toEqual(
      Array(3).fill("application/a2a+json"),
    );
    expect(received.every(({ body }) => Object.keys(body).length === 1)).toBe(true);
    const seqs = received.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
    expect(new Set(received.map(({ id }) => id)).size).toBe(3);
    expect(await pushDeliveries(env, id)).toMatchObject([{ state: "active", waiting: 0, failures: 0 }]);
  });

  test("hears that a task failed, was canceled, or asks", async () => {
    const received = receive();
    await send(binding, script({ do: "fail", text: "no" }), {}, inline());
    await send(binding, script({ do: "input", text: "which?" }), {}, inline());
    const { id } = await start(binding, script({ do: "sleep", ms: 5_000 }), {});
    await hook(binding, id);
    await operate(binding, "CancelTask", { id });
    await pump();
    expect(inShort(received).sort()).toEqual([
      "status CANCELED",
      "status FAILED",
      "status INPUT_REQUIRED",
    ]);
  });

  test("that is made for a task which has ended gets the task first [W-07]", async () => {
    const received = receive();
    const { id } = await send(binding, script(artifact("a")));
    await hook(binding, id);
    await pump();
    expect(inShort(received)).toEqual(["task COMPLETED"]);
    expect(received[0]?.body.task).toMatchObject({ id, artifacts: [{ artifactId: "a" }] });
  });

  test("that is made for a task which waits for its client gets the task, then what follows", async () => {
    const received = receive(({ body }) => (body.task ? failing(503) : new Response()));
    const { id } = await send(binding, script({ do: "input", text: "which?" }));
    await hook(binding, id);
    await pump();
    await send(binding, script(artifact("b")), { taskId: id });
    await pump();
    expect(inShort(received)).toEqual(["task INPUT_REQUIRED"]);
    const again = receive();
    later(2_000);
    await drive(id);
    // The task as it stood when the webhook was made, though it has gone on since.
    expect(inShort(again)).toEqual([
      "task INPUT_REQUIRED",
      "status WORKING",
      "artifact b",
      "status COMPLETED",
    ]);
    expect(again[0]?.id).toBe(received[0]?.id);
  });

  test("of a task at work gets what comes from then on", async () => {
    const received = receive();
    const { id } = await start(binding, script(artifact("a"), { do: "sleep", ms: 200 }, artifact("b")));
    await pause(50);
    await hook(binding, id);
    await reached(binding, id, "TASK_STATE_COMPLETED");
    await pump();
    expect(inShort(received)).toEqual(["artifact b", "status COMPLETED"]);
  });

  test("gets a Message that is the whole answer, once, and its object is empty then", async () => {
    const received = receive((_, nth) => (nth === 1 ? failing(500) : new Response()));
    const reply: Step = { do: "reply", parts: [{ text: "hello" }] };
    const params = {
      message: { messageId: "m", role: "ROLE_USER", parts: script(reply) },
      ...inline(),
    };
    const before = new Set(await objects());
    const { value } = await operate(binding, "SendMessage", params);
    expect(value).toHaveProperty("message");
    const [id = ""] = (await objects()).filter((each) => !before.has(each));
    await pump();
    expectRefused(await operate(binding, "GetTask", { id }), "TASK_NOT_FOUND");
    await abortAllDurableObjects();
    later(2_000);
    await drive(id);
    expect(inShort(received)).toEqual(["message", "message"]);
    expect(received[0]?.body).toEqual(received[1]?.body);
    expect(received[0]?.body.message?.parts).toEqual([{ text: "hello" }]);
    await gone(id);
  });

  test("gets its secrets and its trace in headers, and never gives them back [W-03, W-05, W-16]", async () => {
    const received = receive();
    const authentication = { scheme: "Bearer", credentials: "s3cret" };
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const { id } = await send(binding, script(artifact("a")));
    const options = { headers: { traceparent } };
    const config = await hook(binding, id, { token: "t0ken", authentication }, options);
    await pump();
    const { headers } = received[0] ?? {};
    expect(headers?.get("Authorization")).toBe("Bearer s3cret");
    expect(headers?.get("X-A2A-Notification-Token")).toBe("t0ken");
    expect(headers?.get("traceparent")).toMatch(
      /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/,
    );
    const { value } = await operate(binding, "GetTaskPushNotificationConfig", {
      taskId: id,
      id: config,
    });
    expect(JSON.stringify(value)).not.toMatch(/s3cret|t0ken/);
  });

  test("is not told apart by its own name: an id is any text", async () => {
    const received = receive();
    const { id } = await send(binding, script(artifact("a")));
    await hook(binding, id, { id: 'Ünï/✓ "quoted"' });
    await pump();
    expect(received.map(({ id }) => id)).toEqual([expect.stringMatching(/^[\x21-\x7e]+$/)]);
  });

  test("that answers with an error gets the same again, later and later, and everything else after it [W-09, W-10]", async () => {
    const received = receive(({ body }, nth) =>
      body.artifactUpdate && nth < 4 ? failing(500) : new Response(),
    );
    const { id } = await send(
      binding,
      script({ do: "working", text: "on it" }, artifact("a")),
      {},
      inline(),
    );
    await pump();
    expect(inShort(received)).toEqual(["status WORKING", "artifact a"]);
    const [{ failures, lastStatus, waiting, nextAttempt = "" } = { failures: 0 }] =
      await pushDeliveries(env, id);
    expect({ failures, lastStatus, waiting }).toEqual({ failures: 1, lastStatus: 500, waiting: 2 });
    expect(Date.parse(nextAttempt) - Date.now()).toBeLessThanOrEqual(1_250);
    // Not before its time.
    await drive(id);
    expect(received).toHaveLength(2);
    later(1_300);
    await drive(id);
    expect(received).toHaveLength(3);
    later(1_300);
    await drive(id);
    expect(received).toHaveLength(3);
    later(1_300);
    await drive(id);
    expect(inShort(received)).toEqual([
      "status WORKING",
      "artifact a",
      "artifact a",
      "artifact a",
      "status COMPLETED",
    ]);
    expect(new Set(received.slice(1, 4).map(({ id, seq }) => `${id} ${seq}`)).size).toBe(1);
    expect(received[1]?.body).toEqual(received[3]?.body);
  });

  test("that is deleted gets nothing more, also of what was leased for it", async () => {
    let remove = async () => {};
    const received = receive(async () => {
      await remove();
      return new Response();
    });
    const { id } = await send(binding, script(artifact("a")));
    const config = await hook(binding, id);
    await send(binding, "x");
    remove = async () => {
      await operate(binding, "DeleteTaskPushNotificationConfig", { taskId: id, id: config });
    };
    await pump();
    expect(received).toHaveLength(1);
    const other = await send(
      binding,
      script(artifact("a"), artifact("b")),
      {},
      inline({ ...HOOK, id: "w" }),
    );
    remove = async () => {
      await operate(binding, "DeleteTaskPushNotificationConfig", { taskId: other.id, id: "w" });
    };
    await pump();
    expect(inShort(received.slice(1))).toEqual(["artifact a"]);
  });

  test("that is deleted while a retry waits gets nothing more", async () => {
    const received = receive(() => failing(503));
    const { id } = await send(binding, script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pump();
    await operate(binding, "DeleteTaskPushNotificationConfig", { taskId: id, id: "w" });
    later(60_000);
    await drive(id);
    expect(received).toHaveLength(1);
    expect(((await alarmOf(id)) ?? 0) - Date.now()).toBeGreaterThan(24 * 3_600_000);
  });

  test("that was stopped goes on when its client puts another URL in its place [W-11]", async () => {
    const received = receive(({ url }) => (url === HOOK.url ? failing(404) : new Response()));
    const { id } = await send(binding, script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pump();
    expect(await pushDeliveries(env, id)).toMatchObject([
      { state: "stopped", lastStatus: 404, waiting: 2 },
    ]);
    await hook(binding, id, { id: "w", url: "https://example.com/other" });
    await pump();
    expect(inShort(received)).toEqual(["artifact a", "artifact a", "status COMPLETED"]);
    expect(received[2]?.url).toBe("https://example.com/other");
    expect(await pushDeliveries(env, id)).toHaveLength(1);
  });

  test("with another URL gets again what was under way to the old one", async () => {
    let change = async () => {};
    const received = receive(async () => {
      await change();
      return new Response();
    });
    change = async () => {
      change = async () => {};
      await hook(binding, id, { id: "w", url: "https://example.com/other" });
    };
    const { id } = await send(binding, script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pump();
    expect(received.map(({ url, seq }) => [url.slice(-5), seq])).toEqual([
      ["/hook", 4],
      ["other", 4],
      ["other", 5],
    ]);
  });

  test("that has gone (410) is removed", async () => {
    const received = receive(() => failing(410));
    const { id } = await send(binding, script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pump();
    expect(received).toHaveLength(1);
    const get = await operate(binding, "GetTaskPushNotificationConfig", { taskId: id, id: "w" });
    expectRefused(get, "TASK_NOT_FOUND");
  });
});

describe("the queue and what may be lost", () => {
  test.each([
    ["a job is lost", async () => void queues.take()],
    ["the queue takes no job", async () => {}],
    ["the object is cut off before its job", async () => abortAllDurableObjects()],
  ])("%s: the alarm sends it again", async (title, lose) => {
    const received = receive();
    if (title.startsWith("the queue")) queues.fail(new Error("the queue is away"));
    const { id } = await send("rest", script(artifact("a")), {}, inline());
    await pause(30);
    await lose();
    queues.fail(undefined);
    queues.take();
    expect(((await alarmOf(id)) ?? 0) - Date.now()).toBeLessThanOrEqual(30_000);
    later(31_000);
    await drive(id);
    expect(inShort(received)).toEqual(["artifact a", "status COMPLETED"]);
  });

  test("the alarm is lost as well: whoever asks for the task sends the job again, once", async () => {
    const received = receive();
    const { id } = await send("rest", script(artifact("a")), {}, inline());
    await pause(30);
    queues.take();
    await runInDurableObject(stubOf(id), (_, { storage }) => storage.deleteAlarm());
    await abortAllDurableObjects();
    for (let asked = 0; asked < 3; asked++) await getTask("rest", id);
    await pause(30);
    expect(queues.take()).toHaveLength(1);
    expect(((await alarmOf(id)) ?? 0) - Date.now()).toBeGreaterThan(25_000);
    await abortAllDurableObjects();
    await getTask("rest", id);
    await pump();
    expect(inShort(received)).toEqual(["artifact a", "status COMPLETED"]);
  });

  test("a consumer that crashes: the same range goes out again, with the same ids, when its lease has ended", async () => {
    let crash = true;
    const received = receive();
    const { id } = await send("rest", script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pause(30);
    queues.take();
    // Leased, and never heard of again.
    const lease = await leaseOf(id, "w");
    expect(lease?.notifications.map(({ seq }) => seq)).toEqual([4, 5]);
    await abortAllDurableObjects();
    await send("rest", "more", { taskId: id }).catch(() => (crash = false));
    expect(crash).toBe(false);
    expect(await leaseOf(id, "w")).toBeUndefined();
    later(29_000);
    await drive(id);
    expect(received).toHaveLength(0);
    later(2_000);
    await drive(id);
    expect(received.map(({ id, seq }) => ({ id, seq }))).toEqual(
      lease?.notifications.map(({ id, seq }) => ({ id, seq })),
    );
    // The late report of the first consumer changes nothing.
    await runInDurableObject(stubOf(id), (object) =>
      (object as unknown as { settle(...given: unknown[]): Promise<void> }).settle("w", lease?.id, {
        delivered: 4,
      }),
    );
    expect(await pushDeliveries(env, id)).toMatchObject([{ seq: 5, waiting: 0 }]);
  });

  test("events that come while a range is leased do not become part of it", async () => {
    const { id } = await send("rest", script({ do: "input" }), {}, inline({ ...HOOK, id: "w" }));
    receive();
    await pause(30);
    const lease = await leaseOf(id, "w");
    await send("rest", script(artifact("a")), { taskId: id });
    later(40_000);
    const again = await leaseOf(id, "w");
    expect(again?.notifications).toEqual(lease?.notifications);
    expect(again?.id).not.toBe(lease?.id);
  });

  test("a job that comes twice, or for nothing there is, does no harm", async () => {
    const received = receive();
    const { id } = await send("rest", script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pause(30);
    const [{ job } = {}] = queues.take();
    await consume([
      job,
      job,
      { task: id, config: "other" },
      { task: "f".repeat(64), config: "w" },
      "x",
      null,
      {},
    ]);
    await pump();
    await consume([job]);
    expect(received).toHaveLength(2);
  });

  test("one webhook that does not answer delays no other, and has its jobs in the slow queue from then on", async () => {
    const abort = new DOMException("timed out", "TimeoutError");
    const signal = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort(abort));
    const received = receive(({ url }) => {
      if (url.endsWith("/hangs")) throw abort;
      return new Response();
    });
    const { id } = await start("rest", script(artifact("a"), { do: "sleep", ms: 300 }));
    await hook("rest", id, { id: "hangs", url: "https://example.com/hangs" });
    await hook("rest", id, { id: "lives" });
    await reached("rest", id, "TASK_STATE_COMPLETED");
    await pump();
    signal.mockRestore();
    expect(inShort(received.filter(({ url }) => url.endsWith("/hook")))).toEqual(["status COMPLETED"]);
    later(2_000);
    await runDurableObjectAlarm(stubOf(id));
    await pause(30);
    expect(queues.take().map(({ queue, job }) => [queue, job.config])).toEqual([["slow", "hangs"]]);
    expect(await pushDeliveries(env, id)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: "hangs",
          state: "retrying",
          lastError: "no answer within 10 seconds",
        }),
      ]),
    );
  });

  test("what cannot be delivered within push.maxAge stops the webhook, and is not lost", async () => {
    const received = receive(() => failing(503, { "Retry-After": "999999" }));
    const { id } = await send("rest", script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await pump();
    later(24 * 3_600_000 - 10_000);
    await drive(id);
    expect(received).toHaveLength(1);
    later(10_000);
    await drive(id);
    expect(received).toHaveLength(2);
    expect(await pushDeliveries(env, id)).toMatchObject([
      { state: "stopped", waiting: 2, failures: 2 },
    ]);
    later(24 * 3_600_000);
    await drive(id);
    expect(received).toHaveLength(2);
    const again = receive();
    await restartPush(env, id, "w");
    await pump();
    expect(inShort(again)).toEqual(["artifact a", "status COMPLETED"]);
    expect(again[0]?.id).toBe(received[0]?.id);
  });

  test("a URL that was smuggled into storage, and one whose host is not allowed any more, is not called", async () => {
    const received = receive();
    const { id } = await send("rest", script(artifact("a")), {}, inline({ ...HOOK, id: "w" }));
    await runInDurableObject(stubOf(id), (_, { storage: { sql } }) => {
      sql.exec("UPDATE push SET config = json_set(config, '$.url', 'https://169.254.169.254/')");
    });
    await abortAllDurableObjects();
    queues.take();
    later(31_000);
    await drive(id);
    expect(received).toHaveLength(0);
    expect(await pushDeliveries(env, id)).toMatchObject([
      { state: "stopped", lastError: "its URL must name a host, not an address" },
    ]);
  });
});

describe("a webhook in the round contract", () => {
  const HASTY = { agent: "hasty", headers: ALICE };

  test("hears of the end when nobody holds a stream any more, and of a cancel and a deadline", async () => {
    const received = receive();
    const { id } = await send("rest", script({ do: "input" }), {}, { ...HASTY, ...inline() });
    await pause(250);
    await drive(id);
    expect(inShort(received)).toEqual(["status INPUT_REQUIRED", "status FAILED"]);
    const other = await send("rest", script({ do: "ask", name: "q", text: "which?" }), {}, inline());
    await operate("rest", "CancelTask", { id: other.id });
    await pump();
    expect(inShort(received.slice(2))).toEqual(["status INPUT_REQUIRED", "status CANCELED"]);
  });

  test("is sent nothing more once its task is deleted, also what waited for a retry", async () => {
    const received = receive(() => failing(503));
    const options = { agent: "fleeting", headers: ALICE };
    const { id } = await send("rest", script(artifact("a")), {}, { ...options, ...inline() });
    await pump();
    expect(received).toHaveLength(1);
    await pause(150);
    await drive(id);
    later(60_000);
    await drive(id);
    await gone(id);
    expect(received).toHaveLength(1);
  });

  test("gets what a turn publishes that goes on after its object was cut off, once each", async () => {
    const received = receive();
    const steps: Step[] = [artifact("a"), { do: "durableSleep", name: "s", ms: 60_000 }, artifact("b")];
    const { id } = await start("rest", script(...steps));
    await hook("rest", id);
    await pump();
    await abortAllDurableObjects();
    later(61_000);
    await drive(id);
    await reached("rest", id, "TASK_STATE_COMPLETED");
    await pump();
    expect(inShort(received).slice(-2)).toEqual(["artifact b", "status COMPLETED"]);
    expect(new Set(received.map((each) => each.id)).size).toBe(received.length);
  });
});

describe("a task that waits while its webhook fails", () => {
  test("is left alone by the retries: its turn does not run again for them", async () => {
    const received = receive(() => failing(503));
    const steps: Step[] = [{ do: "ask", name: "q", text: "which?" }, { do: "report" }];
    const { id } = await send("rest", script(...steps), {}, inline());
    await pump();
    for (let minutes = 1; minutes <= 8; minutes += 1) {
      await abortAllDurableObjects();
      later(10 * 60_000);
      await drive(id);
    }
    expect(received).toHaveLength(9);
    vi.useRealTimers();
    const { status, artifacts } = await send("rest", "this", { taskId: id });
    expect(status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifacts?.[0]?.parts[0]?.data).toMatchObject({ attempt: 2 });
  });

  test("of an agent that has no webhooks any more is not woken for them", async () => {
    receive(() => failing(503));
    const { id } = await send("rest", script({ do: "input" }), {}, inline());
    await pump();
    await runInDurableObject(stubOf(id), (_, { storage: { sql } }) => {
      sql.exec("UPDATE push SET cursor = json_set(cursor, '$.agentId', 'gone')");
    });
    await abortAllDurableObjects();
    later(2_000);
    await drive(id);
    expect(((await alarmOf(id)) ?? 0) - Date.now()).toBeGreaterThan(24 * 3_600_000);
    expect(await pushDeliveries(env, id)).toMatchObject([{ waiting: 1 }]);
  });

  test("of an agent that sends only statuses now is not sent the artifact that was under way", async () => {
    const received = receive(({ body }) => failing(body.artifactUpdate ? 503 : 200));
    const { id } = await start(
      "rest",
      script({ do: "sleep", ms: 100 }, artifact("a"), { do: "input" }),
    );
    await hook("rest", id);
    await pause(130);
    await pump();
    await send("rest", script({ do: "input" }), { taskId: id });
    const { push } = listed;
    if (push) Object.assign(push, { events: "status" });
    onTestFinished(() => void Object.assign(push ?? {}, { events: "all" }));
    await abortAllDurableObjects();
    later(2_000);
    await drive(id);
    expect(inShort(received)).toEqual([
      "artifact a",
      "status INPUT_REQUIRED",
      "status WORKING",
      "status INPUT_REQUIRED",
    ]);
  });
});

describe("the operator", () => {
  test("replays a webhook from an event on, under the same ids", async () => {
    const received = receive();
    const { id } = await send(
      "rest",
      script(artifact("a"), artifact("b")),
      {},
      inline({ ...HOOK, id: "w" }),
    );
    await pump();
    await replayPush(env, id, "w", received[1]?.seq ?? 0);
    await pump();
    expect(inShort(received)).toEqual([
      "artifact a",
      "artifact b",
      "status COMPLETED",
      "artifact b",
      "status COMPLETED",
    ]);
    expect(received[3]?.id).toBe(received[1]?.id);
    await replayPush(env, id, "w", 1);
    await pump();
    expect(inShort(received.slice(5))).toEqual([
      "status WORKING",
      "artifact a",
      "artifact b",
      "status COMPLETED",
    ]);
    for (const seq of [0, 1.5, 100])
      await expect(replayPush(env, id, "w", seq)).rejects.toThrow("Invalid parameters");
    await expect(replayPush(env, id, "x", 1)).rejects.toThrow("not found");
    await expect(restartPush(env, "f".repeat(64), "w")).rejects.toThrow("not found");
    await expect(pushDeliveries(env, "f".repeat(64))).rejects.toThrow("not found");
  });
});

describe("what a delivery costs", () => {
  test("a burst of ten events on one webhook: at most 3 jobs and 4 rows", async () => {
    receive();
    const steps = Array.from({ length: 9 }, (_, index) => artifact(`a${index}`));
    const rows = async (more: object) => {
      const options = { agent: "keyed", headers: ALICE };
      const { id } = await send("rest", script({ do: "input" }), {}, { ...options, ...more });
      await pump();
      meter.reset();
      const sent = queues.sent;
      await send("rest", script(...steps), { taskId: id }, options);
      await pump();
      await pause(50);
      return { rows: meter.rowsWritten, jobs: queues.sent - sent };
    };
    const without = await rows({});
    const withHook = await rows(inline());
    expect(without.jobs).toBe(0);
    expect(withHook.jobs).toBeGreaterThan(0);
    expect(withHook.jobs).toBeLessThanOrEqual(3);
    expect(withHook.rows - without.rows).toBeGreaterThan(0);
    expect(withHook.rows - without.rows).toBeLessThanOrEqual(4);
  });

  test("a task that is delivered and waits costs nothing: one far alarm", async () => {
    receive();
    const { id } = await send("rest", script({ do: "input" }), {}, inline());
    await pump();
    await pause(50);
    expect(((await alarmOf(id)) ?? 0) - Date.now()).toBeGreaterThan(24 * 3_600_000);
    expect((await tablesOf(id)).push).toHaveLength(1);
  });
});

async function objects(): Promise<string[]> {
  return (await listDurableObjectIds(env.TASK_OBJECT)).map((id) => id.toString());
}

interface Leased {
  id: string;
  notifications: { id: string; seq: number; body: string }[];
}

function leaseOf(id: string, config: string): Promise<Leased | undefined> {
  return (stubOf(id) as unknown as { lease(config: string): Promise<Leased | undefined> }).lease(
    config,
  );
}
