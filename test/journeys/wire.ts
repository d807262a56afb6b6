/** The two bindings over plain HTTP, for what must be seen as it is on the wire. */
import type { StreamResponse, Task } from "durable-a2a";
import type { Step } from "../lab/script.ts";

export const BINDINGS = ["jsonrpc", "rest"] as const;
export type Binding = (typeof BINDINGS)[number];

type Params = Record<string, unknown>;

/** How the operations are spelled over HTTP+JSON (§11.3). */
const ROUTES = {
  SendMessage: () => ["POST", "/message:send"],
  SendStreamingMessage: () => ["POST", "/message:stream"],
  SubscribeToTask: ({ id }: Params) => ["POST", `/tasks/${id}:subscribe`],
  GetTask: ({ id }: Params) => ["GET", `/tasks/${id}`],
  ListTasks: (params: Params) => [
    "GET",
    `/tasks?${new URLSearchParams(params as Record<string, string>)}`,
  ],
  CancelTask: ({ id }: Params) => ["POST", `/tasks/${id}:cancel`],
  CreateTaskPushNotificationConfig: ({ taskId }: Params) => [
    "POST",
    `/tasks/${taskId}/pushNotificationConfigs`,
  ],
  ListTaskPushNotificationConfigs: ({ taskId }: Params) => [
    "GET",
    `/tasks/${taskId}/pushNotificationConfigs`,
  ],
  GetTaskPushNotificationConfig: ({ taskId, id }: Params) => [
    "GET",
    `/tasks/${taskId}/pushNotificationConfigs/${id}`,
  ],
  DeleteTaskPushNotificationConfig: ({ taskId, id }: Params) => [
    "DELETE",
    `/tasks/${taskId}/pushNotificationConfigs/${id}`,
  ],
} satisfies Record<string, (params: Params) => [string, string]>;
export type Operation = keyof typeof ROUTES;

interface CallOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Calls an operation; the response as it comes. */
export function call(
  url: string,
  binding: Binding,
  operation: Operation,
  params: Params,
  { headers, signal }: CallOptions = {},
): Promise<Response> {
  const [method, path] = binding === "jsonrpc" ? ["POST", "/"] : ROUTES[operation](params);
  const body = binding === "jsonrpc" ? { jsonrpc: "2.0", id: 1, method: operation, params } : params;
  return fetch(url + path, {
    method,
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers },
    ...(method === "POST" && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

/** A user message to the lab agent. */
export function message(content: string | Step[], named: { taskId?: string; contextId?: string } = {}) {
  const part = typeof content === "string" ? { text: content } : { data: { script: content } };
  return { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [part], ...named };
}

/** What an operation answered, whichever binding carried it; an error throws. */
export async function answerOf(response: Response): Promise<Params> {
  const body = (await response.json()) as { error?: object; result?: Params };
  if (body.error) throw new Error(JSON.stringify(body.error));
  return body.result ?? body;
}

/** Starts a task and does not wait for it. */
export async function begin(url: string, script: Step[], options: CallOptions = {}): Promise<Task> {
  const params = { message: message(script), configuration: { returnImmediately: true } };
  const { task } = await answerOf(await call(url, "jsonrpc", "SendMessage", params, options));
  return task as Task;
}

export async function getTask(url: string, id: string, options: CallOptions = {}): Promise<Task> {
  return (await answerOf(await call(url, "rest", "GetTask", { id }, options))) as unknown as Task;
}

/** An event of a stream, out of the envelope of its binding. */
export interface StreamEvent {
  /** `id:` of the event, when it has one. */
  readonly id: string | undefined;
  readonly response: StreamResponse;
  /** When it was read, in ms. */
  readonly at: number;
}

/** The events of an SSE answer, each as soon as it is there. */
export async function* eventsOf({ body }: Response): AsyncGenerator<StreamEvent> {
  if (!body) throw new Error("no body");
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const at = performance.now();
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split("\n");
      const data = lines.find((line) => line.startsWith("data: "))?.slice("data: ".length);
      if (data === undefined) continue;
      const json = JSON.parse(data) as { result?: StreamResponse } & StreamResponse;
      const id = lines.find((line) => line.startsWith("id: "))?.slice("id: ".length);
      yield { id, response: json.result ?? json, at };
    }
  }
  if (rest !== "") throw new Error(`the stream ended within an event: ${rest}`);
}

export async function readAll(response: Response): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}
