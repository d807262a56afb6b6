import type { Caller } from "../protocol/caller.ts";
import { unwrap } from "../protocol/errors.ts";
import type { CancelTaskRequest } from "../protocol/requests.ts";
import type { Task } from "../protocol/task.ts";
import { findTask } from "./find-task.ts";
import { checkMetadata } from "./message-limits.ts";
import type { Ports } from "./ports.ts";

/** §3.1.5: the task is CANCELED before the answer leaves. Canceling it again gives the same task. */
export async function cancelTask(
  caller: Caller,
  request: CancelTaskRequest,
  ports: Ports,
): Promise<Task> {
  checkMetadata("metadata", request.metadata, ports.agent.limits);
  const { task, owner } = findTask(caller, request.id, ports);
  return unwrap(await task.cancel(owner));
}
