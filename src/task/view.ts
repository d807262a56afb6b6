/** What a client is shown of a task (§3.2.4, §3.1.4). */
import type { Task } from "../protocol/task.ts";

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
