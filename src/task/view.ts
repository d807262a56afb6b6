/** What a client is shown of a task (§3.2.4, §3.1.4). */
import type { Task, TaskState } from "../protocol/task.ts";

export interface TaskView {
  /** Most recent messages to show: all when unset, none at 0. */
  historyLength?: number | undefined;
  /** Whether artifacts are shown; then they are there even when there are none. */
  artifacts?: boolean;
}

export function viewTask(task: Task, { historyLength, artifacts = true }: TaskView = {}): Task {
  const { history = [], artifacts: all = [], ...rest } = task;
  const shown = historyLength === 0 ? [] : history.slice(-(historyLength ?? history.length));
  return {
    ...rest,
    ...(artifacts && { artifacts: all }),
    ...(shown.length > 0 && { history: shown }),
  };
}

/** A task on its way to a client. The object makes the JSON and the edge passes it on, which reads it nowhere. */
export interface TaskText {
  id: string;
  state: TaskState;
  json: string;
}

/** State and JSON as one line: to hand over a text costs a fraction of what an object does. */
export function toLine(task: Task): string {
  return `${task.status.state} ${JSON.stringify(task)}`;
}

export function fromLine(id: string, line: string): TaskText {
  const space = line.indexOf(" ");
  return { id, state: line.slice(0, space) as TaskState, json: line.slice(space + 1) };
}
