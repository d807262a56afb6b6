/** How a task takes in a user message. */
import { type Result, refuse } from "../protocol/errors.ts";
import { isTerminal } from "../protocol/task.ts";
import type { TaskRecord } from "./apply.ts";
import type { AcceptedMessage, MessageEvent, TaskEvent } from "./event.ts";

/** The events of a new task: it is created, takes its first message and begins a turn with it. */
export function begin(
  ids: { agentId: string; owner: string; taskId: string },
  input: AcceptedMessage,
  time: string,
): TaskEvent[] {
  const contextId = input.message.contextId ?? crypto.randomUUID();
  return [
    { kind: "created", ...ids, contextId, ...(input.idempotency && { named: true }) },
    messageEvent({ id: ids.taskId, contextId }, input, time),
    { kind: "turn-started" },
  ];
}

/**
 * The events of a further message: it starts a turn, answers the question of the one in progress, or waits for that
 * to end. Refused when the message names another context (§3.4.3) or the task has ended (§3.1.1).
 */
export function proceed(record: TaskRecord, input: AcceptedMessage, time: string): Result<TaskEvent[]> {
  const { task, turn } = record;
  const { contextId } = input.message;
  if (contextId !== undefined && contextId !== task.contextId) {
    const description = "is not the context of the task";
    return refuse("INVALID_PARAMS", {
      message: `Invalid parameters: message.contextId: ${description}`,
      fields: [{ field: "message.contextId", description }],
    });
  }
  if (isTerminal(task.status.state)) {
    return refuse("UNSUPPORTED_OPERATION", {
      message: `The task has ended (${task.status.state}) and takes no more messages`,
      metadata: { taskId: task.id },
    });
  }
  const message = messageEvent(task, input, time);
  if (!turn) return { ok: true, value: [message, { kind: "turn-started" }] };
  return { ok: true, value: [turn.asked ? { ...message, answers: turn.asked.call } : message] };
}

function messageEvent(
  task: { id: string; contextId: string },
  { message, ...rest }: AcceptedMessage,
  time: string,
): MessageEvent {
  return {
    kind: "message",
    ...rest,
    message: { ...message, taskId: task.id, contextId: task.contextId },
    time,
  };
}
