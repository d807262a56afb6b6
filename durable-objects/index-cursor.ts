/**
 * Keeps the owner's index in step with the task: a reader of the log that remembers only the latest state.
 * One update is in flight at a time and the latest wins. Until the index has taken it, an alarm stands by, so
 * an update survives the object. An index that fails is tried again; the task does not notice.
 */
import type { Agent } from "../src/agent/define-agent.ts";
import type { IndexPort, IndexRow } from "../src/operations/ports.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { viewTask } from "../src/task/view.ts";
import type { Alarms } from "./alarms.ts";
import type { Entry } from "./event-log.ts";

const RETRY_MS = 5_000;
const STANDBY_MS = 30_000;
/** How long an answer waits for the index. */
const PATIENCE_MS = 2_000;
/** Longest status message kept in the index, in UTF-16 code units of its JSON; a longer one is in the task alone. */
const MAX_MESSAGE_LENGTH = 500_000;

export class IndexCursor {
  readonly #index: (owner: string) => Pick<IndexPort, "put" | "remove">;
  readonly #alarms: Alarms;
  readonly #agents: ReadonlyMap<string, Agent>;
  #latest: TaskRecord | undefined;
  #inFlight: Promise<void> | undefined;
  /** Begins the update that waits for its turn to end. */
  #hurry: (() => void) | undefined;
  /** Whether the index was told of this task since the object woke. */
  #known = false;

  constructor(
    index: (owner: string) => Pick<IndexPort, "put" | "remove">,
    alarms: Alarms,
    agents: ReadonlyMap<string, Agent>,
  ) {
    this.#index = index;
    this.#agents = agents;
    this.#alarms = alarms;
  }

  /** The task changed; of its artifacts the index knows nothing. */
  tell(entries: readonly Entry[]): void {
    const last = entries.findLast(({ event }) => event.kind !== "artifact");
    if (last) this.#mark(last.record);
  }

  /** The alarm went off. An object that was away cannot know what the index has; it tells it again. */
  resume(record: TaskRecord): void {
    if (!this.#known || this.#latest) this.#mark(this.#latest ?? record);
  }

  /** Resolves when the index is up to date, or after two seconds. */
  async settled(): Promise<void> {
    if (!this.#inFlight) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS);
    });
    await Promise.race([this.#inFlight, patience]);
    if (timer) clearTimeout(timer);
  }

  /** Takes the task out of the index; rejects when the index does not answer. */
  async remove({
    agentId,
    owner,
    taskId,
  }: {
    agentId: string;
    owner: string;
    taskId: string;
  }): Promise<void> {
    this.#latest = undefined;
    await this.#inFlight;
    // An update that failed meanwhile is not made up for.
    this.#latest = undefined;
    this.#alarms.set("index", undefined);
    // An agent that is no longer deployed may have listed its tasks.
    const lists = this.#agents.get(agentId)?.definition.auth.listsTasks ?? true;
    if (lists) await this.#index(owner).remove(taskId);
  }

  #mark(record: TaskRecord): void {
    if (!this.#agents.get(record.agentId)?.definition.auth.listsTasks) return;
    this.#known = true;
    this.#latest = record;
    this.#alarms.set("index", Date.now() + STANDBY_MS);
    this.#inFlight ??= this.#update(record);
    if (!record.turn) this.#hurry?.();
  }

  async #update({ turn }: TaskRecord): Promise<void> {
    if (turn) {
      // A turn that is done at once needs one update, not two, and does not wait for the timer.
      await new Promise<void>((resolve) => {
        this.#hurry = resolve;
        setTimeout(resolve, 0);
      });
      this.#hurry = undefined;
    }
    while (this.#latest) {
      const record = this.#latest;
      this.#latest = undefined;
      try {
        await this.#index(record.owner).put(indexRow(record));
      } catch (error) {
        console.error(`task ${record.task.id}: the index did not take an update`, error);
        this.#latest ??= record;
        this.#alarms.set("index", Date.now() + RETRY_MS);
        break;
      }
    }
    this.#inFlight = undefined;
    if (this.#latest) return;
    this.#alarms.set("index", undefined);
    // Woken in vain, the object would tell the index again: that costs more than the row that moves the alarm.
    this.#alarms.settle();
  }
}

function indexRow({ task }: TaskRecord): IndexRow {
  const { status, ...rest } = viewTask(task, { historyLength: 0, artifacts: false });
  const { message, ...bare } = status;
  const tooLong = JSON.stringify(message ?? null).length > MAX_MESSAGE_LENGTH;
  return {
    id: task.id,
    contextId: task.contextId ?? "",
    state: status.state,
    time: Date.parse(status.timestamp ?? ""),
    body: JSON.stringify({ ...rest, status: tooLong ? bare : status }),
  };
}
