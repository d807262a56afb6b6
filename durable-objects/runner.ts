/**
 * Runs the turns of one task, one at a time. While the code of a turn runs an alarm holds the object in memory: without
 * traffic the platform would evict it within minutes. A turn whose object was cut off, or put away while the turn
 * waited, runs again from the top when there is something to go on with; what it remembers is in the log.
 */
import { loggedTaskId } from "../src/agent/audit.ts";
import type { Agent } from "../src/agent/define-agent.ts";
import { inWords } from "../src/agent/duration.ts";
import { Turn } from "../src/agent/turn.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import { isTerminal } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { failed, failureOf, nextTurn, working } from "../src/task/endings.ts";
import type { AcceptedMessage, DurableCall, TaskEvent } from "../src/task/event.ts";
import { Journal, type Outcome } from "../src/task/journal.ts";
import { isParked, type Question } from "../src/task/progress.ts";
import type { Entry } from "./event-log.ts";
import { type Dependencies, portOf, type Run } from "./run.ts";
import { SHORT_MS, Waits } from "./waits.ts";

const HOLD_MS = 30_000;

export class Runner {
  readonly #deps: Dependencies;
  #run: Run | undefined;
  /** Turns that were begun so far, by this object or by the one that was here before it. */
  #begun: number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#begun = deps.log.record?.turns ?? 0;
  }

  /**
   * Runs the turn that the log says is in progress: one that has just begun, or one that was cut off. One that waits
   * is left alone, unless its wait is short, for which no alarm may be set, or `held`: the alarm that held the object
   * went off, so its code was running.
   */
  start(held = false): void {
    const { log } = this.#deps;
    const { record } = log;
    if (!record?.turn || this.#run) return;
    if (record.turns > this.#begun) {
      this.#begun = record.turns;
      this.#begin(record, new Journal());
    } else if (held || !isParked(record.turn, Date.now() + SHORT_MS)) {
      this.#resume(record);
    }
  }

  /**
   * What is due at this time: the deadline of the task, the time limit of a question, the end of a sleep. `held`: the
   * alarm may have been the one that held the object.
   */
  alarm(now: number, held = true): void {
    const { log } = this.#deps;
    const before = log.seq;
    const deadline = this.#deadline(log.record);
    if (deadline !== undefined && deadline <= now) this.#expire();
    const asked = log.record?.turn?.asked;
    if (asked?.until !== undefined && asked.until <= now) this.#unanswered(asked);
    const run = this.#run;
    run?.waits.wake(now);
    run?.waits.settle();
    this.start(held && log.seq === before);
    this.plan();
  }

  /** The entries of the log say what the turn waits for. */
  tell(entries: readonly Entry[]): void {
    for (const { event } of entries) {
      if (event.kind === "message" && event.answers) {
        this.#answer(event.answers, { message: event.message });
      } else if (event.kind === "authorized") {
        this.#answer(event.call, { authorized: event.value });
      }
    }
    if (entries.some(({ event }) => event.kind !== "artifact")) this.plan();
  }

  /** Ends the question, also when the run in memory has not come to it yet. */
  #answer(call: DurableCall, outcome: Outcome): void {
    this.#run?.journal.end(call, outcome);
    this.#run?.waits.give(outcome);
  }

  /** Sets the alarm for what comes next; the nearest first, so that it is set once. */
  plan(): void {
    const { log, alarms } = this.#deps;
    const { record } = log;
    if (!record || log.seq === 0) return;
    const { turn } = record;
    const held =
      turn !== undefined && !(this.#run ? this.#run.waits.parked : isParked(turn, Date.now()));
    alarms.set("hold", held ? Date.now() + HOLD_MS : undefined);
    alarms.set("wait", turn && this.#nextWake(turn));
    alarms.set("deadline", this.#deadline(record));
    if (!held) alarms.settle();
  }

  /**
   * Cancels the task, then tells the turn in progress and, unless `silently`, lets the agent clean up. A task that is
   * canceled already stays as it is (§3.3.1).
   */
  cancel(record: TaskRecord, silently = false): Result<undefined> {
    const { log } = this.#deps;
    const { id, status: last } = record.task;
    if (last.state === "TASK_STATE_CANCELED") return { ok: true, value: undefined };
    if (isTerminal(last.state)) {
      return refuse("TASK_NOT_CANCELABLE", {
        message: `The task has ended (${last.state}) and cannot be canceled`,
        metadata: { taskId: id },
      });
    }
    const cleanup = !silently && this.#agent(record)?.definition.onCancel !== undefined;
    const timestamp = new Date().toISOString();
    const status = { state: "TASK_STATE_CANCELED", timestamp } as const;
    log.append([{ kind: "status", status, ...(cleanup && { cleanup }) }], { always: true });
    this.stop("the task was canceled");
    const canceled = log.record;
    if (cleanup && canceled) this.#begin(canceled, new Journal());
    this.plan();
    return { ok: true, value: undefined };
  }

  /** Aborts the run in memory, if there is one. */
  stop(why: string): void {
    const run = this.#run;
    this.#run = undefined;
    run?.abort.abort(new Error(why));
    run?.turn?.close();
  }

  #nextWake({ asked, wakes }: NonNullable<TaskRecord["turn"]>): number | undefined {
    const sleeping = this.#run ? this.#run.waits.ends : wakes.filter((end) => end > Date.now());
    const next = Math.min(...sleeping, asked?.until ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(next) ? next : undefined;
  }

  /** A task has so long after its client's last message, and a clean-up after the cancel. */
  #deadline(record: TaskRecord | undefined): number | undefined {
    const limits = record && this.#agent(record)?.limits;
    if (!limits) return undefined;
    const { state, timestamp = "" } = record.task.status;
    if (isTerminal(state) && !record.turn) return undefined;
    return Date.parse(record.turn?.cleanup ? timestamp : record.heardAt) + limits.taskDeadline;
  }

  #expire(): void {
    const { log } = this.#deps;
    const { record } = log;
    if (!record) return;
    const allowed = inWords(this.#agent(record)?.limits.taskDeadline ?? 0);
    if (record.turn?.cleanup) {
      console.error(`${named(record)}: its clean-up was not done within ${allowed}`);
      log.append([{ kind: "turn-ended" }]);
    } else {
      const why = `The task was not done within ${allowed} of the last message`;
      log.append([failed(record, why)], { always: true });
    }
    this.stop("the deadline of the task has passed");
  }

  /** The question goes on as an error of the call that asked it. */
  #unanswered({ call, until = 0 }: Question): void {
    const { log } = this.#deps;
    const error = { name: "AnswerTimeoutError", message: `Nobody answered "${call.name}" in time` };
    const outcome = { kind: "outcome", call, error } as const;
    console.log(
      `${named(log.record)}: "${call.name}" was not answered by ${new Date(until).toISOString()}`,
    );
    log.append([outcome, working()], { always: true });
    this.#answer(call, outcome);
  }

  /** Runs the turn again, unless it has done so in vain too often. */
  #resume(record: TaskRecord): void {
    const { log } = this.#deps;
    const { restarts = 0, stalledSince } = record.turn ?? {};
    const limits = this.#agent(record)?.limits;
    const stalled = stalledSince === undefined ? 0 : Date.now() - Date.parse(stalledSince);
    if (limits && restarts >= limits.restarts && stalled >= limits.stalled) {
      const minutes = Math.round(stalled / 60_000);
      const why = `The agent was interrupted ${restarts + 1} times in ${minutes} minutes and got no further`;
      console.error(`${named(record)}: ${why}`);
      this.#close(record.turn?.cleanup ? [{ kind: "turn-ended" }] : [failed(record, why)]);
      return;
    }
    log.append([{ kind: "turn-resumed", time: new Date().toISOString() }], { always: true });
    if (log.record) this.#begin(log.record, Journal.read(log.stored()));
  }

  #begin(record: TaskRecord, journal: Journal): void {
    const { input } = record;
    if (!input) return;
    const abort = new AbortController();
    const waits = new Waits(abort.signal, () => this.#run === run && this.plan());
    const run: Run = { abort, waits, journal };
    this.#run = run;
    void this.#execute(run, record, input);
  }

  async #execute(run: Run, record: TaskRecord, input: AcceptedMessage): Promise<void> {
    let events: TaskEvent[];
    try {
      const agent = this.#agent(record);
      if (!agent) throw new Error(`no agent "${record.agentId}" in this Worker`);
      const turn = new Turn(
        agent,
        portOf(run, record, this.#deps, () => this.#run === run),
        this.#deps.env,
        run.abort.signal,
        input,
      );
      run.turn = turn;
      const { definition } = agent;
      if (record.turn?.cleanup) {
        await definition.onCancel?.(turn);
        events = [{ kind: "turn-ended" }];
      } else {
        events = turn.closing(await definition.run(turn));
      }
    } catch (error) {
      const ended =
        this.#run !== run ||
        isTerminal(this.#deps.log.record?.task.status.state ?? "TASK_STATE_WORKING");
      if (!ended || record.turn?.cleanup) {
        console.error(`${named(record)}: the agent threw (request ${input.caller.requestId})`, error);
      }
      events = record.turn?.cleanup
        ? [{ kind: "turn-ended" }]
        : [failureOf(error, record, input.caller.requestId)];
    }
    run.turn?.close();
    // Canceled, or past its deadline: another word has ended the turn.
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#close(events);
    this.start();
    this.plan();
  }

  /** Appends the events that close a turn, and begins the next one when a message waits. */
  #close(events: TaskEvent[]): void {
    const { log } = this.#deps;
    const { record } = log;
    // Answered with a message, or ended by the agent itself: nothing is left to close.
    if (!record || (isTerminal(record.task.status.state) && !record.turn)) return;
    const next =
      events.at(-1)?.kind === "turn-ended" && record.waiting.length > 0 ? nextTurn(record) : [];
    const appended = log.append([...events, ...next]);
    if (appended.ok) return;
    const { refusal } = appended;
    log.append([failed(record, refusal.message ?? "", refusal)], { always: true });
  }

  #agent(record: TaskRecord): Agent | undefined {
    return this.#deps.agents.get(record.agentId);
  }
}

/** The task in a line of the log. Its id may be a key to it, so it is cut. */
function named(record: TaskRecord | undefined): string {
  return `task ${loggedTaskId(record?.task.id ?? "", false)}`;
}
