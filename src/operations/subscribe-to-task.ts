import type { Caller } from "../protocol/caller.ts";
import { unwrap } from "../protocol/errors.ts";
import type { SubscribeToTaskRequest } from "../protocol/requests.ts";
import { findTask } from "./find-task.ts";
import { admit } from "./owner-limits.ts";
import type { Ports } from "./ports.ts";
import { followTask, type TaskStream } from "./reattach.ts";

/** §3.1.6: the task as it stands, or as it stood at the event the caller saw last, and then what happens to it. */
export async function subscribeToTask(
  caller: Caller,
  request: SubscribeToTaskRequest,
  ports: Ports,
): Promise<TaskStream> {
  const { task, owner } = findTask(caller, request.id, ports);
  const admitted = await admit(ports, owner, { stream: true });
  const opened = await task.subscribe(owner, { until: "terminal", lastEventId: caller.lastEventId });
  await admitted.settle(opened);
  return admitted.watch(followTask(request.id, owner, "terminal", unwrap(opened), ports));
}
