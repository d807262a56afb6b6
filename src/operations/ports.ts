/** What operations need of the objects; the objects implement it, tests stand in with plain ones. */
import type { Agent } from "../agent/define-agent.ts";
import type { Caller } from "../protocol/caller.ts";
import type { AgentCard } from "../protocol/card.ts";
import type { Result } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import type { SendMessageResponse, TaskPushNotificationConfig } from "../protocol/requests.ts";
import type { Task, TaskState } from "../protocol/task.ts";
import type { TaskView } from "../task/view.ts";

/** A user message on its way to a task: a new one, or the one that `message.taskId` names. */
export interface SendInput {
  agentId: string;
  owner: string;
  caller: Caller;
  message: Message;
  metadata?: Struct | undefined;
  acceptedOutputModes?: string[] | undefined;
  pushConfig?: TaskPushNotificationConfig | undefined;
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
export interface TaskPort {
  send(input: SendInput, options: SendOptions): Promise<Result<SendMessageResponse>>;
  /** Waits for the answer to a message that the task took in before; `requestId` is that of its caller. */
  resume(owner: string, requestId: string, options: TaskView): Promise<Result<SendMessageResponse>>;
  stream(input: SendInput): Promise<Result<OpenStream>>;
  get(owner: string, view: TaskView): Promise<Result<Task>>;
  cancel(owner: string): Promise<Result<Task>>;
  subscribe(owner: string, options: SubscribeOptions): Promise<Result<OpenStream>>;
  putPushConfig(
    owner: string,
    config: TaskPushNotificationConfig,
  ): Promise<Result<TaskPushNotificationConfig>>;
  getPushConfig(owner: string, id: string): Promise<Result<TaskPushNotificationConfig>>;
  listPushConfigs(owner: string, limit: number, after: string): Promise<Result<ConfigPage>>;
  deletePushConfig(owner: string, id: string): Promise<Result<undefined>>;
}

export interface TaskDirectory {
  /** A task object that nobody knows yet, and its id. */
  create(): { id: string; task: TaskPort };
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

/** The tasks of one owner, latest status first. */
export interface IndexPort {
  put(row: IndexRow): Promise<void>;
  list(query: IndexQuery): Promise<IndexPage>;
}

/** Everything an operation may reach. */
export interface Ports {
  readonly agent: Agent;
  /** Absolute URL of the agent, without a trailing slash. */
  readonly url: string;
  /** The card as it may go out: signed where the agent signs, and then never otherwise (it throws). */
  signed(card: AgentCard): Promise<AgentCard>;
  readonly tasks: TaskDirectory;
  index(owner: string): IndexPort;
}
