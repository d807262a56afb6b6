/**
 * Calls that outlive the object they wait on. An object is reset now and then (a deploy, a move, a fault); the edge
 * then goes on with a fresh stub and the id it holds. It never sends a message again.
 */
import type { Result } from "../protocol/errors.ts";
import type { StreamResponse, Task } from "../protocol/task.ts";
import { type Frame, frameDecoder } from "../task/frame.ts";
import type { OpenStream, Ports, Until } from "./ports.ts";

/** How often in a row a call is taken up again, with a pause that doubles from PAUSE_MS. */
const MAX_TRIES = 5;
const PAUSE_MS = 50;

/** A stream on a task, as the bindings send it. */
export interface TaskStream extends Omit<OpenStream, "frames"> {
  /** Frames; undefined stands for a keepalive. */
  frames: ReadableStream<Frame | undefined>;
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
  return { ...stream, frames: followFrames(frames, reopen) };
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
function followFrames(
  first: ReadableStream<Uint8Array>,
  reopen: (lastEventId: number) => Promise<ReadableStream<Uint8Array> | undefined>,
): ReadableStream<Frame | undefined> {
  let reader = first.pipeThrough(frameDecoder()).getReader();
  let lastEventId: number | undefined;
  let unstored: Frame[] = [];
  let returning = false;

  const next = async (): Promise<ReadableStreamReadResult<Frame | undefined>> => {
    try {
      return await reader.read();
    } catch (error) {
      const last = lastEventId;
      if (last === undefined) throw error;
      const frames = await retry(error, () => reopen(last));
      reader = frames.pipeThrough(frameDecoder()).getReader();
      returning = true;
      return next();
    }
  };

  return new ReadableStream<Frame | undefined>({
    async pull(controller) {
      const { done, value: frame } = await next();
      if (done) {
        controller.close();
        return;
      }
      if (frame && returning) {
        returning = false;
        const undo = undoChunks(unstored, frame);
        unstored = [];
        // A pull must give something; a comment does no harm.
        for (const each of undo.length > 0 ? undo : [undefined]) controller.enqueue(each);
        return;
      }
      if (frame?.id !== undefined) {
        lastEventId = frame.id;
        unstored = [];
      } else if (frame) unstored.push(frame);
      controller.enqueue(frame);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Events that set the artifacts of the chunks back to what they are in the task of the frame. */
function undoChunks(chunks: readonly Frame[], taskFrame: Frame): Frame[] {
  const { task } = JSON.parse(taskFrame.json) as { task: Task };
  const ids = new Set(
    chunks.map(({ json }) => (JSON.parse(json) as StreamResponse).artifactUpdate?.artifact.artifactId),
  );
  ids.delete(undefined);
  return [...ids].map((artifactId) => {
    const artifact = task.artifacts?.find((each) => each.artifactId === artifactId);
    const event = {
      taskId: task.id,
      contextId: task.contextId,
      artifact: artifact ?? { artifactId, parts: [{ text: "" }] },
    };
    return { id: undefined, json: JSON.stringify({ artifactUpdate: event }) };
  });
}
