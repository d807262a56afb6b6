/** A stored log, cut in two: the task as it stood at one event, and what came after. */
import { apply, type TaskRecord } from "./apply.ts";
import type { TaskEvent } from "./event.ts";

export interface StoredEvent {
  readonly seq: number;
  readonly event: TaskEvent;
}

/** `record` is undefined when the log has nothing up to `seq`. */
export function rewind(
  log: Iterable<StoredEvent>,
  seq: number,
): { record: TaskRecord | undefined; later: StoredEvent[] } {
  let record: TaskRecord | undefined;
  const later: StoredEvent[] = [];
  for (const stored of log) {
    if (stored.seq > seq) {
      later.push(stored);
      continue;
    }
    const applied = apply(record, stored.event);
    if (applied.ok) record = applied.value;
  }
  return { record, later };
}
