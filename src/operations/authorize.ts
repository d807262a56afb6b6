/** What a caller who was let in may do: the scopes of a skill, and the agent's own word (§7.5, §13.1). */
import { requireSkill } from "../agent/skill.ts";
import type { Caller } from "../protocol/caller.ts";
import { A2AError, unwrap } from "../protocol/errors.ts";
import type { OperationName, RequestOf } from "../protocol/operations.ts";
import type { Task } from "../protocol/task.ts";
import { findTask } from "./find-task.ts";
import type { Ports } from "./ports.ts";

/**
 * Refuses with PERMISSION_DENIED what the caller may not do. It can only narrow: whose the task is was not asked yet,
 * and is asked again by the operation.
 */
export async function authorize(
  operation: OperationName,
  caller: Caller,
  request: RequestOf<OperationName>,
  ports: Ports,
): Promise<void> {
  const { definition } = ports.agent;
  const message = "message" in request ? request.message : undefined;
  const skill =
    message && "message" in request
      ? requireSkill(definition.skills, message, request.metadata, caller.scopes)
      : undefined;
  if (!definition.authorize) return;
  const task = await taskOf(caller, request, ports);
  const asked = { caller, operation, task, message, skill: skill?.id };
  if (!(await allows(() => definition.authorize?.(asked), caller))) {
    throw new A2AError("PERMISSION_DENIED");
  }
}

/** The task that the request names; TASK_NOT_FOUND when it is not the caller's. */
async function taskOf(
  caller: Caller,
  request: RequestOf<OperationName>,
  ports: Ports,
): Promise<Task | undefined> {
  const id = taskIdOf(request);
  if (id === undefined) return undefined;
  const { task, owner } = findTask(caller, id, ports);
  return unwrap(await task.get(owner, {}));
}

/** Id of the task that the request names. */
export function taskIdOf(request: RequestOf<OperationName>): string | undefined {
  if ("message" in request) return request.message.taskId;
  if ("taskId" in request) return request.taskId;
  return "id" in request ? request.id : undefined;
}

/** Whether the answer is true, and nothing else. An error denies; one that was meant for the caller says why. */
async function allows(ask: () => unknown, { requestId }: Caller): Promise<boolean> {
  try {
    return (await ask()) === true;
  } catch (error) {
    if (A2AError.is(error) && error.reason === "PERMISSION_DENIED") throw error;
    console.error(`request ${requestId}: authorize threw`, error);
    return false;
  }
}
