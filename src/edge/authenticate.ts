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
    c.header("WWW-Authenticate", auth.challenge);
    throw new A2AError("UNAUTHENTICATED", { metadata: { scheme: auth.name } });
  }
  const requested = requestedExtensions(c.req.raw.headers);
  if (requested.length > agent.limits.extensions) {
    throw A2AError.field(EXTENSIONS_HEADER, `names more than ${agent.limits.extensions} extensions`);
  }
  const declared = agent.extensions.map(({ uri }) => uri);
  const idempotencyKey = readIdempotencyKey(c.req.header(IDEMPOTENCY_HEADER));
  const lastEventId = readLastEventId(c.req.header("Last-Event-ID"));
  c.set("caller", {
    scheme: auth.name,
    principal,
    tenant: "",
    extensions: requested.filter((uri) => declared.includes(uri)),
    requestId: c.get("requestId"),
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
