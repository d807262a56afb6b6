/** The Worker that tests in workerd talk to. */
import { durableObjects, worker } from "durable-a2a";
import { keyed, mirror, plain, script, still, strict } from "./agents.ts";

export const { TaskObject, TaskIndex } = durableObjects(script, plain, still, strict, keyed, mirror);
export default worker(script, plain, still, strict, keyed, mirror);
