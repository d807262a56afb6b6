/** Reads a stream of Server-Sent Events, as a client does. */
import type { StreamResponse } from "../protocol/task.ts";
import { type Answer, resultOf } from "./client.ts";

/** An event of a stream; `id` is what `lastEventId` takes, undefined while the event is not stored. */
export type ReceivedEvent = StreamResponse & { readonly id?: string };

/** The events of an answer. Who leaves the loop leaves the stream, as a client that hangs up. */
export async function* events(response: Response): AsyncGenerator<ReceivedEvent, void, undefined> {
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    resultOf((await response.json()) as Answer);
    throw new Error("the answer is no stream");
  }
  let buffer = "";
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    buffer += text;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = read(block);
      if (event) yield event;
    }
  }
}

/** One event; undefined for a comment. */
function read(block: string): ReceivedEvent | undefined {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const data = field("data");
  if (data === undefined) return undefined;
  const id = field("id");
  const event = resultOf(JSON.parse(data) as Answer) as StreamResponse;
  return { ...event, ...(id !== undefined && { id }) };
}
