/**
 * The event log of one task: the only writer of its state.
 *
 * Layout: one table, made with the first append. A row holds the events of one moment: `seq` is the first
 * one's, `count` how many there are, `body` a JSON array of them behind a version (`{"v":1,"events":[…]}`).
 * A body too long for a row goes on in the rows that follow it, which have count 0 and use up a seq each.
 * Lifetime: that of the task. Bound: what the agent publishes; chunks of a growing artifact are grouped.
 * Trade-off: waking up reads the whole log, so that nothing needs to be written twice.
 */
import { A2AError, type Result } from "../src/protocol/errors.ts";
import { isTerminal } from "../src/protocol/task.ts";
import { apply, joinParts, type TaskRecord } from "../src/task/apply.ts";
import { type ArtifactEvent, EVENT_VERSION, type TaskEvent } from "../src/task/event.ts";
import type { StoredEvent } from "../src/task/rewind.ts";

/** Longest piece of a body in one row, in UTF-16 code units: at most 1.5 MB of the 2 MB a row may have. */
const MAX_ROW_LENGTH = 500_000;

/** Chunks are stored when this much of them waits, in UTF-16 code units… */
const FLUSH_LENGTH = 64 * 1024;
/** …or after this long, which doubles from flush to flush: a long stream costs few rows. */
const FLUSH_MS = { first: 250, last: 4_000 };

/** An event that became part of the task, and the task after it. `seq` is unset while it is not stored. */
export interface Entry {
  readonly seq: number | undefined;
  readonly event: TaskEvent;
  readonly record: TaskRecord;
}

type Row = { seq: number; count: number; body: string };

export class EventLog {
  readonly #storage: DurableObjectStorage;
  readonly #onEntries: (entries: readonly Entry[]) => void;
  #record: TaskRecord | undefined;
  #seq = 0;
  /** Events of a task that is not born yet: folded, not stored. */
  #held: TaskEvent[] = [];
  /** Chunks that were shown and wait to be stored, one for each artifact that grows. */
  #chunks = new Map<string, ArtifactEvent>();
  #chunkLength = 0;
  #flushMs = FLUSH_MS.first;
  #flushTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(storage: DurableObjectStorage, onEntries: (entries: readonly Entry[]) => void) {
    this.#storage = storage;
    this.#onEntries = onEntries;
    for (const { event } of this.stored()) {
      const applied = apply(this.#record, event);
      // Only what passed the rules was stored; rules that became stricter must not lose a task.
      if (applied.ok) this.#record = applied.value;
    }
    if (this.#record) {
      const last = storage.sql
        .exec<Row>("SELECT seq, count FROM event ORDER BY seq DESC LIMIT 1")
        .one();
      this.#seq = last.seq + Math.max(last.count, 1) - 1;
    }
  }

  /** The task, or undefined while there is none. Includes chunks that are not stored yet. */
  get record(): TaskRecord | undefined {
    return this.#record;
  }

  /** The seq of the last stored event; 0 when nothing is stored. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * Appends events of one moment, all or none, and wakes the readers. A refusal says which rule they break.
   * A task that has ended takes no more: such events are dropped, and logged.
   */
  append(events: readonly TaskEvent[]): Result<undefined> {
    const entries: Entry[] = [];
    let record = this.#record;
    for (const event of events) {
      const applied = apply(record, event);
      if (!applied.ok) return applied;
      if (applied.value === record) {
        console.warn(`task ${record.task.id}: dropped a ${event.kind} event after the end of the task`);
        continue;
      }
      record = applied.value;
      entries.push({ seq: undefined, event, record });
    }
    if (entries.length === 0) return { ok: true, value: undefined };
    // What was held or shown before goes into the log before, in the same row.
    const born = this.#held;
    const earlier = this.#takeUnstored();
    const first = this.#store([...earlier, ...entries.map(({ event }) => event)]);
    this.#tellBirth(born, first);
    this.#record = record;
    this.#onEntries(entries.map((entry, index) => ({ ...entry, seq: first + earlier.length + index })));
    return { ok: true, value: undefined };
  }

  /** Takes the first events of a task that may never be born; the next append or `settle` stores them. */
  hold(events: readonly TaskEvent[]): void {
    for (const event of events) {
      const applied = apply(this.#record, event);
      if (!applied.ok) throw A2AError.from(applied.refusal);
      this.#record = applied.value;
    }
    this.#held = [...events];
  }

  /** Stores what is held: the task is born. */
  settle(): void {
    const born = this.#held;
    if (born.length > 0) this.#tellBirth(born, this.#store(this.#takeUnstored()));
  }

  /** Forgets a task that is not born; false when it is. */
  discard(): boolean {
    if (this.#held.length === 0) return false;
    this.#held = [];
    this.#record = undefined;
    return true;
  }

  /** Shows a chunk of an artifact to the readers at once; it is stored soon, with those that follow it. */
  chunk(event: ArtifactEvent): void {
    if (!this.#record || isTerminal(this.#record.task.status.state)) return;
    const applied = apply(this.#record, event);
    if (!applied.ok) throw A2AError.from(applied.refusal);
    this.settle();
    this.#record = applied.value;
    const { artifactId, parts } = event.artifact;
    if (!event.append) {
      // A new stream: what its artifact had before is replaced, not joined.
      if (this.#chunks.has(artifactId)) this.flush();
      this.#flushMs = FLUSH_MS.first;
    }
    const pending = this.#chunks.get(artifactId);
    this.#chunks.set(artifactId, pending ? joinChunks(pending, event) : event);
    this.#chunkLength += JSON.stringify(parts).length;
    let seq: number | undefined;
    if (this.#chunkLength >= FLUSH_LENGTH) {
      this.flush();
      seq = this.#seq;
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
    this.#store(chunks);
  }

  /** The stored events, oldest first. */
  *stored(): Generator<StoredEvent> {
    const { sql } = this.#storage;
    const tables = sql.exec("SELECT name FROM sqlite_master WHERE name = 'event'").toArray();
    if (tables.length === 0) return;
    let row: Row | undefined;
    for (const next of sql.exec<Row>("SELECT seq, count, body FROM event ORDER BY seq")) {
      if (next.count === 0 && row) {
        row.body += next.body;
        continue;
      }
      if (row) yield* decode(row);
      row = { ...next };
    }
    if (row) yield* decode(row);
  }

  #tellBirth(held: readonly TaskEvent[], first: number): void {
    const record = this.#record;
    if (held.length === 0 || !record) return;
    this.#onEntries(held.map((event, index) => ({ seq: first + index, event, record })));
  }

  #takeUnstored(): TaskEvent[] {
    if (this.#flushTimer) clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    const events = [...this.#held, ...this.#chunks.values()];
    this.#held = [];
    this.#chunks.clear();
    this.#chunkLength = 0;
    return events;
  }

  /** Writes one row, or as many as the body needs; returns the seq of the first event. */
  #store(events: readonly TaskEvent[]): number {
    const first = this.#seq + 1;
    const [body, ...more] = split(JSON.stringify({ v: EVENT_VERSION, events }));
    this.#storage.transactionSync(() => {
      const { sql } = this.#storage;
      if (this.#seq === 0) {
        sql.exec(
          "CREATE TABLE event (seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, body TEXT NOT NULL)",
        );
      }
      sql.exec("INSERT INTO event VALUES (?, ?, ?)", first, events.length, body);
      for (const [index, piece] of more.entries()) {
        sql.exec("INSERT INTO event VALUES (?, 0, ?)", first + events.length + index, piece);
      }
    });
    this.#seq = first + events.length + more.length - 1;
    return first;
  }
}

function* decode({ seq, body }: Row): Generator<StoredEvent> {
  const { events } = JSON.parse(body) as { v: number; events: TaskEvent[] };
  for (const [index, event] of events.entries()) yield { seq: seq + index, event };
}

function joinChunks(first: ArtifactEvent, next: ArtifactEvent): ArtifactEvent {
  const parts = joinParts(first.artifact.parts, next.artifact.parts);
  return {
    ...first,
    artifact: { ...first.artifact, parts },
    ...(next.lastChunk && { lastChunk: true }),
  };
}

/** Pieces that fit a row each; never between the halves of a surrogate pair, which UTF-8 could not hold. */
function split(body: string): [string, ...string[]] {
  if (body.length <= MAX_ROW_LENGTH) return [body];
  const last = body.charCodeAt(MAX_ROW_LENGTH - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? MAX_ROW_LENGTH - 1 : MAX_ROW_LENGTH;
  return [body.slice(0, end), ...split(body.slice(end))];
}
