import type { Caller } from "../protocol/caller.ts";
import { unwrap } from "../protocol/errors.ts";
import type { GetTaskRequest } from "../protocol/requests.ts";
import { fromLine, type TaskText } from "../task/view.ts";
import { findTask } from "./find-task.ts";
import type { Ports } from "./ports.ts";

/** §3.1.3. */
export async function getTask(
  caller: Caller,
  request: GetTaskRequest,
  ports: Ports,
): Promise<TaskText> {
  const { task, owner } = findTask(caller, request.id, ports);
  const read = await task.read(owner, request.historyLength);
  return typeof read === "string" ? fromLine(request.id, read) : unwrap(read);
}
