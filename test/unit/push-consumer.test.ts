import { afterEach, describe, expect, test, vi } from "vitest";
import { type ConsumerPorts, consume } from "../../src/push/consumer.ts";
import type { Lease, Report } from "../../src/push/job.ts";
import { ALLOWED, HOSTILE_HEADERS, HOSTILE_URLS } from "../hostile-webhooks.ts";

const rules = { allow: ALLOWED, loopback: false };

/** A task with one webhook, as far as a consumer sees it. */
function webhook(config: Partial<Lease["config"]> = {}, count = 1) {
  const reports: Report[] = [];
  let held = true;
  const lease: Lease = {
    id: "l",
    until: 0,
    taskId: "t",
    agentId: "a",
    issuer: "https://agents.example.com",
    traceId: undefined,
    config: { id: "w", url: "https://example.com/hook", ...config },
    notifications: Array.from({ length: count }, (_, index) => ({
      id: `k-${index + 1}`,
      seq: index + 1,
      body: "{}",
    })),
  };
  return {
    reports,
    release: () => {
      held = false;
    },
    port: {
      lease: async () => lease,
      holds: async () => held,
      settle: async (_config: string, _lease: string, report: Report) => void reports.push(report),
    },
  };
}

type Webhook = ReturnType<typeof webhook>;

/** Consumes a job for each webhook; gives what was asked to go on, and the URLs that were called. */
async function run(
  webhooks: Webhook[],
  answer: (url: string) => Promise<Response> = async () => new Response(),
  ports: Partial<ConsumerPorts> = {},
) {
  const calls: string[] = [];
  const background: Promise<unknown>[] = [];
  await consume(
    { messages: webhooks.map((_, index) => ({ body: { task: String(index), config: "w" } })) as never },
    {
      tasks: { find: (id) => (webhooks[Number(id)] ?? webhooks[0])?.port },
      rules: () => rules,
      sign: async () => undefined,
      fetch: (url) => {
        calls.push(url);
        return answer(url);
      },
      ...ports,
    },
    { waitUntil: (promise) => void background.push(promise) },
  );
  return { calls, background };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("what was smuggled into storage is not sent (W-01)", () => {
  test.each(HOSTILE_URLS)("to %s", async (url, why) => {
    const smuggled = webhook({ url });
    const { calls } = await run([smuggled]);
    expect(calls).toEqual([]);
    expect(smuggled.reports).toEqual([{ failure: { verdict: "stop", error: `its URL ${why}` } }]);
  });

  test.each(HOSTILE_HEADERS)("in %s: %j", async (field, config) => {
    const smuggled = webhook(config);
    const { calls } = await run([smuggled]);
    expect(calls).toEqual([]);
    const [{ failure } = {}] = smuggled.reports;
    expect(failure).toEqual({ verdict: "stop", error: expect.stringContaining(`its ${field} must`) });
  });

  test("for an agent that has no webhooks any more", async () => {
    const left = webhook();
    const { calls } = await run([left], undefined, { rules: () => undefined });
    expect(calls).toEqual([]);
    expect(left.reports[0]?.failure?.verdict).toBe("stop");
  });

  test.each([
    ["resolves to a private address", "stop", { Status: 0, Answer: [{ type: 1, data: "10.0.0.1" }] }],
    ["has no address", "retry", { Status: 3 }],
    ["could not be looked up", "retry", { Status: 2 }],
  ])("to a name that %s: %s", async (why, verdict, answer) => {
    vi.stubGlobal("fetch", async () => Response.json(answer));
    const named = webhook();
    const looked = { ...rules, resolver: "https://dns.example.com/dns-query" };
    const { calls } = await run([named], undefined, { rules: () => looked });
    vi.unstubAllGlobals();
    expect(calls).toEqual([]);
    expect(named.reports).toEqual([{ failure: { verdict, error: `its URL ${why}` } }]);
  });
});

describe("a lease", () => {
  test("is sent in order, and settled once", async () => {
    const sent = webhook({}, 3);
    const { calls } = await run([sent]);
    expect(calls).toHaveLength(3);
    expect(sent.reports).toEqual([{ delivered: 3 }]);
  });

  test("ends with the first failure", async () => {
    const sent = webhook({}, 3);
    let nth = 0;
    const { calls } = await run(
      [sent],
      async () => new Response(null, { status: ++nth === 2 ? 500 : 200 }),
    );
    expect(calls).toHaveLength(2);
    expect(sent.reports).toEqual([
      { delivered: 1, failure: { verdict: "retry", status: 500, error: "answered 500" } },
    ]);
  });

  test("that holds no more is not gone on with", async () => {
    const sent = webhook({}, 3);
    const { calls } = await run([sent], async () => {
      sent.release();
      return new Response();
    });
    expect(calls).toHaveLength(1);
    expect(sent.reports).toEqual([{ delivered: 1 }]);
  });

  test.each([
    [14_999, 3],
    [15_001, 1],
  ])("begins no POST %i ms after it was taken: %i of 3 are sent", async (ms, count) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const sent = webhook({}, 3);
    let nth = 0;
    const { calls } = await run([sent], async () => {
      nth += 1;
      if (nth === 1) vi.setSystemTime(Date.now() + ms);
      return new Response();
    });
    expect(calls).toHaveLength(count);
  });
});

describe("a batch", () => {
  test("waits a second for a webhook that hangs, and leaves it to the background", async () => {
    const hanging = webhook({ url: "https://example.com/hangs" });
    const living = [webhook(), webhook()];
    let answer = () => {};
    const hung = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const start = performance.now();
    const { background } = await run([hanging, ...living], async (url) => {
      if (url.endsWith("/hangs")) await hung;
      return new Response();
    });
    expect(performance.now() - start).toBeGreaterThan(900);
    expect(living.map(({ reports }) => reports)).toEqual([[{ delivered: 1 }], [{ delivered: 1 }]]);
    expect(hanging.reports).toEqual([]);
    answer();
    await Promise.all(background);
    expect(hanging.reports).toEqual([{ delivered: 1 }]);
  });

  test("goes on when one of its deliveries breaks", async () => {
    const broken = webhook();
    broken.port.lease = async () => {
      throw new Error("the object is away");
    };
    const living = webhook();
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    await run([broken, living]);
    expect(living.reports).toEqual([{ delivered: 1 }]);
    expect(error).toHaveBeenCalledOnce();
    error.mockRestore();
  });
});
