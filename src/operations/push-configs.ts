import type { Caller } from "../protocol/caller.ts";
import { A2AError, unwrap } from "../protocol/errors.ts";
import { decodePageToken, encodePageToken } from "../protocol/page-token.ts";
import {
  type CreateTaskPushNotificationConfigRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  MAX_PAGE_SIZE,
  type TaskPushNotificationConfig,
} from "../protocol/requests.ts";
import { refuseHeaders } from "../push/headers.ts";
import { refuseWebhook } from "../push/resolve.ts";
import { findTask } from "./find-task.ts";
import type { Configured, Ports } from "./ports.ts";

/** What a client reads in place of a secret. */
const MASK = "********";

/** §3.1.7: a webhook for the task, new or in place of the one with its id. */
export async function createTaskPushNotificationConfig(
  caller: Caller,
  request: CreateTaskPushNotificationConfigRequest,
  ports: Ports,
): Promise<TaskPushNotificationConfig> {
  const { tenant: _, ...config } = request;
  await checkTarget(config, ports, "");
  const { task, owner } = findTask(caller, request.taskId, ports);
  return masked(unwrap(await task.putPushConfig(owner, configured(caller, config, ports))));
}

/** §3.1.8. An id that is not there is TASK_NOT_FOUND, as the specification has it. */
export async function getTaskPushNotificationConfig(
  caller: Caller,
  { taskId, id }: GetTaskPushNotificationConfigRequest,
  ports: Ports,
): Promise<TaskPushNotificationConfig> {
  const { task, owner } = findTask(caller, taskId, ports);
  return masked(unwrap(await task.getPushConfig(owner, id)));
}

/** §3.1.9: in the order of their ids. */
export async function listTaskPushNotificationConfigs(
  caller: Caller,
  { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
  ports: Ports,
): Promise<ListTaskPushNotificationConfigsResponse> {
  const [after = ""] = pageToken ? decodePageToken(taskId, pageToken) : [];
  const limit = pageSize || MAX_PAGE_SIZE;
  const { task, owner } = findTask(caller, taskId, ports);
  const page = unwrap(await task.listPushConfigs(owner, limit, String(after)));
  return {
    configs: page.configs.map(masked),
    nextPageToken: page.last === undefined ? "" : encodePageToken(taskId, [page.last]),
  };
}

/** §3.1.10: deleting what is not there is a success. */
export async function deleteTaskPushNotificationConfig(
  caller: Caller,
  { taskId, id }: DeleteTaskPushNotificationConfigRequest,
  ports: Ports,
): Promise<Record<string, never>> {
  const { task, owner } = findTask(caller, taskId, ports);
  unwrap(await task.deletePushConfig(owner, id));
  return {};
}

/** Refuses a webhook that may not be called, or whose headers could not be sent. `path` leads to its fields. */
export async function checkTarget(
  config: TaskPushNotificationConfig,
  { agent }: Ports,
  path: string,
): Promise<void> {
  if (!agent.push) throw new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED");
  const header = refuseHeaders(config);
  if (header) throw A2AError.field(path + header.field, header.why);
  // Last, because it may ask the network.
  const why = await refuseWebhook(config.url, agent.push);
  if (why !== undefined) throw A2AError.field(`${path}url`, why);
}

/** The webhook with what its deliveries will say of the agent and of the trace. */
export function configured(
  { traceId }: Caller,
  config: TaskPushNotificationConfig,
  { url }: Ports,
): Configured {
  return { config, issuer: url, ...(traceId !== undefined && { traceId }) };
}

function masked(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { token, authentication, ...rest } = config;
  return {
    ...rest,
    ...(token !== undefined && { token: MASK }),
    ...(authentication && {
      authentication: {
        scheme: authentication.scheme,
        ...(authentication.credentials !== undefined && { credentials: MASK }),
      },
    }),
  };
}
