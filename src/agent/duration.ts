import { A2AError } from "../protocol/errors.ts";

const UNITS = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
} as const;

type Unit = keyof typeof UNITS;

/** A length of time: milliseconds, or words such as `"90 seconds"`, `"1 hour"`, `"3 days"`. At most 365 days. */
export type Duration = number | `${number} ${Unit | `${Unit}s`}`;

const MAX_MS = 365 * UNITS.day;

/** The duration in ms; undefined when it is none, or longer than 365 days. */
export function toMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return duration >= 0 && duration <= MAX_MS ? duration : undefined;
  const [, count, unit] = /^(\d+(?:\.\d+)?) (second|minute|hour|day|week)s?$/.exec(`${duration}`) ?? [];
  return unit === undefined ? undefined : toMs(Number(count) * UNITS[unit as Unit]);
}

/** The duration in ms; what is none is an error that names it. */
export function readDuration(duration: Duration, what: string): number {
  const ms = toMs(duration);
  if (ms !== undefined) return ms;
  throw new A2AError("INVALID_AGENT_RESPONSE", {
    message: `Invalid agent response: ${what} is milliseconds or words such as "3 days", at most 365 days`,
  });
}

/** `259200000` as `3 days`. */
export function inWords(ms: number): string {
  const [unit, length] =
    Object.entries(UNITS)
      .reverse()
      .find(([, length]) => ms >= length && ms % length === 0) ?? [];
  if (unit === undefined || length === undefined) return `${ms} ms`;
  const count = ms / length;
  return count === 1 ? `1 ${unit}` : `${count} ${unit}s`;
}
