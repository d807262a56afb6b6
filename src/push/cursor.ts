/** The rules of a cursor: how far a webhook has come in the log of its task, and when it is tried again. */
import type { Message } from "../protocol/message.ts";
import type { Failure, Report } from "./job.ts";

/** How long a lease lasts. Sending stops well before (`consumer.ts`), or it was cut off. */
export const LEASE_MS = 30_000;
const RETRY_MS = { first: 1_000, last: 3_600_000 };

/** Stored beside each push notification config. */
export interface PushCursor {
  agentId: string;
  /** The agent's public URL when the config was made. */
  issuer: string;
  /** Trace of the request that made the config. */
  traceId?: string | undefined;
  /** Random; ids of notifications begin with it. */
  key: string;
  /** The last event that was taken. */
  seq: number;
  /** The task as it stood at `seq` goes first. */
  task?: boolean;
  /** The answer that made no task, instead of a log. */
  message?: Message;
  /** The end of the range that is sent, until all of it was taken. */
  to?: number | undefined;
  lease?: { id: string; until: number } | undefined;
  /** Failures in a row. */
  failures: number;
  /** When the event that comes next was first tried (ms). */
  since?: number | undefined;
  /** Not before (ms). */
  next?: number | undefined;
  /** The last attempt timed out. */
  slow?: boolean;
  /** No more is sent. */
  stopped?: boolean;
  last?: { at: number; status?: number; error?: string };
}

/** When something may be sent next (ms): 0 is now, infinite never. */
export function dueAt({ stopped, lease, next = 0, failures }: PushCursor): number {
  if (stopped) return Number.POSITIVE_INFINITY;
  // A lease that nobody settled: its consumer crashed.
  return lease ? lease.until + (failures === 0 ? 0 : backoff(failures, 0)) : next;
}

/** Takes the range up to `to` for sending. */
export function leased(cursor: PushCursor, to: number, id: string, now: number): PushCursor {
  return {
    ...cursor,
    to,
    since: cursor.since ?? now,
    failures: cursor.failures + (cursor.lease ? 1 : 0),
    lease: { id, until: now + LEASE_MS },
    next: undefined,
  };
}

/** Goes on after a lease; undefined when the receiver wants no more. `maxAge` in ms. */
export function settled(
  cursor: PushCursor,
  { delivered, failure }: Report,
  now: number,
  maxAge: number,
): PushCursor | undefined {
  let after: PushCursor = { ...cursor, lease: undefined };
  if (delivered !== undefined) {
    const { task: _, ...rest } = after;
    const last = { at: now };
    after = { ...rest, seq: delivered, failures: 0, since: undefined, slow: false, last };
    if (delivered === cursor.to) after.to = undefined;
  }
  if (!failure) return after;
  if (failure.verdict === "gone") return undefined;
  const { status, error, timedOut = false } = failure;
  after.failures += 1;
  after.since ??= now;
  after.slow = timedOut;
  after.last = { at: now, error, ...(status !== undefined && { status }) };
  const end = after.since + maxAge;
  if (failure.verdict === "stop" || now >= end) return { ...after, stopped: true };
  return { ...after, next: Math.min(now + pause(after.failures, failure), end) };
}

/** Begins anew with all that was not taken, or with the event `from`. */
export function restarted(cursor: PushCursor, from?: number): PushCursor {
  const { task, stopped: _, next: _next, since: _since, lease: _lease, ...rest } = cursor;
  const fresh = { ...rest, failures: 0, slow: false };
  // Also after a lease in flight: what it delivers may arrive twice.
  if (from === undefined) return task ? { ...fresh, task } : fresh;
  return { ...fresh, seq: from - 1, to: undefined };
}

function pause(failures: number, { retryAfter = 0 }: Failure): number {
  return Math.max(backoff(failures, Math.random()), retryAfter);
}

/** ms before the next try: a second, doubling to an hour, and up to a quarter more. */
export function backoff(failures: number, jitter: number): number {
  return Math.min(RETRY_MS.first * 2 ** (failures - 1), RETRY_MS.last) * (1 + jitter / 4);
}
