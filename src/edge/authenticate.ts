/** Who calls: the check that comes before anything else of a request is looked at (§7.4). */
import { createMiddleware } from "hono/factory";
import type { ExchangeEnv } from "../bindings/exchange.ts";
import { A2AError } from "../protocol/errors.ts";
import { EXTENSIONS_HEADER, IDEMPOTENCY_HEADER, requestedExtensions } from "../protocol/version.ts";

/** Builds the caller, or refuses with UNAUTHENTICATED. */
export const authenticate = createMiddleware<ExchangeEnv>(async (c, next) => {
  const { agent } = c.get("ports");
  const { auth } = agent.definition;
  const principal = await auth.authenticate(c.req.raw, c.env);
  if (principal === undefined) {
    const scheme = Object.keys(auth.schemes).join(", ");
    throw new A2AError("UNAUTHENTICATED", { metadata: { scheme } });
  }
  const requested = requestedExtensions(c.req.raw.headers);
  if (requested.length > agent.limits.extensions) {
    throw A2AError.field(EXTENSIONS_HEADER, `names more than ${agent.limits.extensions} extensions`);
  }
  const declared = agent.extensions.map(({ uri }) => uri);
  const idempotencyKey = readIdempotencyKey(c.req.header(IDEMPOTENCY_HEADER));
  const lastEventId = readLastEventId(c.req.header("Last-Event-ID"));
  const { subject, ...rest } = principal;
  const traceId = readTraceId(c.req.header("traceparent"));
  c.set("caller", {
    ...rest,
    principal: subject,
    tenant: "",
    extensions: requested.filter((uri) => declared.includes(uri)),
    requestId: c.get("requestId"),
    ...(traceId !== undefined && { traceId }),
    ...(lastEventId !== undefined && { lastEventId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });
  await next();
});

function readIdempotencyKey(header: string | undefined): string | undefined {
  const key = header?.trim();
  if (key === undefined || /^[\x21-\x7e]{1,256}$/.test(key)) return key;
  throw A2AError.field(IDEMPOTENCY_HEADER, "must be 1 to 256 visible ASCII characters");
}

/** The seq that the header names. What is no id of ours is 0, an event that no task has; absent is another thing. */
function readLastEventId(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  return /^\d{1,15}$/.test(header.trim()) ? Number(header) : 0;
}

/** W3C Trace Context; anything else is no trace. */
function readTraceId(header: string | undefined): string | undefined {
  return /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(header ?? "")?.[1];
}
