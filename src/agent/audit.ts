/** Who changed what: one record for each call that changes state. Never content, never credentials. */
import type { Caller } from "../protocol/caller.ts";
import type { Reason } from "../protocol/errors.ts";
import type { OperationName } from "../protocol/operations.ts";
import type { TaskState } from "../protocol/task.ts";

/** A call of a caller who was let in: a message, a cancel, or a change of a webhook. */
export interface AuditRecord
  extends Pick<Caller, "scheme" | "issuer" | "principal" | "tenant" | "requestId" | "traceId"> {
  /** When it was answered, in ISO 8601. */
  readonly time: string;
  readonly agent: string;
  readonly operation: OperationName;
  /** The task, once it is certain that it is one; where the id is the key to a task (`open()`), its beginning. */
  readonly task?: string;
  /** The state of the task in the answer. */
  readonly state?: TaskState;
  /** How it was answered: "OK", or why not. */
  readonly outcome: "OK" | Reason;
}

/**
 * Where the records go; `env` has the Worker's bindings. The answer waits for it. An error of it is logged, and changes
 * nothing of the answer.
 */
export type AuditSink = (record: AuditRecord, env: unknown) => void | Promise<void>;

/** The default: a line of JSON with the one member `audit`. */
export const consoleAudit: AuditSink = (record) => {
  console.log(JSON.stringify({ audit: record }));
};

/** A task's id for logs. Who knows the id of a task of an `open()` agent can see it: it is written like a key then. */
export function loggedTaskId(id: string, listsTasks: boolean): string {
  return listsTasks ? id : `${id.slice(0, 8)}…`;
}
