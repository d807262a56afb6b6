/**
 * The event log of one task: the only writer of its state. How it lies in storage is in `log-rows.ts`.
 *
 * Append is one synchronous transaction: check against the rules, store, fold; then the readers are woken. Chunks of a
 * growing artifact are shown at once and stored in groups.
 */
import { loggedTaskId } from "../src/agent/audit.ts";
import type { Agent } from "../src/agent/define-agent.ts";
import { byteLength } from "../src/protocol/byte-length.ts";
import { A2AError, type Refusal, type Result, refuse } from "../src/protocol/errors.ts";
import { isTerminal } from "../src/protocol/task.ts";
import { apply, joinParts, type TaskRecord } from "../src/task/apply.ts";
import type { ArtifactEvent, TaskEvent } from "../src/task/event.ts";
import type { StoredEvent } from "../src/task/rewind.ts";
import { LogRows } from "./log-rows.ts";

/** Chunks are stored when this many bytes of them wait… */
const FLUSH_LENGTH = 64 * 1024;
/** …or after this long, which doubles from flush to flush: a long stream costs few rows. */
const FLUSH_MS = { first: 250, last: 4_000 };

/** An event that became part of the task, and the task after it. `seq` is unset while it is not stored. */
export interface Entry {
  readonly seq: number | undefined;
  readonly event: TaskEvent;
  readonly record: TaskRecord;
}

type Refused = { ok: false; refusal: Refusal };

export class EventLog {
  readonly #rows: LogRows;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #onEntries: (entries: readonly Entry[]) => void;
  readonly #onStored: (events: readonly TaskEvent[], first: number) => void;
  #record: TaskRecord | undefined;
  /** Events of a task that is not born yet: folded, not stored. */
  #held: TaskEvent[] = [];
  /** Chunks that were shown and wait to be stored, one for each artifact that grows. */
  #chunks = new Map<string, ArtifactEvent>();
  #chunkLength = 0;
  #flushMs = FLUSH_MS.first;
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  #birthTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    storage: DurableObjectStorage,
    agents: ReadonlyMap<string, Agent>,
    onEntries: (entries: readonly Entry[]) => void,
    onStored: (events: readonly TaskEvent[], first: number) => void = () => {},
  ) {
    this.#rows = new LogRows(storage);
    this.#agents = agents;
    this.#onEntries = onEntries;
    this.#onStored = onStored;
    this.#record = this.#rows.wake();
  }

  /** The task, or undefined while there is none. Includes chunks that are not stored yet. */
  get record(): TaskRecord | undefined {
    return this.#record;
  }

  /** The seq of the last stored event; 0 when nothing is stored. */
  get seq(): number {
    return this.#rows.seq;
  }

  /**
   * Appends events of one moment, all or none, and wakes the readers. A refusal says which rule they break.
   * A task that has ended takes no more: such events are dropped, and logged. `always` lets an ending in where the
   * limits would not.
   */
  append(events: readonly TaskEvent[], { always = false } = {}): Result<undefined> {
    const entries: Entry[] = [];
    let record = this.#record;
    for (const event of events) {
      const applied = apply(record, event);
      if (!applied.ok) return applied;
      if (applied.value === record) {
        console.warn(
          `task ${loggedTaskId(record.task.id, false)}: dropped a ${event.kind} event after the end of the task`,
        );
        continue;
      }
      record = applied.value;
      entries.push({ seq: undefined, event, record });
    }
    if (entries.length === 0 || !record) return { ok: true, value: undefined };
    const excess = always ? undefined : this.#excess(record, events);
    if (excess) return excess;
    // What was held or shown before goes into the log before, in the same row.
    const born = this.#held;
    const earlier = this.#takeUnstored();
    const first = this.#write([...earlier, ...entries.map(({ event }) => event)]);
    this.#tellBirth(born, first);
    this.#record = record;
    this.#rows.snapshot(record);
    this.#onEntries(entries.map((entry, index) => ({ ...entry, seq: first + earlier.length + index })));
    return { ok: true, value: undefined };
  }

  /** Takes the first events of a task that may never be born; the next append stores them, or `ms` from now. */
  hold(events: readonly TaskEvent[], ms: number): void {
    for (const event of events) {
      const applied = apply(this.#record, event);
      if (!applied.ok) throw A2AError.from(applied.refusal);
      this.#record = applied.value;
    }
    this.#held = [...events];
    this.#birthTimer = setTimeout(() => this.settle(), ms);
  }

  /** Stores what is held: the task is born. */
  settle(): void {
    const born = this.#held;
    if (born.length > 0) this.#tellBirth(born, this.#write(this.#takeUnstored()));
  }

  /** Forgets a task that is not born; false when it is. */
  discard(): boolean {
    if (this.#held.length === 0) return false;
    this.#takeUnstored();
    this.#record = undefined;
    return true;
  }

  /** Shows a chunk of an artifact to the readers at once; it is stored soon, with those that follow it. */
  chunk(event: ArtifactEvent): void {
    if (!this.#record || isTerminal(this.#record.task.status.state)) return;
    const applied = apply(this.#record, event);
    if (!applied.ok) throw A2AError.from(applied.refusal);
    const excess = this.#excess(applied.value, [event]);
    if (excess) throw A2AError.from(excess.refusal);
    this.settle();
    const { artifactId, parts } = event.artifact;
    if (!event.append) {
      // A new stream: what its artifact had before is replaced, not joined.
      if (this.#chunks.has(artifactId)) this.flush();
      this.#flushMs = FLUSH_MS.first;
    }
    this.#record = applied.value;
    const pending = this.#chunks.get(artifactId);
    this.#chunks.set(artifactId, pending ? joinChunks(pending, event) : event);
    this.#chunkLength += byteLength(JSON.stringify(parts));
    let seq: number | undefined;
    if (this.#chunkLength >= FLUSH_LENGTH) {
      this.flush();
      seq = this.#rows.seq;
    } else {
      this.#flushTimer ??= setTimeout(() => this.flush(), this.#flushMs);
    }
    this.#onEntries([{ seq, event, record: applied.value }]);
  }

  /** Stores the chunks that wait. */
  flush(): void {
    const chunks = this.#takeUnstored();
    if (chunks.length === 0) return;
    this.#flushMs = Math.min(this.#flushMs * 2, FLUSH_MS.last);
    this.#write(chunks);
    if (this.#record) this.#rows.snapshot(this.#record);
  }

  /** Forgets the task, whose tables are gone. */
  clear(): void {
    this.#takeUnstored();
    this.#record = undefined;
    this.#rows.clear();
  }

  /** The stored events behind `after`, oldest first. */
  stored(after = 0): Iterable<StoredEvent> {
    return this.#rows.stored(after);
  }

  #write(events: readonly TaskEvent[]): number {
    const first = this.#rows.write(events);
    this.#onStored(events, first);
    return first;
  }

  /** Why the events are more than the task may have, if they are. */
  #excess(record: TaskRecord, events: readonly TaskEvent[]): Refused | undefined {
    const limits = this.#agents.get(record.agentId)?.limits;
    if (!limits) return undefined;
    const lengths = events.map((event) => byteLength(JSON.stringify(event)));
    const total =
      this.#rows.length + this.#chunkLength + lengths.reduce((sum, length) => sum + length, 0);
    if (events.some(({ kind }) => kind === "message")) {
      return total > limits.task ? taskIsFull(limits.task) : undefined;
    }
    if (record.task.artifacts.length > limits.artifacts) return tooMuch("artifacts", limits.artifacts);
    // A result of a step has been measured by itself.
    const published = lengths.filter((_, index) => events[index]?.kind !== "outcome");
    if (published.some((length) => length > limits.event)) return tooMuch("event", limits.event);
    return total > limits.task ? tooMuch("task", limits.task) : undefined;
  }

  #tellBirth(held: readonly TaskEvent[], first: number): void {
    const record = this.#record;
    if (held.length === 0 || !record) return;
    this.#onEntries(held.map((event, index) => ({ seq: first + index, event, record })));
  }

  #takeUnstored(): TaskEvent[] {
    if (this.#flushTimer) clearTimeout(this.#flushTimer);
    if (this.#birthTimer) clearTimeout(this.#birthTimer);
    this.#flushTimer = undefined;
    this.#birthTimer = undefined;
    const events = [...this.#held, ...this.#chunks.values()];
    this.#held = [];
    this.#chunks.clear();
    this.#chunkLength = 0;
    return events;
  }
}

function taskIsFull(bound: number): Refused {
  const description = `does not fit the task, which has at most ${bound} bytes in JSON`;
  return refuse("INVALID_PARAMS", {
    message: `Invalid parameters: message: ${description}`,
    fields: [{ field: "message", description }],
  });
}

function tooMuch(limit: "artifacts" | "event" | "task", bound: number): Refused {
  const what = {
    artifacts: `a task has at most ${bound} artifacts`,
    event: `an event has at most ${bound} bytes in JSON`,
    task: `a task has at most ${bound} bytes in JSON`,
  }[limit];
  return refuse("INVALID_AGENT_RESPONSE", {
    message: `Invalid agent response: ${what}`,
    fields: [{ field: `limits.${limit}`, description: what }],
  });
}

function joinChunks(first: ArtifactEvent, next: ArtifactEvent): ArtifactEvent {
  const parts = joinParts(first.artifact.parts, next.artifact.parts);
  return {
    ...first,
    artifact: { ...first.artifact, parts },
    ...(next.lastChunk && { lastChunk: true }),
  };
}
