import { describe, expect, test } from "vitest";
import {
  backoff,
  dueAt,
  LEASE_MS,
  leased,
  type PushCursor,
  restarted,
  settled,
} from "../../src/push/cursor.ts";
import type { Failure } from "../../src/push/job.ts";

const NOW = 1_000_000;
const MAX_AGE = 60_000;
const fresh: PushCursor = { agentId: "a", issuer: "https://a", key: "k", seq: 3, failures: 0 };
const failed: Failure = { verdict: "retry", status: 503, error: "answered 503" };

function goOn(cursor: PushCursor, report: Parameters<typeof settled>[1], now = NOW): PushCursor {
  const after = settled(cursor, report, now, MAX_AGE);
  if (!after) throw new Error("the cursor is gone");
  return after;
}

describe("a cursor that is leased", () => {
  const taken = leased(fresh, 9, "l", NOW);

  test("is due when the lease has ended, not before", () => {
    expect(dueAt(fresh)).toBe(0);
    expect(dueAt(taken)).toBe(NOW + LEASE_MS);
  });

  test("keeps its range until all of it was taken", () => {
    const part = goOn(taken, { delivered: 6 });
    expect(part).toMatchObject({ seq: 6, to: 9, failures: 0 });
    expect(dueAt(part)).toBe(0);
    const all = goOn(leased(part, 9, "m", NOW), { delivered: 9 });
    expect(all).toMatchObject({ seq: 9, failures: 0 });
    expect(all.to).toBeUndefined();
  });

  test("that nobody settled counts as a failure when it is leased anew", () => {
    const again = leased(taken, 9, "m", NOW + LEASE_MS);
    expect(again.failures).toBe(1);
    expect(again.since).toBe(NOW);
    expect(dueAt(again)).toBe(NOW + 2 * LEASE_MS + backoff(1, 0));
  });

  test("with the task first has had it when that was taken", () => {
    const first = leased({ ...fresh, task: true }, 9, "l", NOW);
    expect(goOn(first, { failure: failed }).task).toBe(true);
    const after = goOn(first, { delivered: 3, failure: failed });
    expect(after).toMatchObject({ seq: 3, to: 9, failures: 1 });
    expect(after.task).toBeUndefined();
  });
});

describe("a failure", () => {
  const taken = leased(fresh, 9, "l", NOW);

  test("waits for a second, doubled with each one in a row, with jitter and at most an hour", () => {
    expect([1, 2, 3, 12, 13, 40].map((failures) => backoff(failures, 0))).toEqual([
      1_000, 2_000, 4_000, 2_048_000, 3_600_000, 3_600_000,
    ]);
    expect(backoff(1, 1)).toBe(1_250);
    const { next = 0 } = goOn(taken, { failure: failed });
    expect(next - NOW).toBeGreaterThanOrEqual(1_000);
    expect(next - NOW).toBeLessThanOrEqual(1_250);
  });

  test("waits as long as the receiver asks for, when that is longer, and not past the maximum age", () => {
    expect(goOn(taken, { failure: { ...failed, retryAfter: 30_000 } }).next).toBe(NOW + 30_000);
    expect(goOn(taken, { failure: { ...failed, retryAfter: 10 } }).next).toBeGreaterThanOrEqual(
      NOW + 1_000,
    );
    expect(goOn(taken, { failure: { ...failed, retryAfter: 3_600_000 } }).next).toBe(NOW + MAX_AGE);
  });

  test("counts from one again after something was taken", () => {
    const tired = { ...taken, failures: 7, since: NOW - 50_000 };
    expect(goOn(tired, { delivered: 4, failure: failed })).toMatchObject({
      failures: 1,
      since: NOW,
      seq: 4,
    });
    expect(goOn(tired, { failure: failed })).toMatchObject({
      failures: 8,
      since: NOW - 50_000,
      seq: 3,
    });
  });

  test("stops the webhook when the event has been tried for the maximum age, not a moment before", () => {
    expect(goOn(taken, { failure: failed }, NOW + MAX_AGE - 1).stopped).toBeUndefined();
    const stopped = goOn(taken, { failure: failed }, NOW + MAX_AGE);
    expect(stopped.stopped).toBe(true);
    expect(dueAt(stopped)).toBe(Number.POSITIVE_INFINITY);
  });

  test("for good stops it at once, and keeps what is to be sent; a receiver that is gone ends it", () => {
    const stopped = goOn(taken, { failure: { verdict: "stop", status: 404, error: "answered 404" } });
    expect(stopped).toMatchObject({ stopped: true, seq: 3, to: 9, last: { status: 404 } });
    expect(settled(taken, { failure: { verdict: "gone", error: "" } }, NOW, MAX_AGE)).toBeUndefined();
  });

  test("by time-out marks it as slow, until it takes something", () => {
    const slow = goOn(taken, { failure: { verdict: "retry", error: "", timedOut: true } });
    expect(slow.slow).toBe(true);
    expect(goOn(leased(slow, 9, "m", NOW), { delivered: 9 }).slow).toBe(false);
    expect(goOn(leased(slow, 9, "m", NOW), { failure: failed }).slow).toBe(false);
  });
});

describe("a restart", () => {
  const stopped: PushCursor = {
    ...leased({ ...fresh, task: true }, 9, "l", NOW),
    stopped: true,
    next: NOW + 5,
    failures: 4,
    slow: true,
  };

  test("goes on with what was not taken, the same range", () => {
    const after = restarted(stopped);
    expect(after).toMatchObject({ seq: 3, to: 9, task: true, failures: 0, slow: false });
    expect(dueAt(after)).toBe(0);
    expect(after.lease).toBeUndefined();
    expect(after.since).toBeUndefined();
  });

  test("from an event on forgets the range, and the task that was to go first", () => {
    const after = restarted(stopped, 2);
    expect(after).toMatchObject({ seq: 1, failures: 0 });
    expect(after.to).toBeUndefined();
    expect(after.task).toBeUndefined();
  });
});
