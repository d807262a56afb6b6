/** Tasks, artifacts, and the events of a stream (§4.1.1 to §4.1.3, §4.1.7, §4.2, §3.2.3). */
import * as z from "zod";
import { MAX_ID_LENGTH, Message, Part } from "./message.ts";
import {
  enumeration,
  message,
  oneof,
  optionalList,
  optionalString,
  requiredList,
  requiredString,
  struct,
  timestamp,
} from "./proto-json.ts";

/** The states of a task, in protobuf order; the first stands for none, as a filter may. */
export const AnyTaskState = enumeration([
  "TASK_STATE_UNSPECIFIED",
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED",
]);

export const TaskState = AnyTaskState.refine(
  (state) => state !== "TASK_STATE_UNSPECIFIED",
  "must be a task state",
);
export type TaskState = z.infer<typeof TaskState>;

const TERMINAL: ReadonlySet<TaskState> = new Set<TaskState>([
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_REJECTED",
]);

/** Nothing can change a task in such a state any more. */
export function isTerminal(state: TaskState): boolean {
  return TERMINAL.has(state);
}

/** The agent waits for the client (§3.2.2). */
export function isInterrupted(state: TaskState): boolean {
  return state === "TASK_STATE_INPUT_REQUIRED" || state === "TASK_STATE_AUTH_REQUIRED";
}

export const TaskStatus = message({
  state: TaskState,
  message: Message.optional(),
  timestamp: timestamp.optional(),
});
export type TaskStatus = z.infer<typeof TaskStatus>;

export const Artifact = message({
  artifactId: requiredString(MAX_ID_LENGTH),
  name: optionalString(),
  description: optionalString(),
  parts: requiredList(Part),
  metadata: struct.optional(),
  extensions: optionalList(z.string()),
});
export type Artifact = z.infer<typeof Artifact>;

export const Task = message({
  id: requiredString(MAX_ID_LENGTH),
  contextId: optionalString(MAX_ID_LENGTH),
  status: TaskStatus,
  artifacts: optionalList(Artifact),
  history: optionalList(Message),
  metadata: struct.optional(),
});
export type Task = z.infer<typeof Task>;

export const TaskStatusUpdateEvent = message({
  taskId: requiredString(MAX_ID_LENGTH),
  contextId: requiredString(MAX_ID_LENGTH),
  status: TaskStatus,
  metadata: struct.optional(),
});
export type TaskStatusUpdateEvent = z.infer<typeof TaskStatusUpdateEvent>;

export const TaskArtifactUpdateEvent = message({
  taskId: requiredString(MAX_ID_LENGTH),
  contextId: requiredString(MAX_ID_LENGTH),
  artifact: Artifact,
  append: z.boolean().optional(),
  lastChunk: z.boolean().optional(),
  metadata: struct.optional(),
});
export type TaskArtifactUpdateEvent = z.infer<typeof TaskArtifactUpdateEvent>;

/** One event of a stream or of a webhook: exactly one of its members. */
export const StreamResponse = oneof(
  {
    task: Task.optional(),
    message: Message.optional(),
    statusUpdate: TaskStatusUpdateEvent.optional(),
    artifactUpdate: TaskArtifactUpdateEvent.optional(),
  },
  ["task", "message", "statusUpdate", "artifactUpdate"],
);
export type StreamResponse = z.infer<typeof StreamResponse>;
