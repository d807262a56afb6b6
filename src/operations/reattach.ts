/**
 * Calls that outlive the object they wait on. An object is reset now and then (a deploy, a move, a fault); the edge
 * then goes on with a fresh stub and the id it holds. It never sends a message again.
 */
import type { Result } from "../protocol/errors.ts";
import type { StreamResponse, Task } from "../protocol/task.ts";
import { FrameReader, type FrameSource, jsonOf, lastStored } from "../task/frame.ts";
import type { OpenStream, Ports, Until } from "./ports.ts";

/** How often in a row a call is taken up again, with a pause that doubles from PAUSE_MS. */
const MAX_TRIES = 5;
const PAUSE_MS = 50;

/** A stream on a task, as the bindings send it. */
export interface TaskStream extends Omit<OpenStream, "frames"> {
  frames: FrameSource;
}

/** The stream of a task, which goes on when the task's object is reset. */
export function followTask(
  id: string,
  owner: string,
  until: Until,
  { frames, ...stream }: OpenStream,
  { tasks }: Ports,
): TaskStream {
  const reopen = async (lastEventId: number) => {
    const result = await tasks.find(id)?.subscribe(owner, { until, lastEventId });
    return result?.ok ? result.value.frames : undefined;
  };
  return { ...stream, frames: new FollowedFrames(frames, reopen) };
}

/** Whether the task never took the message in. */
export function isLost(result: Result<unknown> | undefined): boolean {
  return result === undefined || (!result.ok && result.refusal.reason === "TASK_NOT_FOUND");
}

/** What `first` gives; or, when the object under it is reset, what `again` gives. */
export async function reattach<T>(first: Promise<T>, again: () => Promise<T | undefined>): Promise<T> {
  try {
    return await first;
  } catch (error) {
    return retry(error, again);
  }
}

/** Tries `again` until it settles; `undefined` means there is nothing to go on with, and the first error stands. */
async function retry<T>(error: unknown, again: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** tries));
    try {
      const value = await again();
      if (value === undefined) break;
      return value;
    } catch {
      // Reset once more, or not back yet.
    }
  }
  throw error;
}

/**
 * The frames of a stream. When it breaks off, `reopen` gives one that begins with the task as it stood at the last
 * event that was shown; chunks that were shown and not stored by then are taken back first, so that what a reader puts
 * together is always what GetTask shows.
 */
class FollowedFrames implements FrameSource {
  readonly #reopen: (lastEventId: number) => Promise<ReadableStream<Uint8Array> | undefined>;
  #reader: FrameReader;
  #lastEventId: number | undefined;
  /** Lines shown since the last stored event: chunks. */
  #chunks = "";
  #returning = false;

  constructor(
    first: ReadableStream<Uint8Array>,
    reopen: (lastEventId: number) => Promise<ReadableStream<Uint8Array> | undefined>,
  ) {
    this.#reader = new FrameReader(first);
    this.#reopen = reopen;
  }

  async next(): Promise<string | undefined> {
    const lines = await this.#read();
    if (!lines) return lines;
    if (!this.#returning) return this.#note(lines);
    this.#returning = false;
    const end = lines.indexOf("\n") + 1;
    const undo = undoChunks(this.#chunks, lines.slice(0, end));
    this.#chunks = "";
    return undo + this.#note(lines.slice(end));
  }

  cancel(reason: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }

  async #read(): Promise<string | undefined> {
    for (;;) {
      try {
        return await this.#reader.next();
      } catch (error) {
        const last = this.#lastEventId;
        if (last === undefined) throw error;
        this.#reader = new FrameReader(await retry(error, () => this.#reopen(last)));
        this.#returning = true;
      }
    }
  }

  /** Remembers where the reader is. */
  #note(lines: string): string {
    const start = lastStored(lines);
    if (start === -1) {
      this.#chunks += lines;
      return lines;
    }
    this.#lastEventId = Number(lines.slice(start, lines.indexOf(" ", start)));
    this.#chunks = lines.slice(lines.indexOf("\n", start) + 1);
    return lines;
  }
}

/** Events that set the artifacts of the chunks back to what they are in the task of the frame. */
function undoChunks(chunks: string, taskLine: string): string {
  const [json = "{}"] = jsonOf(taskLine);
  const { task } = JSON.parse(json) as { task: Task };
  const ids = new Set(
    jsonOf(chunks).map(
      (chunk) => (JSON.parse(chunk) as StreamResponse).artifactUpdate?.artifact.artifactId,
    ),
  );
  ids.delete(undefined);
  return [...ids]
    .map((artifactId) => {
      const artifact = task.artifacts?.find((each) => each.artifactId === artifactId);
      const event = {
        taskId: task.id,
        contextId: task.contextId,
        artifact: artifact ?? { artifactId, parts: [{ text: "" }] },
      };
      return `- ${JSON.stringify({ artifactUpdate: event })}\n`;
    })
    .join("");
}
