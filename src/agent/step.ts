/** One try of a step: its `fn`, its time limit, and what its end means. */
import { type Duration, readDuration } from "./duration.ts";
import { insideStep } from "./step-scope.ts";

export interface StepOptions {
  /** How often a failed step is tried again. Default: 2, which makes three tries. */
  retries?: number;
  /** Longest time of one try; its signal aborts then, and the try has failed. Default: 10 minutes. */
  timeout?: Duration;
  /** Pauses between tries: `first` (default 1 second), then `factor` (2) times as long each, up to `max` (5 minutes); half of each is random. */
  backoff?: { first?: Duration; factor?: number; max?: Duration };
}

export interface StepContext {
  /** Aborts on the time limit, on CancelTask and on the task's deadline. */
  signal: AbortSignal;
  /** The try, from 1; counts on when the turn runs again. */
  attempt: number;
}

/** Work of a step; what it gives is JSON of at most 1 MiB (`limits.event`), or undefined. */
export type StepWork<T> = (context: StepContext) => T | Promise<T>;

/** A value, or an error; `final`: it is not tried again. */
type Try<T> = { value: T } | { error: unknown; final: boolean };

/** Runs the `fn` once. */
export async function runStep<T>(
  name: string,
  fn: StepWork<T>,
  { timeout = "10 minutes" }: StepOptions,
  { signal, attempt }: StepContext,
): Promise<Try<T>> {
  const limit = new AbortController();
  const ms = readDuration(timeout, `turn.step("${name}"): timeout`);
  const timer = setTimeout(
    () => limit.abort(namedError("TimeoutError", `The step "${name}" took longer than ${ms} ms`)),
    ms,
  );
  const both = AbortSignal.any([signal, limit.signal]);
  const aborted = new Promise<never>((_, reject) => {
    both.addEventListener("abort", () => reject(both.reason), { once: true });
  });
  try {
    const work = (async () => insideStep(name, () => fn({ signal: both, attempt })))();
    return { value: await Promise.race([work, aborted]) };
  } catch (error) {
    return { error, final: isNonRetryable(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** How long to wait after `tries` failed ones, in ms. */
export function backoffOf(tries: number, { backoff = {} }: StepOptions): number {
  const { first = "1 second", factor = 2, max = "5 minutes" } = backoff;
  const length = readDuration(first, "backoff.first") * factor ** (tries - 1);
  return Math.min(length, readDuration(max, "backoff.max")) * (0.5 + Math.random() / 2);
}

/** By its name: there may be several copies of the class, Cloudflare Workflows' own among them. */
function isNonRetryable(error: unknown): boolean {
  return error instanceof Error && error.name === "NonRetryableError";
}

function namedError(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
