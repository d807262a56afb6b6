/** A closed loop of keep-alive clients against one server, and readers of its streams. */
import http from "node:http";

export interface Call {
  method?: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** A server must answer within this time, in ms; a benchmark that hangs says nothing. */
const TIMEOUT_MS = 60_000;

export class Client {
  readonly #port: number;
  readonly #agent: http.Agent;

  /** At most `sockets` connections are open at once. */
  constructor(port: number, sockets = 128) {
    this.#port = port;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: sockets });
  }

  /** One call, answered whole. */
  async request(call: Call): Promise<Answer> {
    const response = await this.#send(call);
    let text = "";
    response.setEncoding("utf8");
    for await (const piece of response) text += piece;
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  }

  /** Opens a stream of Server-Sent Events. */
  async open(call: Call): Promise<EventReader> {
    const start = performance.now();
    return new EventReader(await this.#send(call), start);
  }

  close(): void {
    this.#agent.destroy();
  }

  #send({ method = "POST", path, headers = {}, body }: Call): Promise<http.IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const request = http.request(
      {
        agent: this.#agent,
        host: "127.0.0.1",
        port: this.#port,
        path,
        method,
        timeout: TIMEOUT_MS,
        headers: {
          ...headers,
          ...(body !== undefined && { "Content-Length": String(Buffer.byteLength(body)) }),
        },
      },
      resolve,
    );
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error(`no answer to ${path} in ${TIMEOUT_MS} ms`)));
    request.end(body);
    return promise;
  }
}

/** Counts the events of a stream, without parsing them: they arrive faster than JSON is read. */
export class EventReader {
  /** Text of the first event. */
  readonly first: Promise<string>;
  readonly ended: Promise<void>;
  /** Time from the call to the first byte of an event, in ms. */
  firstByteMs = 0;
  events = 0;
  /** When events last began to arrive after `rewind`. */
  startedAt: number | undefined;
  endedAt = 0;
  #endsInNewline = false;

  constructor(response: http.IncomingMessage, start: number) {
    const first = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<void>();
    this.first = first.promise;
    this.ended = ended.promise;
    let head = "";
    response.on("data", (bytes: Buffer) => {
      this.startedAt ??= performance.now();
      if (this.firstByteMs === 0) this.firstByteMs = performance.now() - start;
      this.#count(bytes);
      if (head.includes("\n\n")) return;
      head += bytes.toString("utf8");
      if (head.includes("\n\n")) first.resolve(head.slice(0, head.indexOf("\n\n")));
    });
    response.on("end", () => {
      this.endedAt = performance.now();
      first.resolve(head);
      ended.resolve();
    });
    response.on("error", (error) => {
      first.reject(error);
      ended.reject(error);
    });
    // Who waits for one of them only must not be told of the other.
    first.promise.catch(() => {});
    ended.promise.catch(() => {});
  }

  /** What comes from now on is counted anew. */
  rewind(): void {
    this.events = 0;
    this.startedAt = undefined;
  }

  #count(bytes: Buffer): void {
    let from = 0;
    if (this.#endsInNewline && bytes[0] === 0x0a) {
      this.events++;
      from = 1;
    }
    for (let at = bytes.indexOf("\n\n", from); at >= 0; at = bytes.indexOf("\n\n", from)) {
      this.events++;
      from = at + 2;
    }
    this.#endsInNewline = from < bytes.length && bytes.at(-1) === 0x0a;
  }
}

/** Sends `total` calls from `clients` at a time, each after the answer to its last; gives calls per second. */
export async function closedLoop(
  clients: number,
  total: number,
  send: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < total) await send(next++);
    }),
  );
  return (total * 1000) / (performance.now() - start);
}
