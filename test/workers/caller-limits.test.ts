/** How much one caller may ask for: calls in a time, tasks in progress, open streams. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import {
  type AgentDefinition,
  apiKey,
  defineAgent,
  open,
  type RateLimits,
  type Task,
} from "durable-a2a";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Step } from "../lab/script.ts";
import { busy, plain } from "./agents.ts";
import {
  type Answer,
  BINDINGS,
  type Binding,
  exchange,
  expectRefused,
  operate,
  pause,
} from "./bindings.ts";
import { message, ORIGIN, script } from "./client.ts";
import { deploy, type Fetch } from "./deployment.ts";
import * as stream from "./event-stream.ts";
import { meter } from "./meter.ts";

const as = { agent: "busy", headers: { "X-API-Key": "alice-key" } };

const SLOW: Step[] = [{ do: "working" }, { do: "sleep", ms: 60_000 }];

/** Sends a message and does not wait for the end of its task. */
function begin(
  binding: Binding,
  steps: Step[] = SLOW,
  fields: object = {},
  tenant?: string,
): Promise<Answer> {
  const params = {
    tenant,
    message: message(script(...steps), fields),
    configuration: { returnImmediately: true },
  };
  return operate(binding, "SendMessage", params, as);
}

function idOf({ value, error }: Answer): string {
  if (!value?.task) throw new Error(`no task: ${JSON.stringify(error)}`);
  return (value.task as Task).id;
}

async function cancel(...ids: string[]): Promise<void> {
  for (const id of ids) await operate("rest", "CancelTask", { id }, as);
}

async function waitFor(id: string, state: string): Promise<void> {
  for (;;) {
    const { value } = await operate("rest", "GetTask", { id }, as);
    if ((value as unknown as Task).status.state === state) break;
    await pause(5);
  }
  await pause(20);
}

function ownersIndex(): DurableObjectStub {
  return env.TASK_INDEX.getByName(JSON.stringify(["busy", "", "apiKey", "alice"]));
}

function expectTooMany(answer: Answer, limit: string): void {
  expectRefused(answer, "RESOURCE_EXHAUSTED");
  expect(answer.headers.get("Retry-After")).toBe("10");
  expect(answer.error?.details).toMatchObject([{ metadata: { limit } }]);
}

describe.each(BINDINGS)("over %s, tasks in progress", (binding) => {
  test("are as many as the limit; one more is refused with 429, and one that ended makes room", async () => {
    const ids = [idOf(await begin(binding)), idOf(await begin(binding))];
    const more = await begin(binding);
    expectTooMany(more, "tasksPerOwner");
    expect(more.error?.message).toBe(
      "Too many requests: you have 2 tasks in progress, and may have no more",
    );
    const streamed = { message: message(script(...SLOW)) };
    expectTooMany(await operate(binding, "SendStreamingMessage", streamed, as), "tasksPerOwner");
    await cancel(ids[0] ?? "");
    const next = idOf(await begin(binding));
    expectTooMany(await begin(binding), "tasksPerOwner");
    await cancel(next, ids[1] ?? "");
    const { value } = await operate(binding, "ListTasks", { status: "TASK_STATE_WORKING" }, as);
    expect(value).toMatchObject({ totalSize: 0 });
  });

  test("are no more than the limit when many come at once", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => begin(binding)));
    const begun = answers.filter(({ value }) => value !== undefined);
    expect(begun).toHaveLength(2);
    await cancel(...begun.map(idOf));
  });

  test("are not those that have ended or wait for their client, however many", async () => {
    const waiting: string[] = [];
    for (const _ of [1, 2, 3]) {
      expect((await begin(binding, [{ do: "complete" }])).value).toBeDefined();
      waiting.push(idOf(await begin(binding, [{ do: "input" }])));
      await waitFor(waiting.at(-1) ?? "", "TASK_STATE_INPUT_REQUIRED");
    }
    // Answered, they work again.
    const [first = "", second = "", third = ""] = waiting;
    expect(idOf(await begin(binding, SLOW, { taskId: first }))).toBe(first);
    expect(idOf(await begin(binding, SLOW, { taskId: second }))).toBe(second);
    expectTooMany(await begin(binding, SLOW, { taskId: third }), "tasksPerOwner");
    await cancel(...waiting);
  });

  test("count once, however many messages they get", async () => {
    const id = idOf(await begin(binding));
    const other = idOf(await begin(binding));
    for (const _ of [1, 2, 3]) {
      expect(idOf(await begin(binding, [], { taskId: id }))).toBe(id);
    }
    await cancel(id, other);
  });

  test("are not made by what was refused, nor by messages instead of tasks", async () => {
    for (const _ of [1, 2, 3]) {
      expectRefused(
        await begin(binding, SLOW, { taskId: env.TASK_OBJECT.newUniqueId().toString() }),
        "TASK_NOT_FOUND",
      );
      const reply = { message: message(script({ do: "reply", parts: [{ text: "hi" }] })) };
      expect((await operate(binding, "SendMessage", reply, as)).value).toHaveProperty("message");
      const streamed = await stream.open(binding, "SendStreamingMessage", reply, as);
      expect((await streamed.rest())[0]?.event).toHaveProperty("message");
    }
    const ids = [idOf(await begin(binding)), idOf(await begin(binding))];
    await cancel(...ids);
  });

  test("of another owner, or of another tenant, are not counted", async () => {
    const ids = [idOf(await begin(binding)), idOf(await begin(binding))];
    const inTenant = await begin(binding, [{ do: "complete" }], {}, "alpha");
    expect(inTenant.value).toBeDefined();
    const bob = { ...as, headers: { "X-API-Key": "bob-key" } };
    const params = { message: message(script({ do: "complete" })) };
    expect((await operate(binding, "SendMessage", params, bob)).value).toBeDefined();
    await cancel(...ids);
  });

  test("are known again after the index was away", async () => {
    const ids = [idOf(await begin(binding)), idOf(await begin(binding))];
    await pause(50);
    await evictDurableObject(ownersIndex());
    expectTooMany(await begin(binding), "tasksPerOwner");
    await cancel(...ids);
  });
});

describe.each(BINDINGS)("over %s, streams of an owner", (binding) => {
  const subscribe = (id: string) => stream.open(binding, "SubscribeToTask", { id }, as);

  test("are as many as the limit over all tasks; one more is refused before it begins", async () => {
    const id = idOf(await begin(binding));
    const first = await stream.open(
      binding,
      "SendStreamingMessage",
      { message: message(script(...SLOW)) },
      as,
    );
    const task = (await first.next())?.event.task;
    const second = await subscribe(id);
    await second.next();
    const refused = await exchange(binding, "SubscribeToTask", { id }, as);
    expect(refused.headers.get("Content-Type")).toMatch(/json/);
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "10"]);
    expect(await refused.text()).toContain("streamsPerOwner");
    // A reader that leaves makes room.
    await second.close();
    await pause(20);
    const third = await subscribe(id);
    await third.next();
    // So does a stream that ends with its task.
    await cancel(id, task?.id ?? "");
    await Promise.all([first.rest(), third.rest()]);
    for (const _ of [1, 2, 3]) {
      const next = await stream.open(binding, "SendStreamingMessage", { message: message("hi") }, as);
      await next.rest();
    }
  });

  test("that were refused are not counted", async () => {
    for (const _ of [1, 2, 3]) {
      const id = env.TASK_OBJECT.newUniqueId().toString();
      expectRefused(await operate(binding, "SubscribeToTask", { id }, as), "TASK_NOT_FOUND");
    }
  });

  test("that nobody hears of any more are forgotten, and those that are heard of are not", async () => {
    const chunks: Step[] = [{ do: "working" }, { do: "chunks", count: 100, everyMs: 20 }];
    const id = idOf(await begin(binding, chunks));
    const live = await subscribe(id);
    await live.next();
    await subscribe(id).then((silent) => silent.next());
    expect((await operate(binding, "SubscribeToTask", { id }, as)).status).toBe(429);
    onTestFinished(() => void vi.useRealTimers());
    for (const _ of [1, 2, 3, 4]) {
      vi.setSystemTime(Date.now() + 40_000);
      await live.next();
      await live.next();
    }
    // The silent one is gone by now; the live one has said that it is there.
    const next = await subscribe(id);
    await next.next();
    expect((await operate(binding, "SubscribeToTask", { id }, as)).status).toBe(429);
    await cancel(id);
    await Promise.all([live.rest(), next.rest()]);
  });
});

describe("limits of an owner", () => {
  test("that cannot be counted let nobody in: 503", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const broken = {
      getByName: () => ({ admit: () => Promise.reject(new Error("the index is away")) }),
    };
    const fetch = deploy([busy], { TASK_INDEX: broken });
    const headers = { "Content-Type": "application/json", "X-API-Key": "alice-key" };
    const body = JSON.stringify({ message: message("hi") });
    const response = await fetch(`${ORIGIN}/message:send`, { method: "POST", headers, body });
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "10"]);
    expect(await response.text()).not.toContain("away");
  });

  test("cost one object request for a message, and no rows", async () => {
    await begin("jsonrpc", [{ do: "complete" }]);
    await pause(50);
    const cost = async (agent: string) => {
      meter.reset();
      const params = { message: message(script({ do: "artifact", parts: [{ text: "done" }] })) };
      await operate("jsonrpc", "SendMessage", params, { ...as, agent });
      await pause(50);
      return { rows: meter.rowsWritten, requests: meter.requests };
    };
    await cost("keyed");
    const without = await cost("keyed");
    const limited = await cost("busy");
    expect(limited.requests).toBe(without.requests + 1);
    // An agent that may answer with a message stores its first two events in one row.
    expect(limited.rows).toBeLessThanOrEqual(without.rows);
  });

  test.each(["tasksPerOwner", "streamsPerOwner"])("%s needs owners: open() has one for all", (name) => {
    const limits = { [name]: 5 };
    expect(() => defineAgent({ ...plain.definition, limits })).toThrow(`defineAgent: limits.${name}`);
    const listed = { ...plain.definition, limits, auth: open({ list: true }) };
    expect(() => defineAgent(listed)).not.toThrow();
    expect(() => defineAgent({ ...listed, limits: { [name]: 0 } })).toThrow(`limits.${name}`);
  });
});

describe("the rate of calls", () => {
  /** A rate-limit binding that lets each key in so many times. */
  function limiter(limit: number) {
    const counts = new Map<string, number>();
    return {
      counts,
      async limit({ key }: { key: string }) {
        counts.set(key, (counts.get(key) ?? 0) + 1);
        return { success: (counts.get(key) ?? 0) <= limit };
      },
    };
  }

  function limited(rateLimit: RateLimits, vars: object, changes: Partial<AgentDefinition> = {}): Fetch {
    const agent = defineAgent({ ...busy.definition, auth: apiKey(), rateLimit, ...changes });
    return deploy([agent], vars);
  }

  async function list(
    fetch: Fetch,
    binding: Binding,
    headers: Record<string, string> = as.headers,
    tenant?: string,
  ) {
    const sent = { "Content-Type": "application/json", ...headers };
    const params = { tenant };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params });
    const response =
      binding === "rest"
        ? await fetch(`${ORIGIN}/tasks${tenant ? `?tenant=${tenant}` : ""}`, { headers: sent })
        : await fetch(ORIGIN, { method: "POST", headers: sent, body });
    return {
      status: response.status,
      retryAfter: response.headers.get("Retry-After"),
      text: await response.text(),
    };
  }

  test.each(BINDINGS)(
    "over %s, is refused with 429 and when to come back, for each caller by itself",
    async (binding) => {
      const RATE = limiter(2);
      const fetch = limited({ read: { binding: "RATE", period: 10 } }, { RATE });
      expect((await list(fetch, binding)).status).toBe(200);
      // Another tenant is not another caller.
      expect((await list(fetch, binding, as.headers, "alpha")).status).toBe(200);
      const third = await list(fetch, binding);
      expect([third.status, third.retryAfter]).toEqual([429, "10"]);
      expect(third.text).toContain("RESOURCE_EXHAUSTED");
      expect(third.text).toContain("Too many requests: try again in 10 seconds");
      expect((await list(fetch, binding, { "X-API-Key": "bob-key" })).status).toBe(200);
      expect((await list(fetch, binding, { "X-API-Key": "carol-key" })).status).toBe(401);
      expect(RATE.counts.size).toBe(2);
    },
  );

  test("is counted by kind of operation, and over all kinds", async () => {
    const [ALL, SEND] = [limiter(100), limiter(100)];
    const fetch = limited({ all: { binding: "ALL" }, send: { binding: "SEND" } }, { ALL, SEND });
    const headers = { "Content-Type": "application/json", ...as.headers };
    await list(fetch, "rest");
    await fetch(`${ORIGIN}/tasks/nope:cancel`, { method: "POST", headers });
    await fetch(`${ORIGIN}/tasks/nope:subscribe`, { method: "POST", headers });
    const body = JSON.stringify({ message: message(script({ do: "complete" })) });
    await fetch(`${ORIGIN}/message:send`, { method: "POST", headers, body });
    await (await fetch(`${ORIGIN}/message:stream`, { method: "POST", headers, body })).text();
    expect([...ALL.counts.values()]).toEqual([5]);
    expect([...SEND.counts.values()]).toEqual([2]);
  });

  test("of a refused message is refused before anything runs", async () => {
    const SEND = limiter(0);
    const fetch = limited({ send: { binding: "SEND" } }, { SEND });
    const headers = { "Content-Type": "application/json", ...as.headers };
    meter.reset();
    const body = JSON.stringify({ message: message("hi") });
    const response = await fetch(`${ORIGIN}/message:stream`, { method: "POST", headers, body });
    expect([response.status, response.headers.get("Retry-After")]).toEqual([429, "60"]);
    expect(meter.requests).toBe(0);
  });

  test("of callers without a name is counted by their address", async () => {
    const RATE = limiter(1);
    const fetch = limited({ all: { binding: "RATE" } }, { RATE }, { auth: open({ list: true }) });
    const from = (address: string) => list(fetch, "rest", { "CF-Connecting-IP": address });
    expect((await from("192.0.2.1")).status).toBe(200);
    expect((await from("192.0.2.1")).status).toBe(429);
    expect((await from("192.0.2.2")).status).toBe(200);
    // One customer has all addresses that begin alike.
    expect((await from("2001:db8:1:2:3:4:5:6")).status).toBe(200);
    expect((await from("2001:db8:1:2::7")).status).toBe(429);
    expect((await from("2001:db8:1:3::7")).status).toBe(200);
    expect((await from("2001:db8::1")).status).toBe(200);
    expect((await from("2001:db8::2")).status).toBe(429);
  });

  test("without the binding is not unlimited: nobody is served", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const { status, text } = await list(limited({ all: { binding: "RATE" } }, {}), "rest");
    expect(status).toBe(500);
    expect(text).not.toContain("RATE");
  });

  test("is counted by Cloudflare's own binding, as this machine has it", async () => {
    const fetch = limited({ all: { binding: "RATE_LIMIT" } }, {});
    const statuses = [];
    for (const _ of [1, 2, 3, 4]) statuses.push((await list(fetch, "rest")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test.each<[field: string, rateLimit: object]>([
    ["rateLimit.all.binding", { all: {} }],
    ["rateLimit.read.period", { read: { binding: "RATE", period: 30 } }],
    ["rateLimit", { write: { binding: "RATE" } }],
  ])("%s of %o is refused where it is written", (field, rateLimit) => {
    const definition = { ...busy.definition, rateLimit: rateLimit as RateLimits };
    expect(() => defineAgent(definition)).toThrow(`defineAgent: ${field}`);
  });
});
