/**
 * How events travel from a task object to a binding: bytes, one event a line, `<id> <json>`. Stored events
 * have their seq as id; chunks that wait to be stored have none (`- <json>`). An empty line keeps the
 * connection alive. Bindings wrap the JSON in their envelope without reading it.
 */
const encoder = new TextEncoder();

export interface Frame {
  /** The seq of the event in the task's log; undefined while it is not stored. */
  id: number | undefined;
  /** A StreamResponse in JSON, without line breaks. */
  json: string;
}

export const KEEPALIVE: Uint8Array = encoder.encode("\n");

export function encodeFrame(id: number | undefined, response: object): Uint8Array {
  return encoder.encode(`${id ?? "-"} ${JSON.stringify(response)}\n`);
}

/** The frames of a byte stream; undefined stands for a keepalive. */
export function frameDecoder(): TransformStream<Uint8Array, Frame | undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  return new TransformStream({
    transform(bytes, controller) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) controller.enqueue(line === "" ? undefined : decodeLine(line));
    },
  });
}

function decodeLine(line: string): Frame {
  const space = line.indexOf(" ");
  const id = Number(line.slice(0, space));
  return { id: Number.isNaN(id) ? undefined : id, json: line.slice(space + 1) };
}
