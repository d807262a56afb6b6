/** The bounds of what callers may send and agents may publish. */
import * as z from "zod";
import { message } from "../protocol/proto-json.ts";
import { type Duration, toMs } from "./duration.ts";

const MIB = 1024 * 1024;

/** Every limit can be set for an agent (`limits` in its definition); for all agents alike, ids have at most 256 characters, pages 100 tasks, histories 1,000 messages. */
export interface Limits {
  /** Bytes of a request body. Default: 1 MiB. Over it: HTTP 413. */
  bodyBytes: number;
  /** Levels of arrays and objects in a request. Default: 64. */
  jsonDepth: number;
  /** Parts of a user message. Default: 100. */
  parts: number;
  /** Bytes of one `metadata` in JSON. Default: 64 KiB. */
  metadata: number;
  /** Extensions a message or the A2A-Extensions header names. Default: 32. */
  extensions: number;
  /** Artifacts of a task. Default: 1,000. An agent that publishes more fails its task. */
  artifacts: number;
  /** Bytes of one published event in JSON. Default: 1 MiB. */
  event: number;
  /** Bytes of everything stored of a task, in JSON. Default: 64 MiB. An agent that publishes more fails its task, which stays readable. */
  task: number;
  /** Streams open on a task at once. Default: 1,000. Over it: HTTP 429. */
  streams: number;
  /**
   * Tasks of one owner that are in progress at once: neither ended nor waiting for their client. Default: no limit. Over
   * it a message is refused with HTTP 429. Costs one object request for each message, and no rows.
   */
  tasksPerOwner?: number | undefined;
  /**
   * Streams of one owner that are open at once, over all its tasks. Default: no limit. Over it: HTTP 429. Costs two
   * object requests for each stream, and one every 30 to 45 s while it is open.
   */
  streamsPerOwner?: number | undefined;
  /** Pause between the comments that keep an idle stream open. Default: 15 seconds; 1 second to 5 minutes. */
  keepalive: Duration;
  /**
   * How long a task may go on after the client's last message, waiting included. Default: 7 days. Then it FAILS. The
   * clean-up of a canceled task may take as long again.
   */
  taskDeadline: Duration;
  /**
   * How often a turn that was cut off runs again without getting anywhere, and for how long. Default: 5 times and
   * 15 minutes. When both are used up the task FAILS: a few resets in a row, as in a deploy, fail nothing.
   */
  restarts: number;
  stalled: Duration;
}

/** The limits of an agent, with durations in ms. */
export type CheckedLimits = Omit<Limits, "keepalive" | "taskDeadline" | "stalled"> & {
  keepalive: number;
  taskDeadline: number;
  stalled: number;
};

const DEFAULTS: Required<Omit<Limits, "tasksPerOwner" | "streamsPerOwner">> = {
  bodyBytes: MIB,
  jsonDepth: 64,
  parts: 100,
  metadata: 64 * 1024,
  extensions: 32,
  artifacts: 1_000,
  event: MIB,
  task: 64 * MIB,
  streams: 1_000,
  keepalive: "15 seconds",
  taskDeadline: "7 days",
  restarts: 5,
  stalled: "15 minutes",
};

const positive = (fallback: number) => z.int().min(1).default(fallback);

/** A duration, read as ms. */
export function duration(fallback: Duration) {
  return z
    .custom<Duration>((value) => toMs(value) !== undefined, 'must be ms or words such as "3 days"')
    .default(fallback)
    .transform((value) => toMs(value) ?? 0);
}

export const LimitsSchema = message({
  bodyBytes: positive(DEFAULTS.bodyBytes),
  jsonDepth: positive(DEFAULTS.jsonDepth),
  parts: positive(DEFAULTS.parts),
  metadata: positive(DEFAULTS.metadata),
  extensions: positive(DEFAULTS.extensions),
  artifacts: positive(DEFAULTS.artifacts),
  event: positive(DEFAULTS.event),
  task: positive(DEFAULTS.task),
  streams: positive(DEFAULTS.streams),
  tasksPerOwner: z.int().min(1).optional(),
  streamsPerOwner: z.int().min(1).optional(),
  keepalive: duration(DEFAULTS.keepalive).refine(
    (ms) => ms >= 1_000 && ms <= 300_000,
    "must be 1 second to 5 minutes",
  ),
  taskDeadline: duration(DEFAULTS.taskDeadline),
  restarts: positive(DEFAULTS.restarts),
  stalled: duration(DEFAULTS.stalled),
});
