/** How a stream on a task begins: with the task, and after a cut with what the reader missed. */
import type { Agent } from "../src/agent/define-agent.ts";
import type { OpenStream, SubscribeOptions } from "../src/operations/ports.ts";
import { type Refusal, type Result, refuse } from "../src/protocol/errors.ts";
import { isTerminal } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { rewind } from "../src/task/rewind.ts";
import type { EventLog } from "./event-log.ts";
import { finishedStream, laterFrames, type Subscribers, taskFrame } from "./subscribers.ts";

export class Streams {
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #log: EventLog;
  readonly #subscribers: Subscribers;

  constructor(agents: ReadonlyMap<string, Agent>, log: EventLog, subscribers: Subscribers) {
    this.#agents = agents;
    this.#log = log;
    this.#subscribers = subscribers;
  }

  /** The refusal of one stream more, when the agent's limit is reached. */
  full(agentId: string): { ok: false; refusal: Refusal } | undefined {
    const limit = this.#agents.get(agentId)?.limits.streams ?? 0;
    if (this.#subscribers.count < limit) return undefined;
    return refuse("RESOURCE_EXHAUSTED", {
      message: `Too many requests: a task has at most ${limit} streams`,
    });
  }

  /** A stream for a client that asks for one; a task that has ended has nothing more to tell, but to who missed it. */
  subscribe(record: TaskRecord, options: SubscribeOptions): Result<OpenStream> {
    const { id: taskId, status } = record.task;
    if (isTerminal(status.state) && options.lastEventId === undefined) {
      const message = `The task has ended (${status.state}): there is nothing to subscribe to`;
      return refuse("UNSUPPORTED_OPERATION", { message, metadata: { taskId } });
    }
    return this.full(record.agentId) ?? { ok: true, value: this.open(record, options) };
  }

  /**
   * A stream that begins with the task as it stands, or as it stood at `lastEventId` with every event since. A task
   * that is not born shows itself first when it is. On a task that has ended the stream ends too.
   */
  open(record: TaskRecord, { until, lastEventId }: SubscribeOptions): OpenStream {
    const { id: taskId, status } = record.task;
    const keepalive = this.#agents.get(record.agentId)?.limits.keepalive;
    const frames = this.#firstFrames(record, lastEventId);
    // A reader that comes back may have missed the very event that ends its stream.
    const asked = until === "input" && status.state === "TASK_STATE_INPUT_REQUIRED";
    const ended = isTerminal(status.state) || (asked && lastEventId !== undefined);
    return {
      taskId,
      state: status.state,
      frames: ended ? finishedStream(frames) : this.#subscribers.open(frames, until, keepalive),
    };
  }

  #firstFrames(record: TaskRecord, lastEventId: number | undefined): Uint8Array[] {
    if (this.#log.seq === 0) return [];
    // Made of stored events alone, so that every frame has an id to come back with.
    this.#log.flush();
    const past =
      lastEventId !== undefined && lastEventId <= this.#log.seq
        ? rewind(this.#log.stored(), lastEventId)
        : undefined;
    if (!past?.record || lastEventId === undefined) return [taskFrame(this.#log.seq, record)];
    return [taskFrame(lastEventId, past.record), ...laterFrames(past.later, record)];
  }
}
