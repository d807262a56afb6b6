/** What the operator of a Worker may do with its tasks, whoever they belong to: for its own routes and scripts. */
import { checkBindings, taskDirectory, taskIndex } from "./env.ts";
import type { TaskPort } from "./operations/ports.ts";
import { ownerOf } from "./protocol/caller.ts";
import { A2AError, unwrap } from "./protocol/errors.ts";
import type { DeliveryState } from "./push/job.ts";

/**
 * Goes on with a task that waits in `turn.authorize(name, …)`, which gives `{ via: "resume", value }` (§7.6.4). For the
 * route that an authorization server calls back; check there that the call is genuine, by a `state` of your own.
 * Throws an A2AError: TASK_NOT_FOUND, or UNSUPPORTED_OPERATION when the task waits for nothing of this name.
 *
 * @param value JSON, at most as long as `limits.event`.
 * @example
 * await resumeTask(env, taskId, "calendar", { token });
 */
export async function resumeTask(
  env: unknown,
  taskId: string,
  name: string,
  value?: unknown,
): Promise<void> {
  unwrap(await taskOf(env, taskId).authorize(name, value));
}

/**
 * Deletes a task now: its state, history, artifacts, webhooks and its row in the list. One that is not done is canceled
 * first, without `onCancel`; its streams end. False when there is no such task.
 */
export async function deleteTask(env: unknown, taskId: string): Promise<boolean> {
  const task = taskDirectory(checkBindings(env)).find(taskId);
  return (await task?.erase()) ?? false;
}

/** Whose tasks: as `turn.caller` names them. */
export interface OwnerName {
  /** Id of the agent. */
  agent: string;
  scheme: string;
  /** Unset where the scheme has none, as keys have not. */
  issuer?: string;
  principal: string;
  tenant?: string;
}

/**
 * Deletes all tasks of an owner. They are out of the list at once, and gone within seconds for each thousand. Returns
 * how many there were. Only tasks that are listed are found: not those of an `open()` agent, which have no list.
 */
export async function deleteTasksOf(
  env: unknown,
  { agent, tenant = "", ...name }: OwnerName,
): Promise<number> {
  const owner = ownerOf(agent, { ...name, tenant });
  return taskIndex(checkBindings(env), owner).deleteAll();
}

/**
 * How the deliveries to the webhooks of a task go: their state, last answers and how many events wait. Throws an A2AError:
 * TASK_NOT_FOUND.
 */
export async function pushDeliveries(env: unknown, taskId: string): Promise<DeliveryState[]> {
  const deliveries = await taskOf(env, taskId).deliveries();
  if (!deliveries) throw new A2AError("TASK_NOT_FOUND");
  return deliveries;
}

/**
 * Goes on with a webhook that was stopped, or does not wait for its next attempt: with the first event that was not
 * taken. Throws an A2AError: TASK_NOT_FOUND, also when the task has no config of this id.
 */
export async function restartPush(env: unknown, taskId: string, configId: string): Promise<void> {
  unwrap(await taskOf(env, taskId).restartDelivery(configId));
}

/**
 * Sends a webhook everything again from the event `seq` on (`X-A2A-Notification-Seq`), under the ids it had. Throws an
 * A2AError: TASK_NOT_FOUND as `restartPush`, or INVALID_PARAMS when the task has no such event.
 *
 * @param seq 1 to the last event of the task.
 */
export async function replayPush(
  env: unknown,
  taskId: string,
  configId: string,
  seq: number,
): Promise<void> {
  unwrap(await taskOf(env, taskId).restartDelivery(configId, seq));
}

function taskOf(env: unknown, taskId: string): TaskPort {
  const task = taskDirectory(checkBindings(env)).find(taskId);
  if (!task) throw new A2AError("TASK_NOT_FOUND");
  return task;
}
