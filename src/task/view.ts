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

/** What the edge needs of a task on its way to a client; it reads the JSON nowhere. */
export interface TaskText {
  state: TaskState;
  json: string;
}

/** Both in one line of text: the object hands it to the edge for a fraction of what an object costs. */
export function toLine(task: Task): string {
  return `${task.status.state} ${JSON.stringify(task)}`;
}

export function fromLine(line: string): TaskText {
  const space = line.indexOf(" ");
  return { state: line.slice(0, space) as TaskState, json: line.slice(space + 1) };
}
