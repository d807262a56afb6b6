/**
 * What can happen to a task: the entries of its log, and what a stream shows of them.
 *
 * Stored for as long as the task is kept. Every stored row names the version of its events; a change
 * of shape is a new version, and old ones are read for ever.
 */
import type { Caller } from "../protocol/caller.ts";
import type { Refusal } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import type { Artifact, StreamResponse, TaskStatus } from "../protocol/task.ts";

export const EVENT_VERSION = 1;

/** The first entry of every log. */
export interface CreatedEvent {
  kind: "created";
  agentId: string;
  owner: string;
  taskId: string;
  contextId: string;
  /** The object is named by an `Idempotency-Key`. */
  named?: boolean;
}

/** An `Idempotency-Key`, and the SHA-256 of the request that came with it. */
export interface Idempotency {
  key: string;
  request: string;
}

/** A user message with what its request said beside it. */
export interface AcceptedMessage {
  message: Message;
  caller: Caller;
  metadata?: Struct;
  acceptedOutputModes?: string[];
  idempotency?: Idempotency;
}

/** A user message was taken in: the task is WORKING, and the message waits for a turn or answers what one asked. */
export interface MessageEvent extends AcceptedMessage {
  kind: "message";
  time: string;
  /** The question it answers. */
  answers?: DurableCall;
}

/** A turn began, with the message that had waited longest. */
export interface TurnStartedEvent {
  kind: "turn-started";
}

/** The turn, cut off with the object that ran it or put away while it waited, runs again from the top. */
export interface TurnResumedEvent {
  kind: "turn-resumed";
  time: string;
}

/** A call of a turn that is remembered; within a turn (kind, name, nth) name it. `nth` counts from 1. */
export interface DurableCall {
  kind: "step" | "sleep" | "ask" | "authorize" | "stream";
  name: string;
  nth: number;
}

/** An error that is remembered. */
export interface StoredError {
  name: string;
  message: string;
  /** What an A2AError says beside its message. */
  refusal?: Refusal;
}

/** What came of a call: a value (none is `undefined`), or an error. */
export interface OutcomeEvent {
  kind: "outcome";
  call: DurableCall;
  value?: unknown;
  error?: StoredError;
}

/** A call waits until a time (ms): a sleep, or a step that failed `tries` times and is tried again. */
export interface WaitEvent {
  kind: "wait";
  call: DurableCall;
  until: number;
  tries?: number;
  /** Ends (ms) of the other waits of this turn. */
  beside?: number[];
}

/** An authorization was given outside of A2A (§7.6.4). */
export interface AuthorizedEvent {
  kind: "authorized";
  call: DurableCall;
  value?: unknown;
}

/** The turn ended and the task goes on (a terminal status needs no such entry). */
export interface TurnEndedEvent {
  kind: "turn-ended";
}

export interface StatusEvent {
  kind: "status";
  status: TaskStatus & { timestamp: string };
  metadata?: Struct;
  /** Why the framework ended the task, when it was not the agent's word. */
  cause?: Refusal;
  /** The question that the status puts to the client; `until` (ms) and `beside` as in a wait. */
  asks?: { call: DurableCall; until?: number; beside?: number[] };
  /** Not part of what a turn says again when it runs again: said by the framework, or within a step. */
  aside?: boolean;
  /** With the end of the task its clean-up began: a turn of its own that can change nothing of the task. */
  cleanup?: boolean;
}

export interface ArtifactEvent {
  kind: "artifact";
  artifact: Artifact;
  append?: boolean;
  lastChunk?: boolean;
  metadata?: Struct;
  /** A piece of one growing artifact: adjacent text parts are joined. */
  chunk?: boolean;
}

/** The task's own metadata were replaced. */
export interface MetadataEvent {
  kind: "metadata";
  metadata: Struct;
}

export type TaskEvent =
  | CreatedEvent
  | MessageEvent
  | TurnStartedEvent
  | TurnResumedEvent
  | TurnEndedEvent
  | OutcomeEvent
  | WaitEvent
  | AuthorizedEvent
  | StatusEvent
  | ArtifactEvent
  | MetadataEvent;

/** The event as streams and webhooks show it; undefined for what concerns only the server. */
export function toStreamResponse(
  event: TaskEvent,
  { taskId, contextId }: { taskId: string; contextId: string },
): StreamResponse | undefined {
  switch (event.kind) {
    case "message":
      return {
        statusUpdate: {
          taskId,
          contextId,
          status: { state: "TASK_STATE_WORKING", timestamp: event.time },
        },
      };
    case "status": {
      const { status, metadata } = event;
      return { statusUpdate: { taskId, contextId, status, ...(metadata && { metadata }) } };
    }
    case "artifact": {
      const { artifact, append, lastChunk, metadata } = event;
      return {
        artifactUpdate: {
          taskId,
          contextId,
          artifact,
          ...(append && { append }),
          ...(lastChunk && { lastChunk }),
          ...(metadata && { metadata }),
        },
      };
    }
    default:
      return undefined;
  }
}
