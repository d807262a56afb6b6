/** What the operator of a Worker may do with its tasks, whoever they belong to: for its own routes and scripts. */
import { checkBindings, taskDirectory, taskIndex } from "./env.ts";
import { ownerOf } from "./protocol/caller.ts";
import { A2AError, unwrap } from "./protocol/errors.ts";

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
  const task = taskDirectory(checkBindings(env)).find(taskId);
  if (!task) throw new A2AError("TASK_NOT_FOUND");
  unwrap(await task.authorize(name, value));
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
