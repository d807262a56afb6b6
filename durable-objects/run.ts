/** One run of a turn, and the object as the turn sees it. */
import type { Agent } from "../src/agent/define-agent.ts";
import type { Turn } from "../src/agent/turn.ts";
import type { TurnPort } from "../src/agent/turn-port.ts";
import { unwrap } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import type { Task } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { Journal } from "../src/task/journal.ts";
import type { Alarms } from "./alarms.ts";
import type { EventLog } from "./event-log.ts";
import type { Waits } from "./waits.ts";

/** Where a turn looks up other tasks of the same owner. */
export interface TaskLookup {
  byId(record: TaskRecord, ids: readonly string[]): Promise<Task[]>;
  /** The tasks of the record's own context, latest first. */
  ofContext(record: TaskRecord): Promise<Task[]>;
}

/** What runs turns. */
export interface Dependencies {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly env: unknown;
  readonly log: EventLog;
  readonly alarms: Alarms;
  readonly lookup: TaskLookup;
  /** Answers with a message, when no task is born yet. */
  readonly reply: (message: Message) => boolean;
}

/** A run of a turn, in memory. */
export interface Run {
  readonly abort: AbortController;
  readonly waits: Waits;
  readonly journal: Journal;
  turn?: Turn;
}

/** The object for this run. What a call that nobody awaited comes to when the run is over is no part of the log. */
export function portOf(
  { journal, waits }: Run,
  record: TaskRecord,
  { log, lookup, reply }: Dependencies,
  isCurrent: () => boolean,
): TurnPort {
  return {
    journal,
    waits,
    // A task that was answered with a message is forgotten; its turn still sees what it was.
    record: () => log.record ?? record,
    now: () => new Date().toISOString(),
    append: (events) => {
      if (log.record && isCurrent()) unwrap(log.append(events));
    },
    chunk: (event) => log.chunk(event),
    reply,
    recall: (call) => Journal.read(log.stored(), true).outcome(call),
    tasksById: (ids) => lookup.byId(record, ids),
    tasksOfContext: () => lookup.ofContext(record),
  };
}
