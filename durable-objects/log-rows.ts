/**
 * How the log of a task lies in SQLite.
 *
 * Table `event`, made with the first row. A row holds the events of one moment: `seq` is the first one's, `count` how
 * many there are, `body` a JSON array of them behind a version (`{"v":1,"events":[…]}`). A body too long for a row goes
 * on in the rows that follow it, which have count 0 and use up a seq each.
 *
 * Table `snapshot`, made when the log is long: the task as it stood at `seq`, and the length of all bodies up to there,
 * in as many rows as the text needs. Written every SNAPSHOT_ROWS rows, so that waking up reads no more than that many
 * and the snapshot.
 *
 * Lifetime: that of the task. Bound: `limits.task`. Trade-off: old rows stay, so that every id a stream has shown can
 * be resumed from; they cost storage alone.
 */
import { byteLength } from "../src/protocol/byte-length.ts";
import { apply, type TaskRecord } from "../src/task/apply.ts";
import { EVENT_VERSION, type TaskEvent } from "../src/task/event.ts";
import type { StoredEvent } from "../src/task/rewind.ts";

/** Longest text in one row, in UTF-16 code units: at most 1.5 MB of the 2 MB a row may have. */
const MAX_ROW_LENGTH = 500_000;
const SNAPSHOT_ROWS = 250;
const SNAPSHOT_VERSION = 1;

type Row = { seq: number; count: number; body: string };
type SnapshotRow = { seq: number; length: number; body: string };

export class LogRows {
  readonly #storage: DurableObjectStorage;
  readonly #tables: Set<string>;
  #seq = 0;
  #length = 0;
  #rowsSinceSnapshot = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    const tables = storage.sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE name IN ('event', 'snapshot')",
    );
    this.#tables = new Set([...tables].map(({ name }) => name));
  }

  /** The last seq in use; 0 when nothing is stored. */
  get seq(): number {
    return this.#seq;
  }

  /** Length of all bodies, in bytes. */
  get length(): number {
    return this.#length;
  }

  /** The task as the rows tell it; undefined when there are none. To be called first, once. */
  wake(): TaskRecord | undefined {
    let record = this.#readSnapshot();
    for (const row of this.#rows(this.#seq)) {
      for (const { event } of decode(row)) {
        const applied = apply(record, event);
        // Only what passed the rules was stored; rules that became stricter must not lose a task.
        if (applied.ok) record = applied.value;
      }
      this.#count(row.pieces, row.last, byteLength(row.body));
    }
    return record;
  }

  /** Writes events of one moment; returns the seq of the first. */
  write(events: readonly TaskEvent[]): number {
    const first = this.#seq + 1;
    const json = JSON.stringify({ v: EVENT_VERSION, events });
    const [body, ...more] = split(json);
    this.#storage.transactionSync(() => {
      const { sql } = this.#storage;
      this.#create("event", "seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, body TEXT NOT NULL");
      sql.exec("INSERT INTO event VALUES (?, ?, ?)", first, events.length, body);
      for (const [index, piece] of more.entries()) {
        sql.exec("INSERT INTO event VALUES (?, 0, ?)", first + events.length + index, piece);
      }
    });
    this.#count(1 + more.length, first + events.length + more.length - 1, byteLength(json));
    return first;
  }

  /** Keeps the task as it stands after the last row, when many rows have come since it was last kept. */
  snapshot(record: TaskRecord): void {
    if (this.#rowsSinceSnapshot < SNAPSHOT_ROWS) return;
    const pieces = split(JSON.stringify({ v: SNAPSHOT_VERSION, record }));
    this.#storage.transactionSync(() => {
      const { sql } = this.#storage;
      this.#create(
        "snapshot",
        "part INTEGER PRIMARY KEY, seq INTEGER NOT NULL, length INTEGER NOT NULL, body TEXT NOT NULL",
      );
      for (const [part, piece] of pieces.entries()) {
        sql.exec(
          "INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?)",
          part,
          this.#seq,
          this.#length,
          piece,
        );
      }
      sql.exec("DELETE FROM snapshot WHERE part >= ?", pieces.length);
    });
    this.#rowsSinceSnapshot = 0;
  }

  /** Forgets that there was a log; its tables are gone. */
  clear(): void {
    this.#tables.clear();
    this.#seq = 0;
    this.#length = 0;
    this.#rowsSinceSnapshot = 0;
  }

  /** The stored events behind `after`, oldest first. */
  *stored(after = 0): Generator<StoredEvent> {
    for (const row of this.#rows(this.#rowOf(after) - 1)) {
      for (const stored of decode(row)) if (stored.seq > after) yield stored;
    }
  }

  #count(rows: number, seq: number, length: number): void {
    this.#rowsSinceSnapshot += rows;
    this.#seq = seq;
    this.#length += length;
  }

  #create(table: string, columns: string): void {
    if (this.#tables.has(table)) return;
    this.#storage.sql.exec(`CREATE TABLE ${table} (${columns})`);
    this.#tables.add(table);
  }

  #readSnapshot(): TaskRecord | undefined {
    if (!this.#tables.has("snapshot")) return undefined;
    const rows = this.#storage.sql
      .exec<SnapshotRow>("SELECT seq, length, body FROM snapshot ORDER BY part")
      .toArray();
    const [first] = rows;
    if (!first) return undefined;
    this.#seq = first.seq;
    this.#length = first.length;
    const { record } = JSON.parse(rows.map(({ body }) => body).join("")) as { record: TaskRecord };
    return record;
  }

  /** The seq of the row that the event is in. */
  #rowOf(seq: number): number {
    if (seq < 1 || !this.#tables.has("event")) return 1;
    const [row] = this.#storage.sql
      .exec<{ seq: number }>(
        "SELECT seq FROM event WHERE seq <= ? AND count > 0 ORDER BY seq DESC LIMIT 1",
        seq,
      )
      .toArray();
    return row?.seq ?? 1;
  }

  /** Rows behind `seq`, put together where a body is in pieces; `last` is the last seq that a row uses. */
  *#rows(seq: number): Generator<Row & { pieces: number; last: number }> {
    if (!this.#tables.has("event")) return;
    const { sql } = this.#storage;
    let row: (Row & { pieces: number; last: number }) | undefined;
    for (const next of sql.exec<Row>(
      "SELECT seq, count, body FROM event WHERE seq > ? ORDER BY seq",
      seq,
    )) {
      if (next.count === 0 && row) {
        row.body += next.body;
        row.pieces += 1;
        row.last = next.seq;
        continue;
      }
      if (row) yield row;
      row = { ...next, pieces: 1, last: next.seq + next.count - 1 };
    }
    if (row) yield row;
  }
}

function* decode({ seq, body }: Row): Generator<StoredEvent> {
  const { events } = JSON.parse(body) as { v: number; events: TaskEvent[] };
  for (const [index, event] of events.entries()) yield { seq: seq + index, event };
}

/** Pieces that fit a row each; never between the halves of a surrogate pair, which UTF-8 could not hold. */
function split(body: string): [string, ...string[]] {
  if (body.length <= MAX_ROW_LENGTH) return [body];
  const last = body.charCodeAt(MAX_ROW_LENGTH - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? MAX_ROW_LENGTH - 1 : MAX_ROW_LENGTH;
  return [body.slice(0, end), ...split(body.slice(end))];
}
