/** The object classes a Worker exports. */
import { type Agent, byId } from "../src/agent/define-agent.ts";
import { withNeeds } from "../src/needs.ts";
import { type TaskIndexClass, taskIndexObject } from "./task-index.ts";
import { type TaskObjectClass, taskObject } from "./task-object.ts";

/**
 * The Durable Object classes for the agents of a Worker; export them under these names.
 *
 * @example
 * export const { TaskObject, TaskIndex } = durableObjects(agent);
 */
export function durableObjects(...agents: [Agent, ...Agent[]]): {
  TaskObject: TaskObjectClass;
  TaskIndex: TaskIndexClass;
} {
  // On a class too: a Worker may wrap the handlers of `worker`, but it always exports the class itself.
  const TaskObject = withNeeds(taskObject(byId(agents)), agents);
  return { TaskObject, TaskIndex: taskIndexObject() };
}
