/**
 * How events travel from a task object to a binding: bytes, one event a line, `<id> <json>`. Stored events
 * have their seq as id; chunks that wait to be stored have none (`- <json>`). An empty line keeps the
 * connection alive. Bindings wrap the JSON in their envelope without reading it, as many lines at once as came.
 */
const encoder = new TextEncoder();

/** Bytes read at once: a burst of events is one read. */
const READ_BYTES = 32 * 1024;

export const KEEPALIVE: Uint8Array = encoder.encode("\n");

export function encodeFrame(id: number | undefined, response: object): Uint8Array {
  return encoder.encode(`${id ?? "-"} ${JSON.stringify(response)}\n`);
}

/** Where frames come from. */
export interface FrameSource {
  /** The lines that came next, each with its line break; empty when none is whole yet, undefined at the end. */
  next(): Promise<string | undefined>;
  cancel(reason: unknown): Promise<void>;
}

/** The frames of a byte stream. */
export class FrameReader implements FrameSource {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #decoder = new TextDecoder();
  #buffer = new ArrayBuffer(READ_BYTES);
  /** Pieces of the line that is not whole yet; joined once, however many there are. */
  #pieces: string[] = [];

  constructor(bytes: ReadableStream<Uint8Array>) {
    this.#reader = bytes.getReader({ mode: "byob" });
  }

  async next(): Promise<string | undefined> {
    const { done, value } = await this.#reader.read(new Uint8Array(this.#buffer));
    if (done || !value) return undefined;
    const text = this.#decoder.decode(value, { stream: true });
    this.#buffer = value.buffer as ArrayBuffer;
    const end = text.lastIndexOf("\n") + 1;
    if (end === 0) {
      this.#pieces.push(text);
      return "";
    }
    const lines = this.#pieces.join("") + text.slice(0, end);
    this.#pieces = [text.slice(end)];
    return lines;
  }

  cancel(reason: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }
}

/** What was found last. Readers of one task get the same lines, one reader after another, and looking is a good part of their cost. */
let found = { lines: "", start: -1 };

/** Where the last line with an id begins in `lines`; -1 when none has one. */
export function lastStored(lines: string): number {
  if (found.lines !== lines) found = { lines, start: findLastStored(lines) };
  return found.start;
}

function findLastStored(lines: string): number {
  for (let end = lines.length; end > 0; ) {
    // `lastIndexOf` takes a negative start for 0, where a keepalive is a line break itself.
    const start = end < 2 ? 0 : lines.lastIndexOf("\n", end - 2) + 1;
    const first = lines.charCodeAt(start);
    if (first >= 0x30 && first <= 0x39) return start;
    end = start;
  }
  return -1;
}

/** The JSON of each line that has any. */
export function jsonOf(lines: string): string[] {
  return lines.split("\n").flatMap((line) => (line === "" ? [] : [line.slice(line.indexOf(" ") + 1)]));
}
