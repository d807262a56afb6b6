/**
 * What an owner has under way, for the limits `tasksPerOwner` and `streamsPerOwner`: a part of the owner's index.
 *
 * In memory only, so that it costs no rows. Which tasks work is read from the index when it is first asked, and kept by
 * its updates. A task is counted from before its message is taken in, so that many at once do not slip through; a task
 * that the index then hears nothing of for RESERVED_MS was never born. A stream is counted while the Worker that sends
 * it says so, at least every HELD_MS.
 *
 * Exact while the index stays in memory. When it was away, tasks that were let in and not heard of, and streams until
 * they are next heard of, are missing: more may be let in for less than a minute. Bound: the limits.
 */
import type { AdmitRequest } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import { isInterrupted, isTerminal, type TaskState } from "../src/protocol/task.ts";

const RESERVED_MS = 30_000;
const HELD_MS = 75_000;

export class OwnerCounts {
  readonly #readWorking: () => Iterable<string>;
  readonly #readState: (id: string) => TaskState | undefined;
  /** Tasks that work, as the index has them; unset until it is asked. */
  #working: Set<string> | undefined;
  /** Tasks that were let in and are not in the index yet, with the time until which they count. */
  readonly #reserved = new Map<string, number>();
  /** Open streams, with the time until which they count. */
  readonly #streams = new Map<string, number>();

  constructor(readWorking: () => Iterable<string>, readState: (id: string) => TaskState | undefined) {
    this.#readWorking = readWorking;
    this.#readState = readState;
  }

  /** Counts a task and a stream, both or none; refused with RESOURCE_EXHAUSTED when one is too many. */
  admit({ task, stream }: AdmitRequest): Result<undefined> {
    if (stream && live(this.#streams) >= stream.limit) {
      return tooMany("streamsPerOwner", `you have ${stream.limit} streams open, and may have no more`);
    }
    if (task && this.#isMore(task.id)) {
      if (this.#workingNow().size + live(this.#reserved) >= task.limit) {
        return tooMany(
          "tasksPerOwner",
          `you have ${task.limit} tasks in progress, and may have no more`,
        );
      }
      this.#reserved.set(task.id, Date.now() + RESERVED_MS);
    }
    if (stream) this.hold(stream.id);
    return { ok: true, value: undefined };
  }

  /** The stream is still open. */
  hold(stream: string): void {
    this.#streams.set(stream, Date.now() + HELD_MS);
  }

  /** Streams that ended, and tasks that were let in and came to nothing. */
  release(ids: readonly string[]): void {
    for (const id of ids) {
      this.#streams.delete(id);
      this.#reserved.delete(id);
    }
  }

  /** The index heard of a task. */
  tell(id: string, state: TaskState): void {
    this.#reserved.delete(id);
    if (works(state)) this.#working?.add(id);
    else this.#working?.delete(id);
  }

  /** A task was deleted. */
  forget(id: string): void {
    this.#reserved.delete(id);
    this.#working?.delete(id);
  }

  /** All tasks were deleted. */
  forgetAll(): void {
    this.#reserved.clear();
    this.#working?.clear();
  }

  /** Whether the task would be one more: it is not counted yet, and has not ended. */
  #isMore(id: string): boolean {
    if (this.#workingNow().has(id) || this.#reserved.has(id)) return false;
    const state = this.#readState(id);
    return state === undefined || !isTerminal(state);
  }

  #workingNow(): Set<string> {
    this.#working ??= new Set(this.#readWorking());
    return this.#working;
  }
}

/** A task that waits for its client costs nothing, however long it waits. */
function works(state: TaskState): boolean {
  return !isTerminal(state) && !isInterrupted(state);
}

/** How many still count. */
function live(counted: Map<string, number>): number {
  const now = Date.now();
  for (const [id, until] of counted) if (until < now) counted.delete(id);
  return counted.size;
}

function tooMany(limit: string, what: string): Result<undefined> {
  return refuse("RESOURCE_EXHAUSTED", {
    message: `Too many requests: ${what}`,
    metadata: { limit },
  });
}
