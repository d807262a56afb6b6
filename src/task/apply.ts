/** The rules of a task's life: a pure fold of its events. Nothing here knows of storage or time. */
import { type Refusal, type Result, refuse } from "../protocol/errors.ts";
import type { Message, Part } from "../protocol/message.ts";
import { type Artifact, isTerminal, type Task, type TaskStatus } from "../protocol/task.ts";
import type { AcceptedMessage, ArtifactEvent, CreatedEvent, MessageEvent, TaskEvent } from "./event.ts";
import { BEGUN, progress, type TurnProgress } from "./progress.ts";

/** Most recent messages that a history keeps; older ones are in the log alone. */
const MAX_HISTORY = 1_000;

/** The task as its log tells it. Values are never changed in place. */
export interface TaskRecord {
  readonly agentId: string;
  readonly owner: string;
  /** Whether its object is named by an `Idempotency-Key`. */
  readonly named?: boolean;
  readonly task: Task & { contextId: string; artifacts: Artifact[]; history: Message[] };
  /** Messages that were accepted and wait for a turn, oldest first. */
  readonly waiting: readonly AcceptedMessage[];
  readonly turn?: TurnProgress;
  /** Turns begun so far. */
  readonly turns: number;
  /** The message that began the last of them. */
  readonly input?: AcceptedMessage;
  /** When the client last sent a message. */
  readonly heardAt: string;
  readonly cause?: Refusal;
}

/**
 * The task after the event. A task in a terminal state absorbs: the same record comes back, but for the steps of its
 * clean-up. An event that breaks the rules is refused with INVALID_AGENT_RESPONSE.
 */
export function apply(record: TaskRecord | undefined, event: TaskEvent): Result<TaskRecord> {
  if (!record) {
    return event.kind === "created" ? accept(create(event)) : illegal("a task begins by being created");
  }
  if (isTerminal(record.task.status.state)) return accept(cleanUp(record, event));

  switch (event.kind) {
    case "created":
      return illegal("the task exists already");
    case "message":
      return accept(withMessage(record, event));
    case "turn-started": {
      const [input, ...waiting] = record.waiting;
      if (record.turn) return illegal("a turn is in progress");
      if (!input) return illegal("no message waits for a turn");
      return accept({ ...record, waiting, turn: BEGUN, turns: record.turns + 1, input });
    }
    case "turn-ended":
      return accept(withoutTurn(record));
    case "turn-resumed":
    case "outcome":
    case "wait":
    case "authorized":
      return accept(withProgress(record, event));
    case "status": {
      const { state } = event.status;
      if (state === "TASK_STATE_SUBMITTED") {
        return illegal(`a task cannot go from ${record.task.status.state} to ${state}`);
      }
      const next = withStatus(record, event.status);
      if (!isTerminal(state)) return accept(withProgress(next, event));
      const ended = { ...withoutTurn(next), waiting: [], ...(event.cause && { cause: event.cause }) };
      return accept(event.cleanup ? { ...ended, turn: { ...BEGUN, cleanup: true } } : ended);
    }
    case "artifact": {
      const { parts } = event.artifact;
      if (parts.length === 0) return illegal("artifact.parts must have at least one element");
      const artifacts = withArtifact(record.task.artifacts, event);
      return accept(withProgress({ ...record, task: { ...record.task, artifacts } }, event));
    }
    case "metadata":
      return accept({ ...record, task: { ...record.task, metadata: event.metadata } });
  }
}

/** What a task that has ended still takes: the course of its clean-up. */
function cleanUp(record: TaskRecord, event: TaskEvent): TaskRecord {
  if (!record.turn?.cleanup) return record;
  switch (event.kind) {
    case "turn-ended":
      return withoutTurn(record);
    case "turn-resumed":
    case "outcome":
    case "wait":
      return withProgress(record, event);
    default:
      return record;
  }
}

function withoutTurn({ turn: _, ...rest }: TaskRecord): TaskRecord {
  return rest;
}

function withProgress(record: TaskRecord, event: TaskEvent): TaskRecord {
  return record.turn ? { ...record, turn: progress(record.turn, event) } : record;
}

/** The task is WORKING on the message, which answers the question that is open or waits for a turn. */
function withMessage(record: TaskRecord, event: MessageEvent): TaskRecord {
  const { kind: _, time, answers, ...input } = event;
  const working = withStatus(record, { state: "TASK_STATE_WORKING", timestamp: time });
  const { task, waiting } = working;
  const next = {
    ...working,
    task: { ...task, history: remember(task.history, input.message) },
    heardAt: time,
  };
  if (!answers) return { ...next, waiting: [...waiting, input] };
  return withProgress(next, event);
}

function accept(value: TaskRecord): Result<TaskRecord> {
  return { ok: true, value };
}

function illegal(why: string): Result<TaskRecord> {
  return refuse("INVALID_AGENT_RESPONSE", { message: `Invalid agent response: ${why}` });
}

function create(event: CreatedEvent): TaskRecord {
  const { agentId, owner, taskId, contextId, named } = event;
  return {
    agentId,
    owner,
    ...(named && { named }),
    task: {
      id: taskId,
      contextId,
      status: { state: "TASK_STATE_SUBMITTED" },
      artifacts: [],
      history: [],
    },
    waiting: [],
    turns: 0,
    heardAt: "",
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
export function withArtifact(artifacts: Artifact[], event: ArtifactEvent): Artifact[] {
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
