/** The rules of a task's life: a pure fold of its events. Nothing here knows of storage or time. */
import { type Refusal, type Result, refuse } from "../protocol/errors.ts";
import type { Message, Part } from "../protocol/message.ts";
import { type Artifact, isTerminal, type Task, type TaskStatus } from "../protocol/task.ts";
import type { AcceptedMessage, ArtifactEvent, CreatedEvent, TaskEvent } from "./event.ts";

/** Most recent messages that a history keeps; older ones are in the log alone. */
const MAX_HISTORY = 1_000;

/** The task as its log tells it. Values are never changed in place. */
export interface TaskRecord {
  readonly agentId: string;
  readonly owner: string;
  readonly task: Task & { contextId: string; artifacts: Artifact[]; history: Message[] };
  /** Messages that were accepted and wait for a turn, oldest first. */
  readonly waiting: readonly AcceptedMessage[];
  /** The turn in progress; `number` counts the turns of this task from 1. */
  readonly turn?: { readonly number: number; readonly input: AcceptedMessage };
  /** Turns begun so far. */
  readonly turns: number;
  readonly cause?: Refusal;
}

/**
 * The task after the event. A task in a terminal state absorbs: the same record comes back. An event that
 * breaks the rules is refused with INVALID_AGENT_RESPONSE.
 */
export function apply(record: TaskRecord | undefined, event: TaskEvent): Result<TaskRecord> {
  if (!record) {
    return event.kind === "created" ? accept(create(event)) : illegal("a task begins by being created");
  }
  if (isTerminal(record.task.status.state)) return accept(record);

  switch (event.kind) {
    case "created":
      return illegal("the task exists already");
    case "message": {
      const { kind: _, time, ...input } = event;
      const working = withStatus(record, { state: "TASK_STATE_WORKING", timestamp: time });
      return accept({
        ...working,
        task: { ...working.task, history: remember(working.task.history, input.message) },
        waiting: [...record.waiting, input],
      });
    }
    case "turn-started": {
      const [input, ...waiting] = record.waiting;
      if (record.turn) return illegal("a turn is in progress");
      if (!input) return illegal("no message waits for a turn");
      const number = record.turns + 1;
      return accept({ ...record, waiting, turn: { number, input }, turns: number });
    }
    case "turn-ended": {
      const { turn: _, ...rest } = record;
      return accept(rest);
    }
    case "status": {
      const { state } = event.status;
      if (state === "TASK_STATE_SUBMITTED") {
        return illegal(`a task cannot go from ${record.task.status.state} to ${state}`);
      }
      const next = withStatus(record, event.status);
      if (!isTerminal(state)) return accept(next);
      const { turn: _, ...ended } = next;
      return accept({ ...ended, waiting: [], ...(event.cause && { cause: event.cause }) });
    }
    case "artifact": {
      const { parts } = event.artifact;
      if (parts.length === 0) return illegal("artifact.parts must have at least one element");
      const artifacts = withArtifact(record.task.artifacts, event);
      return accept({ ...record, task: { ...record.task, artifacts } });
    }
    case "metadata":
      return accept({ ...record, task: { ...record.task, metadata: event.metadata } });
  }
}

function accept(value: TaskRecord): Result<TaskRecord> {
  return { ok: true, value };
}

function illegal(why: string): Result<TaskRecord> {
  return refuse("INVALID_AGENT_RESPONSE", { message: `Invalid agent response: ${why}` });
}

function create(event: CreatedEvent): TaskRecord {
  const { agentId, owner, taskId, contextId } = event;
  return {
    agentId,
    owner,
    task: {
      id: taskId,
      contextId,
      status: { state: "TASK_STATE_SUBMITTED" },
      artifacts: [],
      history: [],
    },
    waiting: [],
    turns: 0,
  };
}

/** A replaced status leaves its message in the history; times never go back. */
function withStatus(record: TaskRecord, status: TaskStatus): TaskRecord {
  const { task } = record;
  const previous = task.status;
  const earlier = status.timestamp && previous.timestamp && status.timestamp < previous.timestamp;
  return {
    ...record,
    task: {
      ...task,
      status: earlier && previous.timestamp ? { ...status, timestamp: previous.timestamp } : status,
      history: previous.message ? remember(task.history, previous.message) : task.history,
    },
  };
}

function remember(history: Message[], message: Message): Message[] {
  return [...history.slice(1 - MAX_HISTORY), message];
}

/** `append` to an artifact that is not there creates it. */
function withArtifact(artifacts: Artifact[], event: ArtifactEvent): Artifact[] {
  const { artifact, append, chunk } = event;
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const existing = artifacts[at];
  if (!existing) return [...artifacts, artifact];
  return artifacts.with(at, append ? extend(existing, artifact, chunk === true) : artifact);
}

function extend(existing: Artifact, more: Artifact, joinText: boolean): Artifact {
  const extensions = [...new Set([...(existing.extensions ?? []), ...(more.extensions ?? [])])];
  return {
    ...existing,
    ...more,
    parts: joinText ? joinParts(existing.parts, more.parts) : [...existing.parts, ...more.parts],
    ...((existing.metadata || more.metadata) && {
      metadata: { ...existing.metadata, ...more.metadata },
    }),
    ...(extensions.length > 0 && { extensions }),
  };
}

/** `more` behind `parts`; text that continues plain text of the same kind goes into the same part. */
export function joinParts(parts: readonly Part[], more: readonly Part[]): Part[] {
  const joined = [...parts];
  for (const part of more) {
    const last = joined.at(-1);
    if (last && isPlainText(last) && isPlainText(part) && last.mediaType === part.mediaType) {
      joined[joined.length - 1] = { ...last, text: `${last.text}${part.text}` };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

function isPlainText(part: Part): boolean {
  return part.text !== undefined && part.metadata === undefined && part.filename === undefined;
}
