/** The Worker that tests in workerd talk to. */
import { durableObjects, worker } from "durable-a2a";
import {
  careless,
  fleeting,
  hasty,
  keyed,
  mirror,
  narrow,
  patient,
  plain,
  script,
  still,
  streamer,
  strict,
  stubborn,
  unique,
  uniqueOpen,
} from "./agents.ts";
import { metered } from "./meter.ts";

const agents = [
  plain,
  still,
  strict,
  stubborn,
  keyed,
  mirror,
  narrow,
  patient,
  streamer,
  careless,
  hasty,
  fleeting,
  unique,
  uniqueOpen,
];

export { ExecutionCounter } from "../lab/counter.ts";

const objects = durableObjects(script, ...agents);
export const TaskObject = metered("TaskObject", objects.TaskObject);
export const TaskIndex = metered("TaskIndex", objects.TaskIndex);
export default worker(script, ...agents);
