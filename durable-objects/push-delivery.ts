/**
 * Sees to it that webhooks get what the log has for them: a reader of the log that sends jobs to the queue, leases
 * ranges of events to the consumer, and moves the cursors. Until an event was taken an alarm stands by, so a job or a
 * consumer that is lost is made up for. One job or one lease is under way for each webhook.
 */
import { loggedTaskId } from "../src/agent/audit.ts";
import type { Agent } from "../src/agent/define-agent.ts";
import type { CheckedPush } from "../src/agent/push-options.ts";
import { type Bindings, pushQueue } from "../src/env.ts";
import type { Configured } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import type { TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import { isInterrupted, isTerminal } from "../src/protocol/task.ts";
import { dueAt, leased, type PushCursor, restarted, settled } from "../src/push/cursor.ts";
import type { DeliveryState, Lease, Report } from "../src/push/job.ts";
import { isSent, type Range, readRange } from "../src/push/notifications.ts";
import type { TaskEvent } from "../src/task/event.ts";
import { rewind } from "../src/task/rewind.ts";
import { viewTask } from "../src/task/view.ts";
import type { Alarms } from "./alarms.ts";
import type { EventLog } from "./event-log.ts";
import type { NamedConfig, PushCursors } from "./push-cursors.ts";

/** What happens within this time is one job. */
const GATHER_MS = 10;
/** A job that nobody came for by then was lost. */
const STANDBY_MS = 30_000;
/** Longest task in JSON that is sent whole, in UTF-16 code units; of a longer one history and artifacts are left out. */
const MAX_TASK_LENGTH = 4 * 1024 * 1024;

interface Dependencies {
  readonly taskId: string;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly env: Bindings;
  readonly log: EventLog;
  readonly alarms: Alarms;
  readonly cursors: PushCursors;
}

export class PushDelivery {
  readonly #deps: Dependencies;
  /** Seq of the last event that webhooks are sent; undefined while that was not looked up. */
  #newest: number | undefined;
  /** When a job was sent for a webhook (ms), until somebody came for it. */
  readonly #jobs = new Map<string, number>();
  #gathering: ReturnType<typeof setTimeout> | undefined;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Events were stored; `first` is the seq of the first. */
  tell(events: readonly TaskEvent[], first: number): void {
    if (this.#deps.cursors.count === 0) return;
    const push = this.#push();
    const last = push ? events.findLastIndex((event) => isSent(event, push.events)) : -1;
    if (last === -1) return;
    this.#newest = first + last;
    this.#drive();
  }

  /**
   * Stores a webhook, new or in place of the one with its id, which then goes on where it was. It gets what comes after
   * the event `seq`; without `seq` what comes from now on, and first the task if that waits for its client or has ended.
   */
  put({ config, issuer, traceId }: Configured, seq?: number): Result<TaskPushNotificationConfig> {
    const { taskId, log, cursors } = this.#deps;
    const { agentId = "", task } = log.record ?? {};
    const named: NamedConfig = { ...config, id: config.id ?? crypto.randomUUID(), taskId };
    const known = cursors.get(named.id)?.cursor;
    const state = task?.status.state ?? "TASK_STATE_WORKING";
    const first = seq === undefined && (isTerminal(state) || isInterrupted(state));
    const cursor: PushCursor = known
      ? { ...restarted(known), issuer, traceId }
      : {
          agentId,
          issuer,
          ...(traceId !== undefined && { traceId }),
          key: crypto.randomUUID(),
          seq: seq ?? log.seq,
          ...(first && { task: true }),
          failures: 0,
        };
    const stored = cursors.put(named, cursor, this.#push(agentId)?.maxConfigs ?? 0);
    this.#jobs.delete(named.id);
    if (stored.ok) this.#drive();
    return stored;
  }

  /** The answer is a message and no task: it is delivered by itself. */
  putMessage(agentId: string, { config, issuer, traceId }: Configured, message: Message): void {
    const { taskId, cursors } = this.#deps;
    const named: NamedConfig = { ...config, id: config.id ?? crypto.randomUUID(), taskId };
    const key = crypto.randomUUID();
    cursors.put(named, { agentId, issuer, traceId, key, seq: 0, message, failures: 0 }, 1);
    this.#drive();
  }

  delete(id: string): Result<undefined> {
    this.#jobs.delete(id);
    const deleted = this.#deps.cursors.delete(id);
    this.#plan();
    return deleted;
  }

  /** What is due is due again: jobs are sent, and the alarm is set for what comes next. */
  alarm(): void {
    this.#drive();
  }

  /** The next events of a webhook, for the one who comes for them first. */
  lease(id: string): Lease | undefined {
    const { cursors, taskId } = this.#deps;
    const { config, cursor } = cursors.get(id) ?? {};
    const now = Date.now();
    this.#jobs.delete(id);
    const push = cursor && this.#push(cursor.agentId);
    if (!config || !push || dueAt(cursor) > now) {
      this.#plan();
      return undefined;
    }
    const { maxAge } = push;
    if (cursor.lease && now >= (cursor.since ?? now) + maxAge) {
      const error = "no attempt came to an end";
      cursors.move(id, { ...cursor, lease: undefined, stopped: true, last: { at: now, error } });
      this.#warn(id, `stopped: ${error}`);
    }
    const range = cursors.get(id)?.cursor.stopped ? undefined : this.#read(cursor);
    if (!range) {
      this.#plan();
      return undefined;
    }
    const taken = leased(cursor, range.to, crypto.randomUUID(), now);
    cursors.move(id, taken);
    this.#plan();
    const { id: lease = "", until = 0 } = taken.lease ?? {};
    return {
      id: lease,
      until,
      taskId,
      agentId: cursor.agentId,
      issuer: cursor.issuer,
      traceId: cursor.traceId,
      config,
      notifications: range.responses.map(({ seq, response }) => ({
        id: `${cursor.key}-${seq}`,
        seq,
        body: JSON.stringify(response),
      })),
    };
  }

  /** Whether nothing happened to the webhook since it was leased: it was not deleted, changed or restarted. */
  holds(id: string, lease: string): boolean {
    return this.#deps.cursors.get(id)?.cursor.lease?.id === lease;
  }

  /** What came of a lease. Of one that does not hold any more, nothing. */
  settle(id: string, lease: string, report: Report): void {
    const { cursors } = this.#deps;
    const cursor = cursors.get(id)?.cursor;
    if (!cursor || cursor.lease?.id !== lease) return;
    const maxAge = this.#push(cursor.agentId)?.maxAge ?? 0;
    const after = settled(cursor, report, Date.now(), maxAge);
    if (after?.stopped) this.#warn(id, `stopped: ${report.failure?.error}`);
    if (!after) this.#warn(id, "removed: the receiver is gone (410)");
    const done = after === undefined || (cursor.message && (after.stopped || after.to === undefined));
    if (done) cursors.delete(id);
    else cursors.move(id, after);
    this.#drive();
  }

  /** How the deliveries go. */
  states(): DeliveryState[] {
    return [...this.#deps.cursors.all].map(({ config, cursor }) => {
      const { last, next, failures, stopped, seq } = cursor;
      return {
        id: config.id,
        url: config.url,
        state: stopped ? "stopped" : failures > 0 ? "retrying" : "active",
        waiting: this.#waiting(cursor),
        seq,
        failures,
        ...(last?.status !== undefined && { lastStatus: last.status }),
        ...(last && { lastAttempt: new Date(last.at).toISOString() }),
        ...(last?.error !== undefined && { lastError: last.error }),
        ...(next !== undefined && !stopped && { nextAttempt: new Date(next).toISOString() }),
      };
    });
  }

  /** Begins anew, with the event `from` when it is given. */
  restart(id: string, from?: number): Result<undefined> {
    const { cursors, log } = this.#deps;
    const cursor = cursors.get(id)?.cursor;
    if (!cursor) return refuse("TASK_NOT_FOUND");
    if (from !== undefined && !(Number.isInteger(from) && from >= 1 && from <= log.seq)) {
      const description = `must be the seq of an event, 1 to ${log.seq}`;
      return refuse("INVALID_PARAMS", { fields: [{ field: "from", description }] });
    }
    cursors.move(id, restarted(cursor, from));
    this.#jobs.delete(id);
    this.#newest = undefined;
    this.#drive();
    return { ok: true, value: undefined };
  }

  /** Forgets all; the webhooks are gone. */
  clear(): void {
    this.#deps.cursors.clear();
    this.#jobs.clear();
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#newest = undefined;
  }

  #push(agentId = this.#deps.log.record?.agentId ?? ""): CheckedPush | undefined {
    return this.#deps.agents.get(agentId)?.push;
  }

  #hasMore(cursor: PushCursor): boolean {
    if (cursor.task || cursor.message || cursor.to !== undefined) return true;
    this.#newest ??= this.#lookUp();
    return this.#newest > cursor.seq;
  }

  /** The last event that webhooks are sent; 0 when no one is behind it. */
  #lookUp(): number {
    const { cursors, log } = this.#deps;
    const which = this.#push()?.events ?? "all";
    const from = Math.min(...[...cursors.all].map(({ cursor }) => cursor.seq));
    let newest = 0;
    for (const { seq, event } of log.stored(from)) if (isSent(event, which)) newest = seq;
    return newest;
  }

  #waiting(cursor: PushCursor): number {
    if (cursor.message) return 1;
    const which = this.#push()?.events ?? "all";
    let waiting = cursor.task ? 1 : 0;
    for (const { event } of this.#deps.log.stored(cursor.seq)) if (isSent(event, which)) waiting += 1;
    return waiting;
  }

  #read(cursor: PushCursor): Range | undefined {
    if (cursor.message)
      return { to: 1, responses: [{ seq: 1, response: { message: cursor.message } }] };
    const { log } = this.#deps;
    const { record } = log;
    if (!record) return undefined;
    const { id: taskId, contextId } = record.task;
    const which = this.#push()?.events ?? "all";
    const range = readRange(log.stored(cursor.seq), { taskId, contextId }, which, cursor.to);
    const first = cursor.task ? rewind(log.stored(), cursor.seq).record : undefined;
    if (!first) return range;
    const task = viewTask(first.task);
    const fits = JSON.stringify(task).length <= MAX_TASK_LENGTH;
    const response = {
      task: fits ? task : viewTask(first.task, { historyLength: 0, artifacts: false }),
    };
    return {
      to: range?.to ?? cursor.seq,
      responses: [{ seq: cursor.seq, response }, ...(range?.responses ?? [])],
    };
  }

  /** Sends jobs for all that is due, in a moment. */
  #drive(): void {
    this.#plan();
    if (this.#gathering || this.#due().length === 0) return;
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined;
      void this.#send(this.#due());
    }, GATHER_MS);
  }

  #due(now = Date.now()): string[] {
    return [...this.#deps.cursors.all].flatMap(({ config: { id }, cursor }) => {
      const sent = this.#jobs.get(id) ?? Number.NEGATIVE_INFINITY;
      const due = dueAt(cursor) <= now && sent + STANDBY_MS <= now && this.#hasMore(cursor);
      return due ? [id] : [];
    });
  }

  async #send(ids: readonly string[]): Promise<void> {
    const { cursors, env, taskId } = this.#deps;
    for (const id of ids) this.#jobs.set(id, Date.now());
    this.#plan();
    for (const slow of [false, true]) {
      const jobs = ids
        .filter((id) => (cursors.get(id)?.cursor.slow ?? false) === slow)
        .map((config) => ({ body: { task: taskId, config } }));
      if (jobs.length === 0) continue;
      try {
        await pushQueue(env, slow).sendBatch(jobs);
      } catch (error) {
        console.error(`task ${loggedTaskId(taskId, false)}: the queue took no jobs`, error);
      }
    }
  }

  /** Sets the alarm for what is due next, or should have happened by then. */
  #plan(): void {
    const { cursors, alarms } = this.#deps;
    if (cursors.count === 0) {
      alarms.set("push", undefined);
      return;
    }
    const times = [...cursors.all].map(({ config, cursor }) => {
      if (!this.#hasMore(cursor)) return Number.POSITIVE_INFINITY;
      const sent = this.#jobs.get(config.id);
      const due = dueAt(cursor);
      if (sent !== undefined) return Math.max(due, sent + STANDBY_MS);
      return due > Date.now() ? due : Date.now() + STANDBY_MS;
    });
    const next = Math.min(...times);
    alarms.set("push", Number.isFinite(next) ? next : undefined);
    if (!Number.isFinite(next)) alarms.settle();
  }

  #warn(id: string, what: string): void {
    const task = loggedTaskId(this.#deps.taskId, false);
    console.warn(`task ${task}: webhook ${JSON.stringify(id)} ${what}`);
  }
}
