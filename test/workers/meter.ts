/**
 * Counts what tasks cost: rows written and read, statement by statement, alarms among them, and requests to objects.
 * Summed over all objects of the Worker, which share this isolate.
 */
export interface Reading {
  object: string;
  /** What was done: a statement's first words, or an alarm. */
  statement: string;
  rowsWritten: number;
  rowsRead: number;
}

interface Cursor {
  readonly rowsWritten: number;
  readonly rowsRead: number;
}

interface Entry {
  object: string;
  statement: string;
  cursor: Cursor;
}

// A set alarm, and one taken back, is billed as a written row.
const ALARM: Cursor = { rowsWritten: 1, rowsRead: 0 };

let entries: Entry[] = [];
let requests = 0;

export const meter = {
  reset(): void {
    entries = [];
    requests = 0;
  },
  /** Calls of objects' methods, alarms included. */
  get requests(): number {
    return requests;
  },
  /** Rows by object and statement. A cursor counts its rows as they are read, so this is to be asked at the end. */
  readings(): Reading[] {
    const byKey = new Map<string, Reading>();
    for (const { object, statement, cursor } of entries) {
      const key = `${object} ${statement}`;
      const reading = byKey.get(key) ?? { object, statement, rowsWritten: 0, rowsRead: 0 };
      byKey.set(key, {
        ...reading,
        rowsWritten: reading.rowsWritten + cursor.rowsWritten,
        rowsRead: reading.rowsRead + cursor.rowsRead,
      });
    }
    return [...byKey.values()];
  },
  get rowsWritten(): number {
    return entries.reduce((sum, { cursor }) => sum + cursor.rowsWritten, 0);
  },
  get rowsRead(): number {
    return entries.reduce((sum, { cursor }) => sum + cursor.rowsRead, 0);
  },
};

type ObjectClass = new (ctx: DurableObjectState, env: never) => object;

/** The class, with its storage and its methods counted under `name`. */
export function metered<C extends ObjectClass>(name: string, Class: C): C {
  const Metered = class extends (Class as ObjectClass) {
    constructor(ctx: DurableObjectState, env: never) {
      countStorage(name, ctx.storage);
      super(ctx, env);
    }
  };
  const inherited = Class.prototype as Record<string, unknown>;
  for (const method of Object.getOwnPropertyNames(inherited)) {
    const original = inherited[method];
    if (method === "constructor" || typeof original !== "function") continue;
    Object.defineProperty(Metered.prototype, method, {
      // Tests put failures in its place.
      configurable: true,
      writable: true,
      value(this: object, ...parameters: unknown[]) {
        requests += 1;
        return original.apply(this, parameters);
      },
    });
  }
  return Metered as C;
}

function countStorage(object: string, storage: DurableObjectStorage): void {
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  sql.exec = ((query: string, ...bindings: unknown[]) => {
    const cursor = exec(query, ...(bindings as string[]));
    entries.push({ object, statement: firstWords(query), cursor });
    return cursor;
  }) as typeof sql.exec;
  for (const method of ["setAlarm", "deleteAlarm"] as const) {
    const original = storage[method].bind(storage) as (...parameters: never[]) => Promise<void>;
    storage[method] = ((...parameters: never[]) => {
      entries.push({ object, statement: method, cursor: ALARM });
      return original(...parameters);
    }) as never;
  }
}

/** `INSERT INTO event`, `CREATE TABLE event`, `SELECT … event`. */
function firstWords(query: string): string {
  const [words = query] =
    /^\s*(INSERT( OR REPLACE)? INTO \w+|CREATE (TABLE|INDEX) \w+|DELETE FROM \w+)/.exec(query) ?? [];
  return words === query ? query.replace(/^\s*(\w+)[\s\S]*?FROM (\w+)[\s\S]*$/, "$1 FROM $2") : words;
}
