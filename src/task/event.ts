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
}

/** A user message with what its request said beside it. */
export interface AcceptedMessage {
  message: Message;
  caller: Caller;
  metadata?: Struct;
  acceptedOutputModes?: string[];
}

/** A user message was taken in: the task is WORKING, and the message waits for a turn. */
export interface MessageEvent extends AcceptedMessage {
  kind: "message";
  time: string;
}

/** A turn began, with the message that had waited longest. */
export interface TurnStartedEvent {
  kind: "turn-started";
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
  | TurnEndedEvent
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
