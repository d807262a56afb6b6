/**
 * Sees to it that webhooks get what the log has for them: a reader of the log that sends jobs to the queue, leases
 * ranges of events to the consumer, and moves the cursors. Until an event was taken an alarm stands by, so a job or a
 * consumer that is lost is made up for. One job or one lease is under way for each webhook.
 */
import { loggedTaskId } from "../src/agent/audit.ts";
import type { Agent } from "../src/agent/define-agent.ts";
import { type Bindings, pushQueue } from "../src/env.ts";
import type { Configured } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import type { TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import { isInterrupted, isTerminal } from "../src/protocol/task.ts";
import { dueAt, leased, type PushCursor, restarted, settled } from "../src/push/cursor.ts";
import type { DeliveryState, Lease, Report } from "../src/push/job.ts";
import type { TaskEvent } from "../src/task/event.ts";
import type { Alarms } from "./alarms.ts";
import type { EventLog } from "./event-log.ts";
import type { NamedConfig, PushCursors } from "./push-cursors.ts";
import { PushSource } from "./push-source.ts";

/** What happens within this time is one job. */
const GATHER_MS = 10;
/** A job that nobody came for by then was lost. */
const STANDBY_MS = 30_000;
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
  readonly #source: PushSource;
  /** When a job was sent for a webhook (ms), until somebody came for it. */
  readonly #jobs = new Map<string, number>();
  #gathering: ReturnType<typeof setTimeout> | undefined;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#source = new PushSource(deps.agents, deps.log, deps.cursors);
  }

  /** Events were stored; `first` is the seq of the first. */
  tell(events: readonly TaskEvent[], first: number): void {
    if (this.#deps.cursors.count > 0 && this.#source.tell(events, first)) this.#drive();
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
    const stored = cursors.put(named, cursor, this.#source.push(agentId)?.maxConfigs ?? 0);
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

  /** Sends jobs for what is due, and sets the alarm for what comes next. True when it went off for a webhook. */
  alarm(): boolean {
    const due = this.#due().length > 0;
    this.#drive();
    return due;
  }

  /** Goes on with what is overdue, whatever became of the alarm that stood by for it. */
  resume(): void {
    if (this.#deps.cursors.count > 0 && this.#due().length > 0) this.#drive();
  }

  /** The next events of a webhook, for the one who comes for them first. */
  lease(id: string): Lease | undefined {
    const { cursors, taskId } = this.#deps;
    const { config, cursor } = cursors.get(id) ?? {};
    const now = Date.now();
    this.#jobs.delete(id);
    const push = cursor && this.#source.push(cursor.agentId);
    if (!config || !push || this.#dueAt(cursor) > now) {
      this.#plan();
      return undefined;
    }
    const { maxAge } = push;
    if (cursor.lease && now >= (cursor.since ?? now) + maxAge) {
      const error = "no attempt came to an end";
      cursors.move(id, { ...cursor, lease: undefined, stopped: true, last: { at: now, error } });
      this.#warn(config, `stopped: ${error}`);
    }
    const range = cursors.get(id)?.cursor.stopped ? undefined : this.#source.read(cursor);
    if (!range) {
      this.#skip(id);
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
    const { config, cursor } = cursors.get(id) ?? {};
    if (!config || cursor?.lease?.id !== lease) return;
    const maxAge = this.#source.push(cursor.agentId)?.maxAge ?? 0;
    const after = settled(cursor, report, Date.now(), maxAge);
    if (after?.stopped) this.#warn(config, `stopped: ${report.failure?.error}`);
    if (!after) this.#warn(config, "removed: the receiver is gone (410)");
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
        waiting: this.#source.waiting(cursor),
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
    this.#source.forget();
    this.#drive();
    return { ok: true, value: undefined };
  }

  /** Forgets all; the webhooks are gone. */
  clear(): void {
    this.#deps.cursors.clear();
    this.#jobs.clear();
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#source.forget();
  }

  /** Nothing of the range is to be sent any more: the agent sends less than it did. */
  #skip(id: string): void {
    const { cursors } = this.#deps;
    const cursor = cursors.get(id)?.cursor;
    if (cursor?.to !== undefined && !cursor.stopped) {
      cursors.move(id, { ...cursor, seq: cursor.to, to: undefined, lease: undefined });
    }
    this.#source.forget();
    this.#drive();
  }

  /** When the webhook is due (ms); never when its agent has none any more. */
  #dueAt(cursor: PushCursor): number {
    return this.#source.push(cursor.agentId) ? dueAt(cursor) : Number.POSITIVE_INFINITY;
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
      const due =
        this.#dueAt(cursor) <= now && sent + STANDBY_MS <= now && this.#source.hasMore(cursor);
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
      if (!this.#source.hasMore(cursor)) return Number.POSITIVE_INFINITY;
      const sent = this.#jobs.get(config.id);
      const due = this.#dueAt(cursor);
      if (sent !== undefined) return Math.max(due, sent + STANDBY_MS);
      return due > Date.now() ? due : Date.now() + STANDBY_MS;
    });
    const next = Math.min(...times);
    alarms.set("push", Number.isFinite(next) ? next : undefined);
    if (!Number.isFinite(next)) alarms.settle();
  }

  /** The host is one that the agent allows; nothing else of a request is logged. */
  #warn({ url }: NamedConfig, what: string): void {
    const task = loggedTaskId(this.#deps.taskId, false);
    console.warn(`task ${task}: a webhook at ${URL.parse(url)?.host} was ${what}`);
  }
}
