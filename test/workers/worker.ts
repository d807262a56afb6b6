/** The Worker that tests in workerd talk to. */
import { durableObjects, worker } from "durable-a2a";
import {
  busy,
  careless,
  evolving,
  fleeting,
  hasty,
  keyed,
  mirror,
  narrow,
  patient,
  plain,
  script,
  shared,
  skilled,
  still,
  streamer,
  strict,
  stubborn,
  unique,
  uniqueOpen,
} from "./agents.ts";
import { brief, durable, impatient, long, merging } from "./durable-agents.ts";
import { metered } from "./meter.ts";
import { queued } from "./queues.ts";

const agents = [
  plain,
  still,
  strict,
  keyed,
  shared,
  skilled,
  busy,
  mirror,
  narrow,
  patient,
  streamer,
  careless,
  long,
  durable,
  impatient,
  brief,
  merging,
  hasty,
  stubborn,
  fleeting,
  unique,
  uniqueOpen,
  evolving,
];

export { ExecutionCounter } from "../lab/counter.ts";

const objects = durableObjects(script, ...agents);
export const TaskObject = queued(metered("TaskObject", objects.TaskObject));
export const TaskIndex = metered("TaskIndex", objects.TaskIndex);
export default worker(script, ...agents);
