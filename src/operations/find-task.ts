import { type Caller, ownerOf } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";
import type { Ports, TaskPort } from "./ports.ts";

/** The task an id names and the owner to ask it as; an id that names no object is TASK_NOT_FOUND. */
export function findTask(caller: Caller, id: string, ports: Ports): { task: TaskPort; owner: string } {
  const task = ports.tasks.find(id);
  if (!task) throw new A2AError("TASK_NOT_FOUND");
  return { task, owner: ownerOf(ports.agent.id, caller) };
}
