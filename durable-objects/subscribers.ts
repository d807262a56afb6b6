/**
 * The streams that are open on one task. In memory only: a client that is cut off subscribes again.
 *
 * Bounds: a reader that lags by more than MAX_BACKLOG bytes is closed, a stream lives at most MAX_AGE_MS (an
 * open stream keeps the object in memory), and a reader that left is found by the next heartbeat.
 */
import type { OpenStream, Until } from "../src/operations/ports.ts";
import type { Message } from "../src/protocol/message.ts";
import { isTerminal, type TaskState } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { type TaskEvent, toStreamResponse } from "../src/task/event.ts";
import { encodeFrame, KEEPALIVE } from "../src/task/frame.ts";
import type { StoredEvent } from "../src/task/rewind.ts";
import { viewTask } from "../src/task/view.ts";
import type { Entry } from "./event-log.ts";

const KEEPALIVE_MS = 15_000;
const MAX_BACKLOG = 1024 * 1024;
const MAX_AGE_MS = 60 * 60 * 1000;

interface Subscriber {
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly until: Until;
  readonly openedAt: number;
  /** Frames that wait for the reader to take those before. */
  queue: Uint8Array[];
  /** Bytes that wait. */
  backlog: number;
  writing: boolean;
  /** No more will come: what waits is written, and then the stream ends. */
  closing: boolean;
}

export class Subscribers {
  readonly #open = new Set<Subscriber>();
  /** The frames that were joined last. Frames come in one order, so the first and their number say which they are. */
  #joined: { first: Uint8Array; count: number; bytes: Uint8Array } | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;

  get count(): number {
    return this.#open.size;
  }

  /**
   * Opens a stream that begins with `frames` and goes on with what is sent from now on. The caller makes the
   * frames in the same turn of the event loop, so that nothing falls between them. A comment goes out every
   * `keepaliveMs`, the same for all streams of a task.
   */
  open(
    frames: readonly Uint8Array[],
    until: Until,
    keepaliveMs = KEEPALIVE_MS,
  ): ReadableStream<Uint8Array> {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const subscriber = {
      writer,
      until,
      openedAt: Date.now(),
      queue: [],
      backlog: 0,
      writing: false,
      closing: false,
    };
    this.#open.add(subscriber);
    this.#heartbeat ??= setInterval(() => this.#beat(), keepaliveMs);
    // What the task is already does not count as a backlog: its size is the task's, not the reader's fault.
    for (const frame of frames) writer.write(frame).catch(() => this.#forget(subscriber));
    return readable;
  }

  /**
   * Sends entries of the log to every stream, in order, and closes those that end with them. The entries of a
   * birth are shown as the Task they make, which must come first in a stream (§3.1.2).
   */
  send(entries: readonly Entry[]): void {
    if (this.#open.size === 0) return;
    const last = entries.at(-1);
    if (last && entries[0]?.event.kind === "created") {
      this.#sendAll(taskFrame(last.seq, last.record));
      return;
    }
    for (const { seq, event, record } of entries) {
      const frame = eventFrame(seq, event, record);
      if (!frame) continue;
      const ends = event.kind === "status" && endOf(record.task.status.state);
      this.#sendAll(frame);
      for (const subscriber of this.#open) {
        if (ends === "terminal" || (ends === "input" && subscriber.until === "input")) {
          this.#close(subscriber);
        }
      }
    }
  }

  /** Sends the one message that is the whole answer, and closes every stream. */
  sendMessage(message: Message): void {
    this.#sendAll(encodeFrame(undefined, { message }));
    for (const subscriber of this.#open) this.#close(subscriber);
  }

  #sendAll(frame: Uint8Array): void {
    for (const subscriber of this.#open) this.#write(subscriber, frame);
  }

  #write(subscriber: Subscriber, bytes: Uint8Array): void {
    if (subscriber.backlog > MAX_BACKLOG) {
      this.#drop(subscriber);
      return;
    }
    subscriber.backlog += bytes.byteLength;
    subscriber.queue.push(bytes);
    if (!subscriber.writing) void this.#drain(subscriber);
  }

  /** Writes what waits, all of it at once: a reader that lags gets fewer and larger pieces. */
  async #drain(subscriber: Subscriber): Promise<void> {
    subscriber.writing = true;
    try {
      while (subscriber.queue.length > 0) {
        const bytes = this.#join(subscriber.queue);
        subscriber.queue = [];
        await subscriber.writer.write(bytes);
        subscriber.backlog -= bytes.byteLength;
      }
      subscriber.writing = false;
      if (subscriber.closing) await subscriber.writer.close();
    } catch {
      // The reader left, or was dropped.
      this.#forget(subscriber);
    }
  }

  /** The frames as one; readers that are in step share it. */
  #join(frames: readonly Uint8Array[]): Uint8Array {
    const [first] = frames;
    if (!first || frames.length === 1) return first ?? new Uint8Array();
    if (this.#joined?.first !== first || this.#joined.count !== frames.length) {
      this.#joined = { first, count: frames.length, bytes: concatenate(frames) };
    }
    return this.#joined.bytes;
  }

  #close(subscriber: Subscriber): void {
    this.#forget(subscriber);
    subscriber.closing = true;
    if (!subscriber.writing) void this.#drain(subscriber);
  }

  #drop(subscriber: Subscriber): void {
    this.#forget(subscriber);
    subscriber.writer.abort("the reader is too slow").catch(() => {});
  }

  #forget(subscriber: Subscriber): void {
    this.#open.delete(subscriber);
    if (this.#open.size > 0) return;
    this.#joined = undefined;
    if (this.#heartbeat) clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }

  #beat(): void {
    // A copy: frames are told apart by what they are, not by what they say.
    const beat = KEEPALIVE.slice();
    for (const subscriber of this.#open) {
      if (Date.now() - subscriber.openedAt > MAX_AGE_MS) this.#close(subscriber);
      else this.#write(subscriber, beat);
    }
  }
}

function endOf(state: TaskState): Until | undefined {
  if (isTerminal(state)) return "terminal";
  return state === "TASK_STATE_INPUT_REQUIRED" ? "input" : undefined;
}

/** The Task as a stream shows it. */
export function taskFrame(seq: number | undefined, { task }: TaskRecord): Uint8Array {
  return encodeFrame(seq, { task: viewTask(task) });
}

/** The events that a stream shows of those that were stored. */
export function laterFrames(stored: readonly StoredEvent[], record: TaskRecord): Uint8Array[] {
  return stored.flatMap(({ seq, event }) => eventFrame(seq, event, record) ?? []);
}

/** The stream of a message that is the whole answer. */
export function messageStream(message: Message): OpenStream {
  const frames = finishedStream([encodeFrame(undefined, { message })]);
  return { taskId: "", state: "TASK_STATE_COMPLETED", frames };
}

/** A stream of just these frames. */
export function finishedStream(frames: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  // A reader that leaves early misses nothing but its own stream.
  for (const frame of frames) writer.write(frame).catch(() => {});
  writer.close().catch(() => {});
  return readable;
}

function eventFrame(
  seq: number | undefined,
  event: TaskEvent,
  { task }: TaskRecord,
): Uint8Array | undefined {
  const response = toStreamResponse(event, { taskId: task.id, contextId: task.contextId });
  return response && encodeFrame(seq, response);
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}
