/** The calls that wait for what becomes of a message. In memory only: a caller that is cut off asks again. */
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import type { SendMessageResponse } from "../src/protocol/requests.ts";
import { isInterrupted, isTerminal } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { type TaskView, viewTask } from "../src/task/view.ts";
import type { Entry } from "./event-log.ts";

/** A message instead of a task, or the task in a terminal or interrupted state. */
export type Answer = { message: Message } | { record: TaskRecord };

export class Answers {
  readonly #waiting = new Set<(answer: Answer) => void>();

  /** The answer that comes next. */
  next(): Promise<Answer> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** The task, now or when it is next in a terminal or interrupted state. */
  async taskAnswer(record: TaskRecord, view: TaskView): Promise<Result<SendMessageResponse>> {
    let settled = isSettled(record) ? record : undefined;
    while (!settled) {
      const answer = await this.next();
      if ("record" in answer) settled = answer.record;
    }
    return taskAnswer(settled, view);
  }

  tell(entries: readonly Entry[]): void {
    for (const { record } of entries) if (isSettled(record)) this.give({ record });
  }

  give(answer: Answer): void {
    for (const resolve of this.#waiting) resolve(answer);
    this.#waiting.clear();
  }
}

/** A task as the answer to its message; one that the framework had to end is the error that ended it. */
export function taskAnswer({ task, cause }: TaskRecord, view: TaskView): Result<SendMessageResponse> {
  if (!cause) return { ok: true, value: { task: viewTask(task, view) } };
  return refuse(cause.reason, {
    ...cause,
    metadata: { ...cause.metadata, taskId: task.id, contextId: task.contextId },
  });
}

/** Whether a call that waits for the task is answered now. */
export function isSettled({ task }: TaskRecord): boolean {
  return isTerminal(task.status.state) || isInterrupted(task.status.state);
}
