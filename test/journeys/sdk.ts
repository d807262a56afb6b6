/** The official SDK as a client: one for each binding, and what it says in short. */
import * as sdk from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { A2AError, isJsonRpcError, isRestError } from "@a2a-js/sdk/errors";
import type { Step } from "../lab/script.ts";

export const BINDINGS = ["JSONRPC", "HTTP+JSON"] as const;
export type BindingName = (typeof BINDINGS)[number];

/** A client that reads the card of the agent and takes this binding from it; it calls by `fetchImpl`. */
export function connect(
  url: string,
  binding: BindingName,
  fetchImpl: typeof fetch = fetch,
): Promise<Client> {
  // Only one factory: a card without that binding leaves no client.
  const transport =
    binding === "JSONRPC"
      ? new JsonRpcTransportFactory({ fetchImpl })
      : new RestTransportFactory({ fetchImpl });
  return new ClientFactory({ transports: [transport] }).createFromUrl(url);
}

interface MessageOptions {
  taskId?: string;
  contextId?: string;
  /** §3.2.2 of the specification. */
  returnImmediately?: boolean;
  messageId?: string;
}

/** A user message: a text, or a script for the lab agent. */
export function say(
  content: string | Step[],
  { taskId, contextId, returnImmediately, messageId = crypto.randomUUID() }: MessageOptions = {},
): sdk.SendMessageRequest {
  const part = typeof content === "string" ? { text: content } : { data: { script: content } };
  return sdk.SendMessageRequest.fromJSON({
    message: { messageId, role: "ROLE_USER", parts: [part], taskId, contextId },
    configuration: { returnImmediately },
  });
}

/** A request of ListTasks; all of them when nothing is said. */
export function listing(request: Partial<sdk.ListTasksRequest> = {}): sdk.ListTasksRequest {
  return sdk.ListTasksRequest.fromJSON(request);
}

/** A webhook with secrets. */
export function webhook(
  taskId: string,
  url = "https://example.com/hook",
): sdk.TaskPushNotificationConfig {
  const authentication = { scheme: "Bearer", credentials: "s3cret" };
  return sdk.TaskPushNotificationConfig.fromJSON({ taskId, url, token: "t0ken", authentication });
}

/** The answer, which must be a task. */
export function taskOf(answer: sdk.Task | sdk.Message | undefined): sdk.Task {
  if (answer && "status" in answer) return answer;
  throw new Error(`not a task: ${JSON.stringify(answer)}`);
}

export function stateOf({ status }: sdk.Task | sdk.TaskStatusUpdateEvent): string {
  return sdk.taskStateToJSON(status?.state ?? sdk.TaskState.UNRECOGNIZED);
}

export function textOf(parts: readonly sdk.Part[] = []): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

/** Names of the artifacts with their texts. */
export function artifactsOf({ artifacts }: sdk.Task): [string, string][] {
  return artifacts.map(({ name, parts }) => [name, textOf(parts)]);
}

export async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
}

/** What kind of events these are, in order; a status by its state. */
export function kindsOf(events: readonly sdk.StreamResponse[]): string[] {
  return events.map(({ payload }) =>
    payload?.$case === "statusUpdate" ? stateOf(payload.value) : (payload?.$case ?? "nothing"),
  );
}

/** The task that a stream began with, with the artifacts as its events built them up. */
export function assemble(events: readonly sdk.StreamResponse[]): sdk.Task {
  const [first, ...updates] = events.map(({ payload }) => payload);
  if (first?.$case !== "task") throw new Error(`a stream began with ${first?.$case}`);
  const task = structuredClone(first.value);
  for (const update of updates) {
    if (update?.$case === "statusUpdate") task.status = update.value.status;
    if (update?.$case !== "artifactUpdate" || !update.value.artifact) continue;
    const { artifact, append } = update.value;
    const at = task.artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
    const existing = task.artifacts[at];
    if (existing && append) existing.parts.push(...artifact.parts);
    else task.artifacts.splice(at < 0 ? task.artifacts.length : at, 1, artifact);
  }
  return task;
}

/** The error of the SDK that a call ends with. */
export async function refusalOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<A2AError> {
  try {
    await (Symbol.asyncIterator in call ? all(call) : call);
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error("the call was not refused");
}

/** What the error was on the wire: the code of JSON-RPC, the status of HTTP. */
export function wireCode(error: A2AError): number | undefined {
  if (isJsonRpcError(error)) return error.envelopeCode;
  return isRestError(error) ? error.statusCode : undefined;
}
