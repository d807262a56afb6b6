/** The parts of a task's object, and how they hang together: the log wakes its readers. */
import type { Agent } from "../src/agent/define-agent.ts";
import { type Bindings, taskIndex } from "../src/env.ts";
import type { Message } from "../src/protocol/message.ts";
import type { Report } from "../src/push/job.ts";
import { Alarms } from "./alarms.ts";
import { Answers } from "./answers.ts";
import { type Entry, EventLog } from "./event-log.ts";
import { IndexCursor } from "./index-cursor.ts";
import { Intake } from "./intake.ts";
import { taskLookup } from "./lookup.ts";
import { PushCursors } from "./push-cursors.ts";
import { PushDelivery } from "./push-delivery.ts";
import { Remains } from "./remains.ts";
import { Retention } from "./retention.ts";
import { Runner } from "./runner.ts";
import { Streams } from "./streams.ts";
import { Subscribers } from "./subscribers.ts";

export class TaskParts {
  readonly subscribers: Subscribers;
  readonly answers: Answers;
  readonly alarms: Alarms;
  readonly index: IndexCursor;
  readonly log: EventLog;
  readonly push: PushCursors;
  readonly delivery: PushDelivery;
  readonly intake: Intake;
  readonly streams: Streams;
  readonly runner: Runner;
  readonly retention: Retention;

  constructor(ctx: DurableObjectState, env: Bindings, agents: ReadonlyMap<string, Agent>) {
    const { storage } = ctx;
    const alarms = new Alarms(storage);
    const index = new IndexCursor((owner) => taskIndex(env, owner), alarms, agents);
    const log = new EventLog(
      storage,
      agents,
      (entries) => this.#tell(entries),
      (events, first) => this.delivery.tell(events, first),
    );
    const push = new PushCursors(storage.sql);
    const taskId = ctx.id.toString();
    const delivery = new PushDelivery({ taskId, agents, env, log, alarms, cursors: push });
    const remains = new Remains(storage);
    const lookup = taskLookup(env, agents);
    const reply = (message: Message) => this.#reply(message);
    this.subscribers = new Subscribers();
    this.answers = new Answers();
    this.alarms = alarms;
    this.index = index;
    this.log = log;
    this.push = push;
    this.delivery = delivery;
    this.intake = new Intake(taskId, agents, log, delivery, remains);
    this.streams = new Streams(agents, log, this.subscribers);
    this.runner = new Runner({ agents, env, log, alarms, lookup, reply });
    this.retention = new Retention({ agents, log, alarms, index, push, delivery, remains });
  }

  /** Does what is due. */
  async alarm(now: number): Promise<void> {
    this.alarms.fired();
    const forWebhook = this.delivery.alarm();
    if (await this.retention.alarm(now)) return;
    this.runner.alarm(now, !forWebhook);
    const { record } = this.log;
    if (record) this.index.resume(record);
    this.retention.plan();
  }

  /** Goes on after a lease of a webhook. */
  async settle(config: string, lease: string, report: Report): Promise<void> {
    this.delivery.settle(config, lease, report);
    await this.retention.sweep();
  }

  /** Wakes the readers of the log. */
  #tell(entries: readonly Entry[]): void {
    this.intake.tell(entries);
    this.subscribers.send(entries);
    this.answers.tell(entries);
    // In this order the alarm that held the turn stands by for the index, instead of being set anew.
    this.index.tell(entries);
    this.retention.plan();
    this.runner.tell(entries);
  }

  #reply(message: Message): boolean {
    const { agentId = "", input } = this.log.record ?? {};
    if (!this.log.discard()) return false;
    if (input?.idempotency) this.retention.keepReply(message, input.idempotency);
    this.intake.replied(message, agentId);
    this.subscribers.sendMessage(message);
    this.answers.give({ message });
    return true;
  }
}
