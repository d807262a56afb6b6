/** The operations in either binding, without envelopes, so that a test is written once for both. */
import type { Message, Part, Task } from "durable-a2a";
import { expect } from "vitest";
import { type CallOptions, call, type Json, message } from "./client.ts";

export const BINDINGS = ["jsonrpc", "rest"] as const;
export type Binding = (typeof BINDINGS)[number];

const ROUTES = {
  SendMessage: "POST /message:send",
  SendStreamingMessage: "POST /message:stream",
  GetTask: "GET /tasks/{id}",
  ListTasks: "GET /tasks",
  CancelTask: "POST /tasks/{id}:cancel",
  SubscribeToTask: "POST /tasks/{id}:subscribe",
  CreateTaskPushNotificationConfig: "POST /tasks/{taskId}/pushNotificationConfigs",
  ListTaskPushNotificationConfigs: "GET /tasks/{taskId}/pushNotificationConfigs",
  GetTaskPushNotificationConfig: "GET /tasks/{taskId}/pushNotificationConfigs/{id}",
  DeleteTaskPushNotificationConfig: "DELETE /tasks/{taskId}/pushNotificationConfigs/{id}",
  GetExtendedAgentCard: "GET /extendedAgentCard",
} as const;
export type Operation = keyof typeof ROUTES;

/** What refusals look like: the JSON-RPC code and the HTTP status of the REST binding (§5.4). */
const REFUSALS = {
  TASK_NOT_FOUND: { jsonrpc: -32001, rest: 404 },
  TASK_NOT_CANCELABLE: { jsonrpc: -32002, rest: 400 },
  UNSUPPORTED_OPERATION: { jsonrpc: -32004, rest: 400 },
  INVALID_AGENT_RESPONSE: { jsonrpc: -32006, rest: 500 },
  INVALID_PARAMS: { jsonrpc: -32602, rest: 400 },
  PERMISSION_DENIED: { jsonrpc: -32000, rest: 403 },
  INTERNAL: { jsonrpc: -32603, rest: 500 },
  RESOURCE_EXHAUSTED: { jsonrpc: -32000, rest: 429 },
  UNAUTHENTICATED: { jsonrpc: -32000, rest: 401 },
} as const;

export interface Answer {
  binding: Binding;
  status: number;
  headers: Headers;
  /** What the operation gives; undefined when it was refused. */
  value: Json | undefined;
  error: { code: number; message: string; details: Json[] } | undefined;
}

/** The answer of an operation as HTTP has it. */
export function exchange(
  binding: Binding,
  operation: Operation,
  params: object,
  { agent, headers }: CallOptions = {},
): Promise<Response> {
  const base = agent === undefined ? "" : `/agents/${agent}`;
  const sent = { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers };
  if (binding === "jsonrpc") {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: operation, params });
    return call(`${base}/`, { method: "POST", headers: sent, body });
  }
  const fields = new Map(Object.entries(params).filter(([, value]) => value !== undefined));
  const [verb = "", template = ""] = ROUTES[operation].split(" ");
  // A tenant is the first segment of the path, as REST clients send it.
  const { tenant } = params as { tenant?: unknown };
  const prefix = typeof tenant === "string" ? "/{tenant}" : "";
  const path = (prefix + template).replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(fields.get(name));
    fields.delete(name);
    return encodeURIComponent(value);
  });
  if (verb === "POST") {
    const body = JSON.stringify(Object.fromEntries(fields));
    return call(base + path, { method: verb, headers: sent, body });
  }
  const query = new URLSearchParams([...fields].map(([name, value]) => [name, String(value)]));
  return call(`${base}${path}${fields.size > 0 ? `?${query}` : ""}`, { method: verb, headers: sent });
}

export async function operate(
  binding: Binding,
  operation: Operation,
  params: object,
  options: CallOptions = {},
): Promise<Answer> {
  return readAnswer(binding, await exchange(binding, operation, params, options));
}

async function readAnswer(binding: Binding, response: Response): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  const body = (text === "" ? {} : JSON.parse(text)) as Json;
  const found = body.error as
    | { code: number; message: string; data?: Json[]; details?: Json[] }
    | undefined;
  const error = found && {
    code: found.code,
    message: found.message,
    details: found.data ?? found.details ?? [],
  };
  const value = binding === "jsonrpc" ? (body.result as Json | undefined) : body;
  return { binding, status, headers, value: error ? undefined : value, error };
}

/** Holds an answer to be this refusal, and to name the field. */
export function expectRefused(
  { binding, status, headers, error }: Answer,
  reason: keyof typeof REFUSALS,
  field?: string,
): void {
  const { [binding]: code, rest } = REFUSALS[reason];
  expect(error, `expected ${reason}`).toBeDefined();
  expect(error?.code, `${reason} ${error?.message}`).toBe(code);
  expect(status).toBe(binding === "rest" || REFUSALS[reason].jsonrpc === -32000 ? rest : 200);
  expect(headers.get("Content-Type")).toMatch(/^application\/(a2a\+)?json/);
  const reasons = error?.details.flatMap((detail) => detail.reason ?? []);
  if (!["INVALID_PARAMS", "INTERNAL"].includes(reason)) expect(reasons).toEqual([reason]);
  if (field === undefined) return;
  const fields = error?.details.flatMap(
    (detail) => (detail.fieldViolations as Json[] | undefined) ?? [],
  );
  expect(fields?.map((violation) => violation.field)).toEqual([field]);
}

/** The task that a message is answered with; throws when it is not. */
export async function send(
  binding: Binding,
  content: string | Part[],
  fields: Partial<Message> = {},
  options: CallOptions & { configuration?: object; metadata?: object } = {},
): Promise<Task> {
  const { configuration, metadata, ...rest } = options;
  const params = { message: message(content, fields), configuration, metadata };
  const { value, error } = await operate(binding, "SendMessage", params, rest);
  if (!value?.task) throw new Error(`no task: ${JSON.stringify(error ?? value)}`);
  return value.task as Task;
}

/** Starts a task, which is answered at once. */
export function start(
  binding: Binding,
  content: string | Part[],
  fields: Partial<Message> = {},
  options: CallOptions = {},
): Promise<Task> {
  return send(binding, content, fields, { ...options, configuration: { returnImmediately: true } });
}

export async function getTask(binding: Binding, id: string, options: CallOptions = {}): Promise<Task> {
  const { value, error } = await operate(binding, "GetTask", { id }, options);
  if (!value) throw new Error(`no task: ${JSON.stringify(error)}`);
  return value as unknown as Task;
}

/** The task as soon as it is in this state. */
export async function reached(
  binding: Binding,
  id: string,
  state: Task["status"]["state"],
  options: CallOptions = {},
): Promise<Task> {
  for (;;) {
    const task = await getTask(binding, id, options);
    if (task.status.state === state) return task;
    await pause(10);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
