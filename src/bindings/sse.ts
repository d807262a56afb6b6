/** Server-Sent Events, from frames of the task's stream: one JSON document an event. Pure. */
import type { Frame, FrameSource } from "../task/frame.ts";

/** The body of an SSE answer. `envelope` puts the JSON of an event into what the binding sends. */
export function sseBody(
  frames: FrameSource,
  envelope: (json: string) => string,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let batch = await frames.next();
      // A pull must give something.
      while (batch?.length === 0) batch = await frames.next();
      if (!batch) controller.close();
      else
        controller.enqueue(encoder.encode(batch.map((frame) => encodeEvent(frame, envelope)).join("")));
    },
    cancel: (reason) => frames.cancel(reason),
  });
}

/** One event as text; no frame is a comment that keeps the connection alive. */
export function encodeEvent(frame: Frame | undefined, envelope: (json: string) => string): string {
  if (!frame) return ": keepalive\n\n";
  const id = frame.id === undefined ? "" : `id: ${frame.id}\n`;
  return `${id}data: ${envelope(frame.json)}\n\n`;
}

export const SSE_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
} as const;
