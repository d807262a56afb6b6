/** The modules of the operations, and what is checked before each of them. */
import { capabilities } from "../agent/card.ts";
import type { Agent } from "../agent/define-agent.ts";
import { tenantOf } from "../agent/tenants.ts";
import type { Caller } from "../protocol/caller.ts";
import { A2AError, parse } from "../protocol/errors.ts";
import {
  OPERATIONS,
  type OperationName,
  type OperationRow,
  type RequestOf,
} from "../protocol/operations.ts";
import type { Task, TaskState } from "../protocol/task.ts";
import type { TaskText } from "../task/view.ts";
import { audited, type Seen } from "./audit.ts";
import { authorize, taskIdOf } from "./authorize.ts";
import { cancelTask } from "./cancel-task.ts";
import { getExtendedAgentCard } from "./get-extended-agent-card.ts";
import { getTask } from "./get-task.ts";
import { listTasks } from "./list-tasks.ts";
import type { Ports } from "./ports.ts";
import {
  createTaskPushNotificationConfig,
  deleteTaskPushNotificationConfig,
  getTaskPushNotificationConfig,
  listTaskPushNotificationConfigs,
} from "./push-configs.ts";
import { limitRate } from "./rate-limit.ts";
import type { TaskStream } from "./reattach.ts";
import { sendMessage, sendStreamingMessage } from "./send-message.ts";
import { subscribeToTask } from "./subscribe-to-task.ts";

type Answer<N extends OperationName> = (typeof OPERATIONS)[N]["reply"] extends "stream"
  ? TaskStream
  : object;

const MODULES: {
  [N in OperationName]: (caller: Caller, request: RequestOf<N>, ports: Ports) => Promise<Answer<N>>;
} = {
  SendMessage: sendMessage,
  SendStreamingMessage: sendStreamingMessage,
  GetTask: getTask,
  ListTasks: listTasks,
  CancelTask: cancelTask,
  SubscribeToTask: subscribeToTask,
  CreateTaskPushNotificationConfig: createTaskPushNotificationConfig,
  GetTaskPushNotificationConfig: getTaskPushNotificationConfig,
  ListTaskPushNotificationConfigs: listTaskPushNotificationConfigs,
  DeleteTaskPushNotificationConfig: deleteTaskPushNotificationConfig,
  GetExtendedAgentCard: getExtendedAgentCard,
};

/** What an operation answers: a value as JSON, or a stream of frames; and the task it is about. */
export type Outcome = ({ json: string } | { stream: TaskStream }) & {
  task: { id?: string | undefined; state?: TaskState | undefined };
};

/** Performs an operation: rate, capability, extensions, request, tenant, leave, then the operation itself. */
export function perform<N extends OperationName>(
  name: N,
  caller: Caller,
  params: unknown,
  ports: Ports,
): Promise<Outcome> {
  const seen: Seen = { caller };
  return audited(name, seen, ports, () => performed(name, seen, params, ports));
}

async function performed<N extends OperationName>(
  name: N,
  seen: Seen,
  params: unknown,
  ports: Ports,
): Promise<Outcome> {
  const row = OPERATIONS[name];
  const { caller } = seen;
  await limitRate(name, caller, ports);
  checkCapability(name, ports.agent);
  checkExtensions(caller, ports.agent);
  const request = parse(row.request, params) as RequestOf<N>;
  const tenant = await tenantOf(ports.agent.tenants, caller, request.tenant);
  checkInnerTenant(request);
  seen.caller = { ...caller, tenant };
  await authorize(name, seen.caller, request, ports);
  const answer: object = await MODULES[name](seen.caller, request, ports);
  const outcome = outcomeOf(answer);
  const { id = taskIdOf(request), state } = outcome.task;
  Object.assign(seen, { task: id, state });
  return outcome;
}

function outcomeOf(answer: object): Outcome {
  if (isStream(answer)) {
    const { taskId: id, state } = answer;
    return { stream: answer, task: { id, state } };
  }
  if (isText(answer)) return { json: answer.json, task: answer };
  const json = JSON.stringify(answer);
  const { task = answer, taskId } = answer as { task?: Partial<Task>; taskId?: string };
  const { id, status } = task as Partial<Task>;
  return { json, task: status ? { id, state: status.state } : { id: taskId } };
}

function isStream(answer: object): answer is TaskStream {
  return "frames" in answer;
}

function isText(answer: object): answer is TaskText {
  return "json" in answer;
}

/** A webhook inside a message is of the message's tenant. */
function checkInnerTenant(request: RequestOf<OperationName>): void {
  const inner =
    "configuration" in request ? request.configuration?.taskPushNotificationConfig?.tenant : undefined;
  if (inner === undefined || inner === request.tenant) return;
  throw A2AError.field(
    "configuration.taskPushNotificationConfig.tenant",
    "differs from the tenant of the request",
  );
}

/** §3.3.4: what the card does not declare is not served. */
function checkCapability(name: OperationName, agent: Agent): void {
  const { needs }: OperationRow = OPERATIONS[name];
  if (needs && !capabilities(agent)[needs.name]) throw new A2AError(needs.otherwise);
}

/** §4.6: a caller must support the extensions that the card requires. */
function checkExtensions(caller: Caller, agent: Agent): void {
  const missing = agent.extensions.filter(
    ({ uri, required }) => required && !caller.extensions.includes(uri),
  );
  if (missing.length === 0) return;
  const uris = missing.map(({ uri }) => uri).join(", ");
  throw new A2AError("EXTENSION_SUPPORT_REQUIRED", {
    message: `Extension support required: name ${uris} in A2A-Extensions`,
    metadata: { extensions: uris },
  });
}
