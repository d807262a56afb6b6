/** The object classes a Worker exports. */
import { type Agent, byId } from "../src/agent/define-agent.ts";
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
  return { TaskObject: taskObject(byId(agents)), TaskIndex: taskIndexObject() };
}
