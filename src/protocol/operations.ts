/**
 * The eleven operations (§5.3), one row each. Both bindings are made from these rows, so that adding an
 * operation is adding a row here and a module in `operations/`.
 */
import type * as z from "zod";
import type { AgentCapabilities } from "./card.ts";
import type { Reason } from "./errors.ts";
import * as requests from "./requests.ts";

/** A capability of the card that an operation needs, and the error without it (§3.3.4). */
interface NeededCapability {
  readonly name: Exclude<keyof AgentCapabilities, "extensions">;
  readonly otherwise: Reason;
}

const streaming: NeededCapability = { name: "streaming", otherwise: "UNSUPPORTED_OPERATION" };
const push: NeededCapability = {
  name: "pushNotifications",
  otherwise: "PUSH_NOTIFICATION_NOT_SUPPORTED",
};
const extendedCard: NeededCapability = {
  name: "extendedAgentCard",
  otherwise: "UNSUPPORTED_OPERATION",
};

/** What an operation does to the agent: what rate limits count, and what is audited (`send` and `change`). */
export type OperationKind = "send" | "change" | "read" | "subscribe";

export interface OperationRow {
  readonly kind: OperationKind;
  /** REST verbs; the first is the documented one. */
  readonly verbs: readonly ("GET" | "POST" | "DELETE")[];
  /** REST path; `{name}` is a field of the request. */
  readonly path: string;
  readonly request: z.ZodType;
  readonly needs?: NeededCapability;
  readonly reply: "value" | "stream";
}

/** By JSON-RPC method name. */
export const OPERATIONS = {
  SendMessage: {
    kind: "send",
    verbs: ["POST"],
    path: "/message:send",
    request: requests.SendMessageRequest,
    reply: "value",
  },
  SendStreamingMessage: {
    kind: "send",
    verbs: ["POST"],
    path: "/message:stream",
    request: requests.SendMessageRequest,
    needs: streaming,
    reply: "stream",
  },
  CancelTask: {
    kind: "change",
    verbs: ["POST"],
    path: "/tasks/{id}:cancel",
    request: requests.CancelTaskRequest,
    reply: "value",
  },
  // The prose says POST (§5.3), the annotation of the proto says GET.
  SubscribeToTask: {
    kind: "subscribe",
    verbs: ["POST", "GET"],
    path: "/tasks/{id}:subscribe",
    request: requests.SubscribeToTaskRequest,
    needs: streaming,
    reply: "stream",
  },
  GetTask: {
    kind: "read",
    verbs: ["GET"],
    path: "/tasks/{id}",
    request: requests.GetTaskRequest,
    reply: "value",
  },
  ListTasks: {
    kind: "read",
    verbs: ["GET"],
    path: "/tasks",
    request: requests.ListTasksRequest,
    reply: "value",
  },
  CreateTaskPushNotificationConfig: {
    kind: "change",
    verbs: ["POST"],
    path: "/tasks/{taskId}/pushNotificationConfigs",
    request: requests.CreateTaskPushNotificationConfigRequest,
    needs: push,
    reply: "value",
  },
  ListTaskPushNotificationConfigs: {
    kind: "read",
    verbs: ["GET"],
    path: "/tasks/{taskId}/pushNotificationConfigs",
    request: requests.ListTaskPushNotificationConfigsRequest,
    needs: push,
    reply: "value",
  },
  GetTaskPushNotificationConfig: {
    kind: "read",
    verbs: ["GET"],
    path: "/tasks/{taskId}/pushNotificationConfigs/{id}",
    request: requests.GetTaskPushNotificationConfigRequest,
    needs: push,
    reply: "value",
  },
  DeleteTaskPushNotificationConfig: {
    kind: "change",
    verbs: ["DELETE"],
    path: "/tasks/{taskId}/pushNotificationConfigs/{id}",
    request: requests.DeleteTaskPushNotificationConfigRequest,
    needs: push,
    reply: "value",
  },
  GetExtendedAgentCard: {
    kind: "read",
    verbs: ["GET"],
    path: "/extendedAgentCard",
    request: requests.GetExtendedAgentCardRequest,
    needs: extendedCard,
    reply: "value",
  },
} as const satisfies Record<string, OperationRow>;

export type OperationName = keyof typeof OPERATIONS;

/** The parsed request of an operation. */
export type RequestOf<N extends OperationName> = z.infer<(typeof OPERATIONS)[N]["request"]>;

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}
