import type { Caller } from "../protocol/caller.ts";
import { unwrap } from "../protocol/errors.ts";
import type { GetTaskRequest } from "../protocol/requests.ts";
import type { Task } from "../protocol/task.ts";
import { findTask } from "./find-task.ts";
import type { Ports } from "./ports.ts";

/** §3.1.3. */
export async function getTask(caller: Caller, request: GetTaskRequest, ports: Ports): Promise<Task> {
  const { task, owner } = findTask(caller, request.id, ports);
  return unwrap(await task.get(owner, { historyLength: request.historyLength }));
}
