import type { Caller } from "../protocol/caller.ts";
import { unwrap } from "../protocol/errors.ts";
import type { SubscribeToTaskRequest } from "../protocol/requests.ts";
import { findTask } from "./find-task.ts";
import type { Ports } from "./ports.ts";
import { followTask, type TaskStream } from "./reattach.ts";

/** §3.1.6: the task as it stands, or as it stood at the event the caller saw last, and then what happens to it. */
export async function subscribeToTask(
  caller: Caller,
  request: SubscribeToTaskRequest,
  ports: Ports,
): Promise<TaskStream> {
  const { task, owner } = findTask(caller, request.id, ports);
  const stream = unwrap(
    await task.subscribe(owner, { until: "terminal", lastEventId: caller.lastEventId }),
  );
  return followTask(request.id, owner, "terminal", stream, ports);
}
