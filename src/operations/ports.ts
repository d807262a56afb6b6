/** What operations need of the objects; the objects implement it, tests stand in with plain ones. */
import type { Agent } from "../agent/define-agent.ts";
import type { Caller } from "../protocol/caller.ts";
import type { AgentCard } from "../protocol/card.ts";
import type { Refused, Result } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import type { SendMessageResponse, TaskPushNotificationConfig } from "../protocol/requests.ts";
import type { Task, TaskState } from "../protocol/task.ts";
import type { DeliveryPort, DeliveryState } from "../push/job.ts";
import type { Idempotency } from "../task/event.ts";
import type { TaskView } from "../task/view.ts";

/** A user message on its way to a task: a new one, or the one that `message.taskId` names. */
export interface SendInput {
  agentId: string;
  owner: string;
  caller: Caller;
  message: Message;
  metadata?: Struct | undefined;
  acceptedOutputModes?: string[] | undefined;
  push?: Configured | undefined;
  idempotency?: Idempotency | undefined;
}

/** A webhook as it was asked for. */
export interface Configured {
  config: TaskPushNotificationConfig;
  /** The agent's public URL, which signs for what is sent. */
  issuer: string;
  traceId?: string | undefined;
}

/** What tells a message that was sent before. */
export interface Sent {
  requestId: string;
  key?: string | undefined;
}

export interface SendOptions extends TaskView {
  /** Answers with the task as it is, instead of waiting for a terminal or interrupted state (§3.2.2). */
  returnImmediately: boolean;
}

/** What ends a stream: a terminal state alone (§3.1.6), or also INPUT_REQUIRED (§3.1.2). AUTH_REQUIRED never does (§7.6.1). */
export type Until = "terminal" | "input";

export interface SubscribeOptions {
  until: Until;
  /** Seq of the last event the reader saw: the stream begins with the task as it stood then, and goes on from there. */
  lastEventId: number | undefined;
}

/** An open stream of frames (see `task/frame.ts`). */
export interface OpenStream {
  taskId: string;
  state: TaskState;
  frames: ReadableStream<Uint8Array>;
}

export interface ConfigPage {
  configs: TaskPushNotificationConfig[];
  /** Id of the last config when there are more. */
  last?: string;
}

/**
 * One task. Every method takes the owner who asks: a task of another owner, and one that was never made, are
 * refused alike with TASK_NOT_FOUND.
 */
export interface TaskPort extends DeliveryPort {
  send(input: SendInput, options: SendOptions): Promise<Result<SendMessageResponse>>;
  /** Waits for the answer to a message that the task took in before. */
  resume(owner: string, sent: Sent, options: TaskView): Promise<Result<SendMessageResponse>>;
  stream(input: SendInput): Promise<Result<OpenStream>>;
  get(owner: string, view: TaskView): Promise<Result<Task>>;
  /** The same for a client, as a line of text (`fromLine` in `task/view.ts`). */
  read(owner: string, historyLength?: number): Promise<string | Refused>;
  cancel(owner: string): Promise<Result<Task>>;
  subscribe(owner: string, options: SubscribeOptions): Promise<Result<OpenStream>>;
  putPushConfig(owner: string, push: Configured): Promise<Result<TaskPushNotificationConfig>>;
  getPushConfig(owner: string, id: string): Promise<Result<TaskPushNotificationConfig>>;
  listPushConfigs(owner: string, limit: number, after: string): Promise<Result<ConfigPage>>;
  deletePushConfig(owner: string, id: string): Promise<Result<undefined>>;
  /** How the deliveries to the webhooks go; undefined when there is no task. For the operator. */
  deliveries(): Promise<DeliveryState[] | undefined>;
  /** Sends again what a webhook has not taken, or everything from the event `from` on. For the operator. */
  restartDelivery(config: string, from?: number): Promise<Result<undefined>>;
  /** Gives the authorization that a turn waits for; for the operator, whoever the owner is. */
  authorize(name: string, value: unknown): Promise<Result<undefined>>;
  /** Deletes everything of the task; false when there is none. For the operator. */
  erase(): Promise<boolean>;
}

export interface TaskDirectory {
  /** A task object that nobody knows yet, or the one of this name; and its id. */
  create(name?: string): { id: string; task: TaskPort };
  /** The object a task id names; undefined when the text names none of ours. */
  find(id: string): TaskPort | undefined;
}

/** A task as the index keeps it. */
export interface IndexRow {
  id: string;
  contextId: string;
  state: TaskState;
  /** Time of the status, in ms. */
  time: number;
  /** The Task in JSON, without history and artifacts. */
  body: string;
}

export interface IndexQuery {
  contextId?: string | undefined;
  state?: TaskState | undefined;
  /** Earliest status time, in ms. */
  since?: number | undefined;
  /** Only rows behind this one, in the order of the list. */
  behind?: { time: number; id: string } | undefined;
  limit: number;
}

export interface IndexPage {
  rows: IndexRow[];
  /** Whether there are more rows behind the last. */
  more: boolean;
  /** Rows that match, over all pages. */
  total: number;
}

/** What an owner wants to have one more of, and how many it may have. */
export interface AdmitRequest {
  /** The task that a message is for; it counts once, however many messages it has. */
  task?: { id: string; limit: number };
  stream?: { id: string; limit: number };
}

/** The tasks of one owner, latest status first. */
export interface IndexPort {
  put(row: IndexRow): Promise<void>;
  remove(id: string): Promise<void>;
  /** Takes all tasks out of the list at once, and deletes them one after the other. Returns how many there were. */
  deleteAll(): Promise<number>;
  list(query: IndexQuery): Promise<IndexPage>;
  /** Counts what is under way; refused with RESOURCE_EXHAUSTED when it is too much. */
  admit(request: AdmitRequest): Promise<Result<undefined>>;
  /** The stream is still open. */
  hold(stream: string): Promise<void>;
  /** These streams have ended, or messages to these tasks came to nothing. */
  release(ids: string[]): Promise<void>;
}

/** A rate-limit binding of Cloudflare. */
export interface RateLimiter {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Everything an operation may reach. */
export interface Ports {
  readonly agent: Agent;
  /** The Worker's bindings, for what the agent's author wrote. */
  readonly env: unknown;
  /** Absolute URL of the agent, without a trailing slash. */
  readonly url: string;
  /** Where the request comes from; empty when that is not known. */
  readonly address: string;
  /** The card as it may go out: signed where the agent signs, and then never otherwise (it throws). */
  signed(card: AgentCard): Promise<AgentCard>;
  /** The keys that sign what goes to webhooks, as a JWK set. */
  publicKeys(): Promise<{ keys: object[] }>;
  readonly tasks: TaskDirectory;
  index(owner: string): IndexPort;
  /** The rate-limit binding of that name; throws with what to add to the configuration when there is none. */
  limiter(binding: string): RateLimiter;
}
