/** What the object of a task and the consumer of the queue say to each other. */
import type { TaskPushNotificationConfig } from "../protocol/requests.ts";

/** A message of the queue: this webhook has something to be sent. Never payloads, never secrets. */
export interface Job {
  /** Id of the task. */
  task: string;
  /** Id of its push notification config. */
  config: string;
}

/** One POST: a StreamResponse in JSON (§4.3.3). */
export interface Notification {
  /** The same whenever this event is sent to this webhook. */
  id: string;
  /** Seq in the log of the task; of several events that were merged, the last one's. */
  seq: number;
  body: string;
}

/** What is to be sent now, in this order. Nobody else sends it until `until`. */
export interface Lease {
  id: string;
  /** ms. */
  until: number;
  taskId: string;
  agentId: string;
  /** The agent's public URL. */
  issuer: string;
  traceId: string | undefined;
  config: TaskPushNotificationConfig & { id: string };
  notifications: Notification[];
}

/** Why a notification was not taken. */
export interface Failure {
  /** `retry`: later; `stop`: never as it is; `gone`: the receiver wants no more (HTTP 410). */
  verdict: "retry" | "stop" | "gone";
  /** HTTP status, when there was an answer. */
  status?: number;
  /** In words, for the operator. */
  error: string;
  timedOut?: boolean;
  /** ms the receiver asks to wait (`Retry-After`). */
  retryAfter?: number;
}

/** How the sending went: it ends with the first failure. */
export interface Report {
  /** Seq of the last notification that was taken. */
  delivered?: number;
  failure?: Failure;
}

/** A task, as the consumer of the queue knows it. Configs are named by their ids, leases too. */
export interface DeliveryPort {
  /** What a webhook is to be sent next, for the one who comes for it first. */
  lease(config: string): Promise<Lease | undefined>;
  /** Whether the lease still holds: the webhook was not deleted or changed since. */
  holds(config: string, lease: string): Promise<boolean>;
  /** What came of a lease. */
  settle(config: string, lease: string, report: Report): Promise<void>;
}

/** How the deliveries to one webhook go, for the operator. */
export interface DeliveryState {
  /** Id of the push notification config. */
  id: string;
  url: string;
  /** `retrying`: the last attempt failed and is made again; `stopped`: it is not, until it is restarted. */
  state: "active" | "retrying" | "stopped";
  /** Events that wait to be sent. */
  waiting: number;
  /** Seq of the last event that was taken. */
  seq: number;
  /** Failures in a row. */
  failures: number;
  /** Status of the last answer, and when it came or did not come (RFC 3339). */
  lastStatus?: number;
  lastAttempt?: string;
  /** Why the last attempt failed. */
  lastError?: string;
  /** When it is tried again (RFC 3339). */
  nextAttempt?: string;
}
