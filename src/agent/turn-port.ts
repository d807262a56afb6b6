import type { Message } from "../protocol/message.ts";
import type { Task } from "../protocol/task.ts";
import type { TaskRecord } from "../task/apply.ts";
import type { ArtifactEvent, TaskEvent } from "../task/event.ts";

/** What a turn needs of the object it runs in. */
export interface TurnPort {
  record(): TaskRecord;
  now(): string;
  /** Appends to the log; throws when the events break the rules, drops them when the task has ended. */
  append(events: TaskEvent[]): void;
  /** Shows a piece of an artifact at once, and stores it soon. */
  chunk(event: ArtifactEvent): void;
  /** Answers with a message instead of a task; false when the task is born already. */
  reply(message: Message): boolean;
  /** Tasks of the caller by id, in that order; those that are not the caller's are left out. */
  tasksById(ids: readonly string[]): Promise<Task[]>;
  /** Tasks of the caller in this task's context, latest first. */
  tasksOfContext(): Promise<Task[]>;
}
