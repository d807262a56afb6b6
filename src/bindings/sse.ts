/** Server-Sent Events, from frames of the task's stream: one JSON document an event. */
import type { FrameSource } from "../task/frame.ts";

/** What a binding puts around the JSON of an event. */
export interface Envelope {
  readonly before: string;
  readonly after: string;
}

const encoder = new TextEncoder();

/** What was encoded last. Readers of one task get the same lines, one reader after another. */
let encoded: (Envelope & { lines: string; bytes: Uint8Array }) | undefined;

function encodeEvents(lines: string, { before, after }: Envelope): Uint8Array {
  if (encoded?.lines !== lines || encoded.before !== before || encoded.after !== after) {
    const bytes = encoder.encode(eventEncoder({ before, after })(lines));
    encoded = { lines, before, after, bytes };
  }
  return encoded.bytes;
}

/** The body of an SSE answer. */
export function sseBody(frames: FrameSource, envelope: Envelope): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let lines = await frames.next();
      // A pull must give something.
      while (lines === "") lines = await frames.next();
      if (lines === undefined) controller.close();
      else controller.enqueue(encodeEvents(lines, envelope));
    },
    cancel: (reason) => frames.cancel(reason),
  });
}

/** Turns lines of frames into events. Pure. */
export function eventEncoder({ before, after }: Envelope): (lines: string) => string {
  return (lines) => {
    let events = "";
    // The last piece is what stands behind the last line break: nothing.
    for (const line of lines.split("\n").slice(0, -1)) {
      if (line === "") {
        events += ": keepalive\n\n";
        continue;
      }
      const space = line.indexOf(" ");
      const id = line.startsWith("-") ? "" : `id: ${line.slice(0, space)}\n`;
      events += `${id}data: ${before}${line.slice(space + 1)}${after}\n\n`;
    }
    return events;
  };
}

export const SSE_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
} as const;
