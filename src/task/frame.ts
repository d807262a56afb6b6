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

/** Frames as they arrive together; undefined stands for a keepalive. */
export type Batch = readonly (Frame | undefined)[];

/** Where frames come from. */
export interface FrameSource {
  /** What came next, which may be nothing whole yet; undefined at the end. */
  next(): Promise<Batch | undefined>;
  cancel(reason: unknown): Promise<void>;
}

/** The frames of a byte stream. */
export class FrameReader implements FrameSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  /** Pieces of the line that is not whole yet; joined once, however many there are. */
  #pieces: string[] = [];

  constructor(bytes: ReadableStream<Uint8Array>) {
    this.#reader = bytes.getReader();
  }

  async next(): Promise<Batch | undefined> {
    const { done, value } = await this.#reader.read();
    if (done) return undefined;
    const [head = "", ...more] = this.#decoder.decode(value, { stream: true }).split("\n");
    this.#pieces.push(head);
    const rest = more.pop();
    if (rest === undefined) return [];
    const lines = [this.#pieces.join(""), ...more];
    this.#pieces = [rest];
    return lines.map((line) => (line === "" ? undefined : decodeLine(line)));
  }

  cancel(reason: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }
}

function decodeLine(line: string): Frame {
  const space = line.indexOf(" ");
  const id = Number(line.slice(0, space));
  return { id: Number.isNaN(id) ? undefined : id, json: line.slice(space + 1) };
}
