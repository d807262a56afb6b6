/** The limits of an owner over all its tasks: how many are in progress, how many streams are open. */
import { A2AError, type Result, unwrap } from "../protocol/errors.ts";
import { isInterrupted, isTerminal, type Task, type TaskState } from "../protocol/task.ts";
import type { FrameSource } from "../task/frame.ts";
import type { IndexPort, Ports } from "./ports.ts";
import type { TaskStream } from "./reattach.ts";

/** A stream says this often that it is open. Its keepalives are the clock. */
const HOLD_MS = 30_000;

/** What was let in. */
export interface Admission {
  /** Gives back what came to nothing: the task was refused, or answered with a message, or it was there and stands still. */
  settle(result: Result<object>): Promise<void>;
  /** The stream, counted until it ends. */
  watch(stream: TaskStream): TaskStream;
}

const UNLIMITED: Admission = { settle: async () => {}, watch: (stream) => stream };

/**
 * Counts a task (one that a message goes to) and a stream of the owner; refused with RESOURCE_EXHAUSTED when there are
 * too many, and with UNAVAILABLE when they cannot be counted. Without these limits nothing is asked or counted.
 * `repeatable`: the message may have been taken in before; then the index will hear nothing of it.
 */
export async function admit(
  ports: Ports,
  owner: string,
  {
    task,
    stream = false,
    repeatable = false,
  }: { task?: string; stream?: boolean; repeatable?: boolean },
): Promise<Admission> {
  const { tasksPerOwner, streamsPerOwner } = ports.agent.limits;
  const counted = {
    ...(task !== undefined &&
      tasksPerOwner !== undefined && { task: { id: task, limit: tasksPerOwner } }),
    ...(stream &&
      streamsPerOwner !== undefined && {
        stream: { id: crypto.randomUUID(), limit: streamsPerOwner },
      }),
  };
  if (!counted.task && !counted.stream) return UNLIMITED;
  unwrap(await asked(() => ports.index(owner).admit(counted)));
  const ids = [counted.task?.id, counted.stream?.id].filter((id) => id !== undefined);
  // What cannot be given back is forgotten by the index after a while.
  const release = (which = ids) => quietly(() => ports.index(owner).release(which));
  return {
    async settle(result) {
      if (!result.ok || "message" in result.value) await release();
      else if (repeatable && counted.task && standsStill(result.value))
        await release([counted.task.id]);
    },
    watch(open) {
      const id = counted.stream?.id;
      const hold = async () => {
        if (id !== undefined) await quietly(() => ports.index(owner).hold(id));
      };
      return { ...open, frames: new CountedFrames(open.frames, hold, release) };
    },
  };
}

/** Whether the task that was answered with does nothing now. */
function standsStill(answer: { task?: Task; state?: TaskState }): boolean {
  const state = answer.task?.status.state ?? answer.state;
  return state !== undefined && (isTerminal(state) || isInterrupted(state));
}

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    console.error("What an owner has under way cannot be counted:", error);
    throw new A2AError("UNAVAILABLE", {
      message: "Temporarily unavailable: your tasks and streams cannot be counted",
    });
  }
}

async function quietly(ask: () => ReturnType<IndexPort["release"]>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    console.warn("The count of an owner was not told:", error);
  }
}

class CountedFrames implements FrameSource {
  readonly #frames: FrameSource;
  readonly #hold: () => Promise<void>;
  readonly #release: () => Promise<void>;
  #heldAt = Date.now();

  constructor(frames: FrameSource, hold: () => Promise<void>, release: () => Promise<void>) {
    this.#frames = frames;
    this.#hold = hold;
    this.#release = release;
  }

  async next(): Promise<string | undefined> {
    let lines: string | undefined;
    try {
      lines = await this.#frames.next();
    } catch (error) {
      await this.#release();
      throw error;
    }
    if (lines === undefined) await this.#release();
    else if (Date.now() - this.#heldAt >= HOLD_MS) {
      this.#heldAt = Date.now();
      await this.#hold();
    }
    return lines;
  }

  async cancel(reason: unknown): Promise<void> {
    await Promise.all([this.#frames.cancel(reason), this.#release()]);
  }
}
