import { afterEach, describe, expect, test, vi } from "vitest";
import type { Lease } from "../../src/push/job.ts";
import { failureOf, post, TIMEOUT_MS } from "../../src/push/post.ts";

const NOW = Date.parse("2026-12-01T00:00:00Z");
const notification = { id: "k-7", seq: 7, body: '{"message":{}}' };

function lease(config: Partial<Lease["config"]> = {}): Lease {
  return {
    id: "l",
    until: 0,
    taskId: "t",
    agentId: "a",
    issuer: "https://agents.example.com",
    traceId: undefined,
    config: { id: "w", url: "https://example.com/hook", ...config },
    notifications: [],
  };
}

/** The request that is made. */
async function requestOf(config: Partial<Lease["config"]>, signature?: string) {
  const requests: [url: string, init: RequestInit][] = [];
  const failure = await post(lease(config), notification, signature, async (...request) => {
    requests.push(request);
    return new Response("ok");
  });
  return { failure, init: requests[0]?.[1], headers: new Headers(requests[0]?.[1].headers) };
}

describe("what an answer means", () => {
  const answers: [status: number, verdict: string | undefined][] = [
    [200, undefined],
    [202, undefined],
    [204, undefined],
    [301, "retry"],
    [302, "retry"],
    [304, "retry"],
    [307, "retry"],
    [400, "stop"],
    [401, "stop"],
    [403, "stop"],
    [404, "stop"],
    [405, "stop"],
    [408, "retry"],
    [410, "gone"],
    [413, "stop"],
    [425, "retry"],
    [429, "retry"],
    [499, "stop"],
    [500, "retry"],
    [502, "retry"],
    [503, "retry"],
    [599, "retry"],
  ];
  test.each(answers)("%i: %s", (status, verdict) => {
    expect(failureOf({ status, headers: new Headers() })?.verdict).toBe(verdict);
  });

  const waits: [header: string, ms: number | undefined][] = [
    ["7", 7_000],
    ["0", 0],
    ["Tue, 01 Dec 2026 00:01:00 GMT", 60_000],
    ["Mon, 30 Nov 2026 23:59:00 GMT", 0],
    ["-1", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["", undefined],
  ];
  test.each(waits)("Retry-After: %s is %s ms", (header, ms) => {
    const headers = new Headers({ "Retry-After": header });
    expect(failureOf({ status: 503, headers }, NOW)?.retryAfter).toBe(ms);
    expect(failureOf({ status: 429, headers }, NOW)?.retryAfter).toBe(ms);
  });
});

describe("a POST", () => {
  test("has the body as it is, follows no redirect, and names its event", async () => {
    const { failure, init, headers } = await requestOf({});
    expect(failure).toBeUndefined();
    expect(init).toMatchObject({ method: "POST", redirect: "manual", body: notification.body });
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "application/a2a+json",
      "x-a2a-notification-id": "k-7",
      "x-a2a-notification-seq": "7",
    });
  });

  const headers: [config: Partial<Lease["config"]>, signature: string | undefined, expected: object][] =
    [
      [{ token: "t" }, undefined, { "x-a2a-notification-token": "t" }],
      [
        { authentication: { scheme: "Bearer", credentials: "s" } },
        undefined,
        { authorization: "Bearer s" },
      ],
      [
        { authentication: { scheme: "bearer", credentials: "s" } },
        "jwt",
        { authorization: "bearer s" },
      ],
      [
        { authentication: { scheme: "Basic", credentials: "dTpw" } },
        undefined,
        { authorization: "Basic dTpw" },
      ],
      [{ authentication: { scheme: "Negotiate" } }, "jwt", { authorization: "Negotiate" }],
      [{}, "jwt", { authorization: "Bearer jwt", "x-a2a-notification-signature": "jwt" }],
      [
        { token: "t", authentication: { scheme: "Bearer", credentials: "s" } },
        "jwt",
        {
          authorization: "Bearer s",
          "x-a2a-notification-token": "t",
          "x-a2a-notification-signature": "jwt",
        },
      ],
    ];
  test.each(headers)("%j signed %s has %j [W-03, W-05]", async (config, signature, expected) => {
    const sent = await requestOf(config, signature);
    expect(Object.fromEntries(sent.headers)).toMatchObject(expected);
  });

  test("that fails to connect is tried again, and says nothing of its URL", async () => {
    const failure = await post(lease(), notification, undefined, async () => {
      throw new TypeError("https://example.com/hook?secret=1 refused");
    });
    expect(failure).toEqual({ verdict: "retry", error: "the connection failed" });
  });

  test("reads at most 64 KiB of the answer, and gives up the rest", async () => {
    let pulled = 0;
    let canceled = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(16 * 1024));
        },
        cancel() {
          canceled = true;
        },
      },
      { highWaterMark: 0 },
    );
    expect(
      await post(lease(), notification, undefined, async () => new Response(body)),
    ).toBeUndefined();
    expect(pulled).toBe(4);
    expect(canceled).toBe(true);
  });
});

describe("a receiver that does not answer", () => {
  afterEach(() => vi.restoreAllMocks());

  test("has ten seconds", async () => {
    expect(TIMEOUT_MS).toBe(10_000);
    const timeout = vi.spyOn(AbortSignal, "timeout");
    timeout.mockImplementation((ms) =>
      ms === TIMEOUT_MS ? AbortSignal.abort() : new AbortController().signal,
    );
    const failure = await post(lease(), notification, undefined, async (_, { signal }) => {
      signal?.throwIfAborted();
      return new Response();
    });
    expect(failure).toEqual({ verdict: "retry", error: "no answer within 10 seconds", timedOut: true });
  });
});
