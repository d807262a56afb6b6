/** What each operation takes and answers (§3.1, §3.2). */
import * as z from "zod";
import { MAX_ID_LENGTH, Message } from "./message.ts";
import {
  int32,
  message,
  oneof,
  optionalList,
  optionalString,
  requiredString,
  struct,
  timestamp,
} from "./proto-json.ts";
import { AnyTaskState, Task } from "./task.ts";

const tenant = optionalString(MAX_ID_LENGTH);
const id = requiredString(MAX_ID_LENGTH);

/** Most tasks on a page of ListTasks, and most configs on a page of theirs. */
export const MAX_PAGE_SIZE = 100;

/** Messages of history wanted: unset is all, 0 is none (§3.2.4). */
const historyLength = int32(0).optional();

export const AuthenticationInfo = message({
  scheme: requiredString(MAX_ID_LENGTH),
  credentials: optionalString(),
});

export const TaskPushNotificationConfig = message({
  tenant,
  id: optionalString(MAX_ID_LENGTH),
  taskId: optionalString(MAX_ID_LENGTH),
  url: requiredString(),
  token: optionalString(),
  authentication: AuthenticationInfo.optional(),
});
export type TaskPushNotificationConfig = z.infer<typeof TaskPushNotificationConfig>;

export const SendMessageConfiguration = message({
  acceptedOutputModes: optionalList(z.string()),
  taskPushNotificationConfig: TaskPushNotificationConfig.optional(),
  historyLength,
  returnImmediately: z.boolean().optional(),
});
export type SendMessageConfiguration = z.infer<typeof SendMessageConfiguration>;

export const SendMessageRequest = message({
  tenant,
  message: Message,
  configuration: SendMessageConfiguration.optional(),
  metadata: struct.optional(),
});
export type SendMessageRequest = z.infer<typeof SendMessageRequest>;

export const GetTaskRequest = message({ tenant, id, historyLength });
export type GetTaskRequest = z.infer<typeof GetTaskRequest>;

export const ListTasksRequest = message({
  tenant,
  contextId: optionalString(MAX_ID_LENGTH),
  status: AnyTaskState.optional(),
  pageSize: int32(1, MAX_PAGE_SIZE).optional(),
  pageToken: optionalString(),
  historyLength,
  statusTimestampAfter: timestamp.optional(),
  includeArtifacts: z.boolean().optional(),
});
export type ListTasksRequest = z.infer<typeof ListTasksRequest>;

export const CancelTaskRequest = message({ tenant, id, metadata: struct.optional() });
export type CancelTaskRequest = z.infer<typeof CancelTaskRequest>;

export const SubscribeToTaskRequest = message({ tenant, id });
export type SubscribeToTaskRequest = z.infer<typeof SubscribeToTaskRequest>;

/** A TaskPushNotificationConfig whose task is named. */
export const CreateTaskPushNotificationConfigRequest = message({
  tenant,
  id: optionalString(MAX_ID_LENGTH),
  taskId: id,
  url: requiredString(),
  token: optionalString(),
  authentication: AuthenticationInfo.optional(),
});
export type CreateTaskPushNotificationConfigRequest = z.infer<
  typeof CreateTaskPushNotificationConfigRequest
>;

export const GetTaskPushNotificationConfigRequest = message({ tenant, taskId: id, id });
export type GetTaskPushNotificationConfigRequest = z.infer<typeof GetTaskPushNotificationConfigRequest>;

export const DeleteTaskPushNotificationConfigRequest = message({ tenant, taskId: id, id });
export type DeleteTaskPushNotificationConfigRequest = z.infer<
  typeof DeleteTaskPushNotificationConfigRequest
>;

export const ListTaskPushNotificationConfigsRequest = message({
  tenant,
  taskId: id,
  /** 0, the proto3 default, leaves the choice to the server. */
  pageSize: int32(0, MAX_PAGE_SIZE).optional(),
  pageToken: optionalString(),
});
export type ListTaskPushNotificationConfigsRequest = z.infer<
  typeof ListTaskPushNotificationConfigsRequest
>;

export const GetExtendedAgentCardRequest = message({ tenant });
export type GetExtendedAgentCardRequest = z.infer<typeof GetExtendedAgentCardRequest>;

export const SendMessageResponse = oneof({ task: Task.optional(), message: Message.optional() }, [
  "task",
  "message",
]);
export type SendMessageResponse = z.infer<typeof SendMessageResponse>;

export const ListTasksResponse = message({
  tasks: z.array(Task).default([]),
  nextPageToken: z.string().default(""),
  pageSize: int32(0).default(0),
  totalSize: int32(0).default(0),
});
export type ListTasksResponse = z.infer<typeof ListTasksResponse>;

export const ListTaskPushNotificationConfigsResponse = message({
  configs: z.array(TaskPushNotificationConfig).default([]),
  nextPageToken: z.string().default(""),
});
export type ListTaskPushNotificationConfigsResponse = z.infer<
  typeof ListTaskPushNotificationConfigsResponse
>;
