import type { Message } from "../protocol/message.ts";
import type { Task } from "../protocol/task.ts";
import type { TaskRecord } from "../task/apply.ts";
import type { ArtifactEvent, DurableCall, TaskEvent } from "../task/event.ts";
import type { Journal, Outcome } from "../task/journal.ts";

/** What a turn needs of the object it runs in. */
export interface TurnPort {
  /** What the turn left behind when it ran before. */
  readonly journal: Journal;
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
  /** What came of a durable call of this turn, in any of its runs and also before a cancel. */
  recall(call: DurableCall): Outcome | undefined;
  readonly waits: Waiting;
}

/** How a turn waits. A promise of these rejects when the task is canceled. */
export interface Waiting {
  /** Does what the object must stay in memory for. */
  busy<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves at `time` (ms); the object may be gone in between. */
  until(time: number): Promise<void>;
  /** Resolves with what ends the open question. */
  answer(): Promise<Outcome>;
  /** Ends (ms) of the waits that go on. */
  readonly ends: number[];
}
