/**
 * Runs the turns of one task, one at a time. While a turn runs an alarm holds the object in memory: without
 * traffic the platform would evict it within minutes.
 */
import type { Agent } from "../src/agent/define-agent.ts";
import { Turn } from "../src/agent/turn.ts";
import type { TurnPort } from "../src/agent/turn-port.ts";
import {
  A2AError,
  type Reason,
  type Refusal,
  type Result,
  refuse,
  unwrap,
} from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import { isInterrupted, isTerminal, type Task } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import type { AcceptedMessage, ArtifactEvent, TaskEvent } from "../src/task/event.ts";
import type { Alarms } from "./alarms.ts";
import type { Entry, EventLog } from "./event-log.ts";

const HOLD_MS = 30_000;

/** What the edge alone may say of a request; from an agent it is an error like any other. */
const EDGE_REASONS: ReadonlySet<Reason> = new Set<Reason>([
  "UNAUTHENTICATED",
  "PARSE_ERROR",
  "INVALID_REQUEST",
  "METHOD_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "PAYLOAD_TOO_LARGE",
  "INTERNAL",
]);

/** Where a turn looks up other tasks of the same owner. */
export interface TaskLookup {
  byId(record: TaskRecord, ids: readonly string[]): Promise<Task[]>;
  /** The tasks of the record's own context, latest first. */
  ofContext(record: TaskRecord): Promise<Task[]>;
}

interface Dependencies {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly env: unknown;
  readonly log: EventLog;
  readonly alarms: Alarms;
  readonly lookup: TaskLookup;
  /** Answers with a message, when no task is born yet. */
  readonly reply: (message: Message) => boolean;
}

export class Runner {
  readonly #deps: Dependencies;
  #abort: AbortController | undefined;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Runs the turn that the log says has begun. */
  start(): void {
    const record = this.#deps.log.record;
    if (!record?.turn || this.#abort) return;
    this.#abort = new AbortController();
    void this.#run(record, record.turn, this.#abort);
  }

  /** Holds the object while a turn is in progress, and lets it go after. */
  hold(record: TaskRecord): void {
    this.#deps.alarms.set("hold", record.turn ? Date.now() + HOLD_MS : undefined);
  }

  /**
   * Ends a task whose turn was cut off with the object that ran it: there is a turn in the log, and none in
   * memory. It fails, so that nobody waits for it for ever.
   */
  recover(): void {
    if (!this.#deps.log.record?.turn || this.#abort) return;
    this.#close([this.#failed("The agent was interrupted and could not finish this task")]);
  }

  /** The entries of the log say whether there is a turn to hold the object for. */
  tell(entries: readonly Entry[]): void {
    const last = entries.findLast(({ event }) => event.kind !== "artifact");
    if (last) this.hold(last.record);
  }

  /** Cancels the task, and then tells the turn in progress. A task that is canceled already stays as it is (§3.3.1). */
  cancel(record: TaskRecord): Result<undefined> {
    const { id, status } = record.task;
    if (status.state === "TASK_STATE_CANCELED") return { ok: true, value: undefined };
    if (isTerminal(status.state)) {
      return refuse("TASK_NOT_CANCELABLE", {
        message: `The task has ended (${status.state}) and cannot be canceled`,
        metadata: { taskId: id },
      });
    }
    const timestamp = new Date().toISOString();
    const canceled = this.#deps.log.append(
      [{ kind: "status", status: { state: "TASK_STATE_CANCELED", timestamp } }],
      { always: true },
    );
    this.#stop(record);
    return canceled;
  }

  /** Aborts the turn in progress, and gives the agent the chance to clean up. */
  #stop(record: TaskRecord): void {
    this.#abort?.abort(new Error("the task was canceled"));
    const agent = this.#agent(record);
    if (!agent?.definition.onCancel || !record.turn) return;
    const turn = this.#turn(agent, record, record.turn, AbortSignal.abort());
    void this.#report(record, async () => agent.definition.onCancel?.(turn));
  }

  async #run(record: TaskRecord, begun: NonNullable<TaskRecord["turn"]>, abort: AbortController) {
    const { caller } = begun.input;
    let events: TaskEvent[];
    let turn: Turn | undefined;
    try {
      const agent = this.#agent(record);
      if (!agent) throw new Error(`no agent "${record.agentId}" in this Worker`);
      turn = this.#turn(agent, record, begun, abort.signal);
      events = turn.closing(await agent.definition.run(turn));
    } catch (error) {
      events = [this.#failure(error, record, caller.requestId)];
      turn?.close();
    }
    this.#abort = undefined;
    this.#close(events);
    this.start();
  }

  /** Appends the events that close a turn, and begins the next one when a message waits. */
  #close(events: TaskEvent[]): void {
    const { log } = this.#deps;
    const { record } = log;
    // Answered with a message, or ended by cancel or by the agent itself: nothing is left to close.
    if (!record || isTerminal(record.task.status.state)) return;
    const next =
      events.at(-1)?.kind === "turn-ended" && record.waiting.length > 0 ? nextTurn(record) : [];
    const appended = log.append([...events, ...next]);
    if (appended.ok) return;
    const { refusal } = appended;
    log.append([this.#failed(refusal.message ?? "", refusal)], { always: true });
  }

  #failure(error: unknown, { task }: TaskRecord, requestId: string): TaskEvent {
    if (A2AError.is(error) && !EDGE_REASONS.has(error.reason)) {
      console.error(`task ${task.id}: ${error.message}`, error.fields);
      const { reason, message, fields, metadata } = error;
      return this.#failed(message, { reason, message, fields, metadata });
    }
    if (!isTerminal(this.#deps.log.record?.task.status.state ?? "TASK_STATE_WORKING")) {
      console.error(`task ${task.id}: the agent threw (request ${requestId})`, error);
    }
    return this.#failed(`Internal error (request ${requestId})`);
  }

  async #report({ task }: TaskRecord, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      console.error(`task ${task.id}: onCancel threw`, error);
    }
  }

  #agent(record: TaskRecord): Agent | undefined {
    return this.#deps.agents.get(record.agentId);
  }

  #turn(
    agent: Agent,
    record: TaskRecord,
    begun: { number: number; input: AcceptedMessage },
    signal: AbortSignal,
  ): Turn {
    const { log, lookup, reply, env } = this.#deps;
    const port: TurnPort = {
      // A task that was answered with a message is forgotten; its turn still sees what it was.
      record: () => log.record ?? record,
      now: () => new Date().toISOString(),
      append: (events) => {
        if (log.record) unwrap(log.append(events));
      },
      chunk: (event: ArtifactEvent) => log.chunk(event),
      reply,
      tasksById: (ids) => lookup.byId(record, ids),
      tasksOfContext: () => lookup.ofContext(record),
    };
    return new Turn(agent, port, env, signal, begun);
  }

  /** The framework's own end of a task; its message says why. */
  #failed(text: string, cause?: Refusal): TaskEvent {
    const { id, contextId } = this.#deps.log.record?.task ?? {};
    return {
      kind: "status",
      status: {
        state: "TASK_STATE_FAILED",
        timestamp: new Date().toISOString(),
        message: {
          messageId: crypto.randomUUID(),
          taskId: id,
          contextId,
          role: "ROLE_AGENT",
          parts: [{ text }],
        },
      },
      ...(cause && { cause }),
    };
  }
}

/** A message that waited starts its turn; what the last turn asked for is no longer what the task waits for. */
function nextTurn({ task }: TaskRecord): TaskEvent[] {
  if (!isInterrupted(task.status.state)) return [{ kind: "turn-started" }];
  const status = { state: "TASK_STATE_WORKING", timestamp: new Date().toISOString() } as const;
  return [{ kind: "status", status }, { kind: "turn-started" }];
}
