/** Counts the rows that the objects of the Worker write, as Cloudflare bills them. */
import { runInDurableObject } from "cloudflare:test";

/** Statements whose cursors say how many rows they wrote, and alarms, while something is counted. */
interface Count {
  readonly cursors: { readonly rowsWritten: number }[];
  alarms: number;
}

const counts = new Set<Count>();
let watched = false;

/** Rows written by all objects while `work` runs; each alarm that is set or taken back is a row. */
export async function rowsWritten(
  anyObject: DurableObjectStub,
  work: () => Promise<unknown>,
): Promise<number> {
  if (!watched) await runInDurableObject(anyObject, (_, { storage }) => watch(storage));
  watched = true;
  const count: Count = { cursors: [], alarms: 0 };
  counts.add(count);
  try {
    await work();
  } finally {
    counts.delete(count);
  }
  return count.cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, count.alarms);
}

/** Storage of every object has these prototypes. */
function watch(storage: DurableObjectStorage): void {
  const sql = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const { exec } = sql;
  sql.exec = function (this: SqlStorage, ...given: Parameters<typeof exec>) {
    const cursor = exec.apply(this, given);
    for (const { cursors } of counts) cursors.push(cursor);
    return cursor;
  } as typeof exec;
  const alarms = Object.getPrototypeOf(storage) as DurableObjectStorage;
  for (const method of ["setAlarm", "deleteAlarm"] as const) {
    const original = alarms[method] as (...given: unknown[]) => Promise<void>;
    alarms[method] = function (this: DurableObjectStorage, ...given: unknown[]) {
      for (const count of counts) count.alarms += 1;
      return original.apply(this, given);
    } as never;
  }
}
