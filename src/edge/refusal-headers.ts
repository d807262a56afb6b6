/** What a refusal says in headers of HTTP, in both bindings: which credentials would do, and when to come back. */
import { createMiddleware } from "hono/factory";
import type { ExchangeEnv } from "../bindings/exchange.ts";

/** Seconds after which a caller that was refused for now may try again, where the refusal does not say. */
const RETRY_AFTER_SECONDS = "10";

export const refusalHeaders = createMiddleware<ExchangeEnv>(async (c, next) => {
  await next();
  const refusal = c.get("refusal");
  if (!refusal) return;
  const { reason, metadata } = refusal;
  const { headers } = c.res;
  if (reason === "UNAUTHENTICATED" || (reason === "PERMISSION_DENIED" && metadata.scopes)) {
    const { auth } = c.get("ports").agent.definition;
    const missing = reason === "UNAUTHENTICATED" ? undefined : metadata.scopes?.split(" ");
    for (const challenge of auth.challenges(c.req.raw, missing)) {
      headers.append("WWW-Authenticate", challenge);
    }
  }
  if (reason === "RESOURCE_EXHAUSTED" || reason === "UNAVAILABLE") {
    headers.set("Retry-After", metadata.retryAfter ?? RETRY_AFTER_SECONDS);
  }
});
