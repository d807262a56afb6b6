/** What the log of a task has for its webhooks. */
import type { Agent } from "../src/agent/define-agent.ts";
import type { CheckedPush } from "../src/agent/push-options.ts";
import type { PushCursor } from "../src/push/cursor.ts";
import { isSent, type Range, readRange } from "../src/push/notifications.ts";
import type { TaskEvent } from "../src/task/event.ts";
import { rewind } from "../src/task/rewind.ts";
import { viewTask } from "../src/task/view.ts";
import type { EventLog } from "./event-log.ts";
import type { PushCursors } from "./push-cursors.ts";

/** Longest task in JSON that is sent whole, in UTF-16 code units; of a longer one history and artifacts are left out. */
const MAX_TASK_LENGTH = 4 * 1024 * 1024;

export class PushSource {
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #log: EventLog;
  readonly #cursors: PushCursors;
  /** Seq of the last event that webhooks are sent; undefined while that was not looked up. */
  #newest: number | undefined;

  constructor(agents: ReadonlyMap<string, Agent>, log: EventLog, cursors: PushCursors) {
    this.#agents = agents;
    this.#log = log;
    this.#cursors = cursors;
  }

  /** What an agent says of its webhooks; undefined when it has none, or is not deployed any more. */
  push(agentId = this.#log.record?.agentId ?? ""): CheckedPush | undefined {
    return this.#agents.get(agentId)?.push;
  }

  /** Events were stored, `first` is the seq of the first; true when there is one for the webhooks. */
  tell(events: readonly TaskEvent[], first: number): boolean {
    const push = this.push();
    const last = push ? events.findLastIndex((event) => isSent(event, push.events)) : -1;
    if (last === -1) return false;
    this.#newest = first + last;
    return true;
  }

  /** The cursors were moved back, or nothing is there any more. */
  forget(): void {
    this.#newest = undefined;
  }

  hasMore(cursor: PushCursor): boolean {
    if (cursor.task || cursor.message || cursor.to !== undefined) return true;
    this.#newest ??= this.#lookUp();
    return this.#newest > cursor.seq;
  }

  /** How many events wait. */
  waiting(cursor: PushCursor): number {
    if (cursor.message) return 1;
    const first = cursor.task ? 1 : 0;
    return first + this.#later(cursor.seq).length;
  }

  /** What is to be sent next: the range of the cursor, or a new one. */
  read(cursor: PushCursor): Range | undefined {
    if (cursor.message) {
      return { to: 1, responses: [{ seq: 1, response: { message: cursor.message } }] };
    }
    const { record } = this.#log;
    if (!record) return undefined;
    const { id: taskId, contextId } = record.task;
    const range = readRange(
      this.#log.stored(cursor.seq),
      { taskId, contextId },
      this.#which,
      cursor.to,
    );
    const first = cursor.task ? rewind(this.#log.stored(), cursor.seq).record : undefined;
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

  get #which(): "all" | "status" {
    return this.push()?.events ?? "all";
  }

  /** The last event that webhooks are sent; 0 when none of them is behind it. */
  #lookUp(): number {
    const from = Math.min(...[...this.#cursors.all].map(({ cursor }) => cursor.seq));
    return this.#later(from).at(-1) ?? 0;
  }

  /** The seqs of what webhooks are sent behind `seq`. */
  #later(seq: number): number[] {
    const which = this.#which;
    return [...this.#log.stored(seq)].flatMap((stored) =>
      isSent(stored.event, which) ? [stored.seq] : [],
    );
  }
}
