/**
 * What remains in an object that has no task any more, or never had one.
 *
 * Layout: table `remains` with one row of JSON: a tombstone while a task is being deleted, and after that where its
 * object is named by an Idempotency-Key, so that a late retry makes no second task; or the Message that answered a
 * request with such a key. Lifetime: KEPT_MS, then the object holds nothing. Bound: one row.
 */
import type { Message } from "../src/protocol/message.ts";
import type { Idempotency } from "../src/task/event.ts";

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** A task that was deleted; `listed`: its row in the index may still be there. */
export interface Tombstone {
  kind: "tombstone";
  agentId: string;
  owner: string;
  taskId: string;
  named: boolean;
  listed: boolean;
}

export interface StoredReply {
  kind: "reply";
  message: Message;
  idempotency: Idempotency;
}

type Remnant = (Tombstone | StoredReply) & {
  /** ms. */
  until: number;
};

export class Remains {
  readonly #storage: DurableObjectStorage;
  #remnant: Remnant | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    const { sql } = storage;
    const exists =
      sql.exec("SELECT name FROM sqlite_master WHERE name = 'remains'").toArray().length > 0;
    if (!exists) return;
    const [row] = sql.exec<{ body: string }>("SELECT body FROM remains").toArray();
    this.#remnant = row && (JSON.parse(row.body) as Remnant);
  }

  get value(): Remnant | undefined {
    return this.#remnant;
  }

  /** Puts this in the place of all the object holds, in one transaction. */
  leave(value: Tombstone | StoredReply): void {
    const { sql } = this.#storage;
    const remnant = { ...value, until: this.#remnant?.until ?? Date.now() + KEPT_MS };
    this.#storage.transactionSync(() => {
      for (const table of ["event", "snapshot", "push", "remains"])
        sql.exec(`DROP TABLE IF EXISTS ${table}`);
      sql.exec("CREATE TABLE remains (body TEXT NOT NULL)");
      sql.exec("INSERT INTO remains VALUES (?)", JSON.stringify(remnant));
    });
    this.#remnant = remnant;
  }

  /** Empties the object, its alarm included. */
  async clear(): Promise<void> {
    this.#remnant = undefined;
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }
}
