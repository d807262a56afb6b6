/** How a stream on a task begins: with the task, and after a cut with what the reader missed. */
import type { OpenStream } from "../src/operations/ports.ts";
import { isTerminal } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { rewind } from "../src/task/rewind.ts";
import type { EventLog } from "./event-log.ts";
import { finishedStream, laterFrames, type Subscribers, taskFrame, type Until } from "./subscribers.ts";

export class Streams {
  readonly #log: EventLog;
  readonly #subscribers: Subscribers;

  constructor(log: EventLog, subscribers: Subscribers) {
    this.#log = log;
    this.#subscribers = subscribers;
  }

  /**
   * A stream that begins with the task as it stands, or as it stood at `lastEventId` with every event since. A task
   * that is not born shows itself first when it is. On a task that has ended the stream ends too.
   */
  open(record: TaskRecord, until: Until, lastEventId?: number): OpenStream {
    const { id: taskId, status } = record.task;
    const frames = this.#firstFrames(record, lastEventId);
    const ended = isTerminal(status.state);
    return {
      taskId,
      state: status.state,
      frames: ended ? finishedStream(frames) : this.#subscribers.open(frames, until),
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
