/** How often a caller may call: by Cloudflare's rate-limit bindings, whose numbers are in the Worker's configuration. */
import * as z from "zod";
import type { OperationKind } from "../protocol/operations.ts";
import { message } from "../protocol/proto-json.ts";

export interface RateLimit {
  /** Name of the rate-limit binding. Without it in the configuration no request is served. */
  binding: string;
  /** The `period` of the binding in seconds, which callers are told as `Retry-After`. Default: 60. */
  period?: 10 | 60;
}

/**
 * By kind of operation: `send` (a message), `change` (cancel, webhooks), `read`, `subscribe`; `all` counts all of them.
 * Each caller is counted by itself, over all its tenants; callers of `open()` by their address. Over it: HTTP 429.
 * Cloudflare counts at each of its locations, so the number is a bound there, not over the world.
 */
export type RateLimits = { [kind in OperationKind | "all"]?: RateLimit };

const Limit = message({
  binding: z.string().min(1),
  period: z.union([z.literal(10), z.literal(60)]).default(60),
});

export const RateLimitsSchema = z.strictObject({
  all: Limit.optional(),
  send: Limit.optional(),
  change: Limit.optional(),
  read: Limit.optional(),
  subscribe: Limit.optional(),
});
