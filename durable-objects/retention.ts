/**
 * Ends the life of a task's data: `retention` after its end, or when an operator says so. What the task was is gone in
 * one transaction that leaves a tombstone; the index row and the tombstone follow, by the alarm if need be, so that a
 * deletion that was cut off goes on and nothing comes back.
 */
import type { Agent } from "../src/agent/define-agent.ts";
import type { Message } from "../src/protocol/message.ts";
import { isTerminal } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import type { Idempotency } from "../src/task/event.ts";
import type { Alarms } from "./alarms.ts";
import type { EventLog } from "./event-log.ts";
import type { IndexCursor } from "./index-cursor.ts";
import type { PushCursors } from "./push-cursors.ts";
import type { PushDelivery } from "./push-delivery.ts";
import type { Remains } from "./remains.ts";

const RETRY_MS = 60_000;

interface Dependencies {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly log: EventLog;
  readonly alarms: Alarms;
  readonly index: IndexCursor;
  readonly push: PushCursors;
  readonly delivery: PushDelivery;
  readonly remains: Remains;
}

export class Retention {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Sets the alarm for the day the task is deleted. */
  plan(): void {
    this.#deps.alarms.set("retention", this.#due(this.#deps.log.record));
  }

  /** Deletes what is due; true when there is no task, now or before. */
  async alarm(now: number): Promise<boolean> {
    const { log } = this.#deps;
    const due = this.#due(log.record);
    if (log.record && due !== undefined && due <= now) this.erase(log.record);
    if (log.record) return false;
    await this.finish(now);
    return true;
  }

  /** Deletes the task; the rest of it goes with `finish`. */
  erase({ agentId, owner, named = false, task }: TaskRecord): void {
    const { log, delivery, remains, alarms } = this.#deps;
    const taskId = task.id;
    remains.leave({ kind: "tombstone", agentId, owner, taskId, named, listed: true });
    log.clear();
    delivery.clear();
    alarms.clear();
    alarms.set("retention", Date.now() + RETRY_MS);
  }

  /** Keeps the message that answered a request with a key, for those who ask again. */
  keepReply(message: Message, idempotency: Idempotency): void {
    const { remains, alarms } = this.#deps;
    remains.leave({ kind: "reply", message, idempotency });
    alarms.set("retention", remains.value?.until);
  }

  /** Goes on with a deletion: the index row, then what remains. */
  async finish(now = Date.now()): Promise<void> {
    const { alarms, index, remains } = this.#deps;
    let remnant = remains.value;
    if (!remnant) return;
    if (remnant.kind === "tombstone" && remnant.listed) {
      try {
        await index.remove(remnant);
      } catch (error) {
        console.error(`task ${remnant.taskId}: its row could not be taken out of the index yet`, error);
        alarms.set("retention", now + RETRY_MS);
        return;
      }
      if (remnant.named) remains.leave({ ...remnant, listed: false });
      remnant = remains.value ?? remnant;
    }
    const kept = remnant.kind === "reply" || remnant.named;
    if (kept && remnant.until > now) alarms.set("retention", remnant.until);
    else {
      await remains.clear();
      alarms.fired();
      return;
    }
    alarms.settle();
  }

  /** Empties an object that held a message for a webhook, and nothing else. */
  async sweep(): Promise<void> {
    const { log, push, remains, alarms } = this.#deps;
    if (log.record || remains.value || push.count > 0) return;
    push.clear();
    await remains.clear();
    alarms.fired();
  }

  #due(record: TaskRecord | undefined): number | undefined {
    const { status } = record?.task ?? {};
    if (!record || !status || !isTerminal(status.state) || record.turn) return undefined;
    const retention = this.#deps.agents.get(record.agentId)?.retention;
    return retention === undefined ? undefined : Date.parse(status.timestamp ?? "") + retention;
  }
}
