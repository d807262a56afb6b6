/** One POST to a webhook, and what its answer means. */
import type { Failure, Lease, Notification } from "./job.ts";

/** Time for an answer, its body included. */
export const TIMEOUT_MS = 10_000;
/** Most of an answer that is read, in bytes. */
const MAX_ANSWER = 64 * 1024;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Sends it; undefined when it was taken. `signature` is a JWT. Redirects are not followed (§13.2). */
export async function post(
  lease: Lease,
  notification: Notification,
  signature: string | undefined,
  fetcher: Fetch = fetch,
): Promise<Failure | undefined> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetcher(lease.config.url, {
      method: "POST",
      headers: headersOf(lease, notification, signature),
      body: notification.body,
      redirect: "manual",
      signal,
    });
    await drain(response);
    return failureOf(response);
  } catch {
    // What the platform says of it may hold the URL, and with it secrets.
    return signal.aborted
      ? { verdict: "retry", error: `no answer within ${TIMEOUT_MS / 1000} seconds`, timedOut: true }
      : { verdict: "retry", error: "the connection failed" };
  }
}

/** What the answer means (§4.3.3, §13.2); undefined when the notification was taken. */
export function failureOf(
  { status, headers }: Pick<Response, "status" | "headers">,
  now = Date.now(),
): Failure | undefined {
  if (status >= 200 && status < 300) return undefined;
  const error = status >= 300 && status < 400 ? `redirected (${status})` : `answered ${status}`;
  if (status === 410) return { verdict: "gone", status, error };
  const lasting = status >= 400 && status < 500 && ![408, 425, 429].includes(status);
  if (lasting) return { verdict: "stop", status, error };
  const retryAfter = readRetryAfter(headers.get("Retry-After"), now);
  return { verdict: "retry", status, error, ...(retryAfter !== undefined && { retryAfter }) };
}

/** ms to wait: the header has seconds, or a date. */
function readRetryAfter(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function headersOf(
  { config, traceId }: Lease,
  { id, seq }: Notification,
  signature: string | undefined,
): Headers {
  const { token, authentication } = config;
  const headers = new Headers({
    "Content-Type": "application/a2a+json",
    "X-A2A-Notification-Id": id,
    "X-A2A-Notification-Seq": String(seq),
  });
  if (token !== undefined) headers.set("X-A2A-Notification-Token", token);
  if (signature !== undefined) headers.set("X-A2A-Notification-Signature", signature);
  if (authentication) {
    const { scheme, credentials } = authentication;
    headers.set("Authorization", credentials === undefined ? scheme : `${scheme} ${credentials}`);
  } else if (signature !== undefined) {
    headers.set("Authorization", `Bearer ${signature}`);
  }
  if (traceId !== undefined) headers.set("traceparent", `00-${traceId}-${randomHex(8)}-01`);
  return headers;
}

function randomHex(bytes: number): string {
  return [...crypto.getRandomValues(new Uint8Array(bytes))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** Reads the answer to its end, so that the connection can be used again, or gives it up. */
async function drain({ body }: Response): Promise<void> {
  if (!body) return;
  const reader = body.getReader();
  for (let read = 0; read < MAX_ANSWER; ) {
    const { done, value } = await reader.read();
    if (done) return;
    read += value.byteLength;
  }
  await reader.cancel();
}
