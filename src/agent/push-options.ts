/** What an agent says about its webhooks. */
import * as z from "zod";
import { message } from "../protocol/proto-json.ts";
import type { Duration } from "./duration.ts";
import { duration } from "./limits.ts";

export interface PushOptions {
  /** Hosts that may be called: `example.com`, `*.example.com`, with an optional `:port` and `/path`. Nothing else is. */
  allow: string[];
  /** Most webhooks of one task. Default: 10; 1 to 100. */
  maxConfigs?: number;
  /** What is sent: everything that a stream shows, or only statuses. Default: all. */
  events?: "all" | "status";
  /** How long an event is tried again before its webhook is stopped. Default: 24 hours; 1 minute to 30 days. */
  maxAge?: Duration;
  /**
   * A DNS-over-HTTPS server that speaks JSON, such as `https://cloudflare-dns.com/dns-query`: names that resolve to
   * private addresses are refused then. Default: names are not looked up.
   */
  resolver?: string;
  /** Admits loopback hosts over plain http, for development. Refused when the public URL is https. Default: false. */
  loopback?: boolean;
}

export const PushOptionsSchema = message({
  allow: z.array(z.string()),
  maxConfigs: z.int().min(1).max(100).default(10),
  events: z.enum(["all", "status"]).default("all"),
  maxAge: duration("24 hours").refine(
    (ms) => ms >= 60_000 && ms <= 30 * 24 * 3_600_000,
    "must be 1 minute to 30 days",
  ),
  resolver: z
    .string()
    .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""), "must be an http(s) URL")
    .optional(),
  loopback: z.boolean().default(false),
});

/** The options with their defaults; `maxAge` in ms. */
export type CheckedPush = z.infer<typeof PushOptionsSchema>;
