/** What a webhook is sent of a log. The same range gives the same notifications, whenever it is read. */
import type { StreamResponse } from "../protocol/task.ts";
import { joinParts } from "../task/apply.ts";
import { type ArtifactEvent, type TaskEvent, toStreamResponse } from "../task/event.ts";
import type { StoredEvent } from "../task/rewind.ts";

/** Most that is sent under one lease: it must fit its time, and one answer of an object. */
const MAX_NOTIFICATIONS = 100;
const MAX_LENGTH = 1024 * 1024;
/** Longest update that chunks are merged into, in UTF-16 code units of JSON. */
const MAX_MERGED_LENGTH = 256 * 1024;

export interface Range {
  /** The seq of the last one. */
  to: number;
  responses: { seq: number; response: StreamResponse }[];
}

/** Whether a webhook is sent this event. */
export function isSent(event: TaskEvent, which: "all" | "status"): boolean {
  return (
    event.kind === "message" ||
    event.kind === "status" ||
    (event.kind === "artifact" && which === "all")
  );
}

/** The next events, up to `to` when it is given, else as many as go at once. Adjacent chunks are merged. */
export function readRange(
  stored: Iterable<StoredEvent>,
  ids: { taskId: string; contextId: string },
  which: "all" | "status",
  to?: number,
): Range | undefined {
  const events: StoredEvent[] = [];
  let length = 0;
  for (const { seq, event } of stored) {
    if (to !== undefined ? seq > to : events.length >= MAX_NOTIFICATIONS || length >= MAX_LENGTH) break;
    if (!isSent(event, which)) continue;
    length += JSON.stringify(event).length;
    const merged = merge(events.at(-1)?.event, event);
    if (merged) events[events.length - 1] = { seq, event: merged };
    else events.push({ seq, event });
  }
  const responses = events.flatMap(({ seq, event }) => {
    const response = toStreamResponse(event, ids);
    return response ? [{ seq, response }] : [];
  });
  const last = responses.at(-1);
  return last && { to: last.seq, responses };
}

/** Two updates of one artifact as one, when the second only adds parts. */
function merge(first: TaskEvent | undefined, next: TaskEvent): ArtifactEvent | undefined {
  if (first?.kind !== "artifact" || next.kind !== "artifact" || !next.append) return undefined;
  const { parts, ...described } = next.artifact;
  const known: object = first.artifact;
  const addsOnlyParts = Object.entries({ ...described, metadata: undefined }).every(
    ([name, value]) =>
      value === undefined || JSON.stringify(value) === JSON.stringify(known[name as never]),
  );
  if (!addsOnlyParts || next.metadata || described.metadata) return undefined;
  if (first.lastChunk || JSON.stringify([first, next]).length > MAX_MERGED_LENGTH) return undefined;
  const joined = next.chunk
    ? joinParts(first.artifact.parts, parts)
    : [...first.artifact.parts, ...parts];
  return {
    ...first,
    artifact: { ...first.artifact, parts: joined },
    ...(next.lastChunk && { lastChunk: true }),
  };
}
