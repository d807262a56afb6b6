/** The calls that wait for what becomes of a message. In memory only: a caller that is cut off asks again. */
import type { Message } from "../src/protocol/message.ts";
import { isInterrupted, isTerminal } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import type { Entry } from "./event-log.ts";

/** A message instead of a task, or the task in a terminal or interrupted state. */
export type Answer = { message: Message } | { record: TaskRecord };

export class Answers {
  readonly #waiting = new Set<(answer: Answer) => void>();

  /** The answer that comes next. */
  next(): Promise<Answer> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  tell(entries: readonly Entry[]): void {
    for (const { record } of entries) {
      const { state } = record.task.status;
      if (isTerminal(state) || isInterrupted(state)) this.give({ record });
    }
  }

  give(answer: Answer): void {
    for (const resolve of this.#waiting) resolve(answer);
    this.#waiting.clear();
  }
}
