/** What the framework itself says of a task: its failures, and that it goes on. Pure. */
import { A2AError, type Reason, type Refusal } from "../protocol/errors.ts";
import { isInterrupted } from "../protocol/task.ts";
import type { TaskRecord } from "./apply.ts";
import type { StatusEvent, TaskEvent } from "./event.ts";

/** What the edge alone may say of a request; from an agent it is an error like any other. */
const EDGE_REASONS: ReadonlySet<Reason> = new Set<Reason>([
  "UNAUTHENTICATED",
  "PARSE_ERROR",
  "INVALID_REQUEST",
  "METHOD_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "PAYLOAD_TOO_LARGE",
  "INTERNAL",
]);

/** The end of a task whose agent threw. Only a deliberate error shows its message; of others the log has the rest. */
export function failureOf(error: unknown, record: TaskRecord, requestId: string): StatusEvent {
  if (A2AError.is(error) && !EDGE_REASONS.has(error.reason)) {
    const { reason, message, fields, metadata } = error;
    return failed(record, message, { reason, message, fields, metadata });
  }
  if (error instanceof Error && error.name === "AnswerTimeoutError")
    return failed(record, error.message);
  return failed(record, `Internal error (request ${requestId})`);
}

/** The framework's own end of a task; its message says why. */
export function failed(record: TaskRecord, text: string, cause?: Refusal): StatusEvent {
  const { id, contextId } = record.task;
  return {
    kind: "status",
    status: {
      state: "TASK_STATE_FAILED",
      timestamp: new Date().toISOString(),
      message: {
        messageId: crypto.randomUUID(),
        taskId: id,
        contextId,
        role: "ROLE_AGENT",
        parts: [{ text }],
      },
    },
    ...(cause && { cause }),
  };
}

/** A wait is over, and the turn goes on. */
export function working(): StatusEvent {
  const status = { state: "TASK_STATE_WORKING", timestamp: new Date().toISOString() } as const;
  return { kind: "status", status, aside: true };
}

/** A message that waited starts its turn; what the last turn asked for is no longer what the task waits for. */
export function nextTurn({ task }: TaskRecord): TaskEvent[] {
  return [...(isInterrupted(task.status.state) ? [working()] : []), { kind: "turn-started" }];
}
