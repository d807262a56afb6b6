/** Server-Sent Events, from frames of the task's stream: one JSON document an event. */
import type { FrameSource } from "../task/frame.ts";

/** What a binding puts around the JSON of an event. */
export interface Envelope {
  readonly before: string;
  readonly after: string;
}

/** The body of an SSE answer. */
export function sseBody(frames: FrameSource, envelope: Envelope): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const encode = eventEncoder(envelope);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let lines = await frames.next();
      // A pull must give something.
      while (lines === "") lines = await frames.next();
      if (lines === undefined) controller.close();
      else controller.enqueue(encoder.encode(encode(lines)));
    },
    cancel: (reason) => frames.cancel(reason),
  });
}

/** Turns lines of frames into events: all of them in one go, since a burst to many readers is mostly this. Pure. */
export function eventEncoder({ before, after }: Envelope): (lines: string) => string {
  // Only `\n` ends a line here: `^` and `.` would stop at U+2028 too. `$` means something in a replacement.
  const [head, tail] = [before, after].map((text) => text.replaceAll("$", "$$$$"));
  return (lines) =>
    lines
      .replace(/(?<![^\n])\n/g, ": keepalive\n\n")
      .replace(/(?<![^\n])- ([^\n]*)\n/g, `data: ${head}$1${tail}\n\n`)
      .replace(/(?<![^\n])(\d+) ([^\n]*)\n/g, `id: $1\ndata: ${head}$2${tail}\n\n`);
}

export const SSE_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
} as const;
