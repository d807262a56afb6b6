/** A receiver of webhooks on this machine: it answers as it is told, and keeps everything that comes. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { StreamResponse } from "durable-a2a";
import { freePort, until } from "./server.ts";

/** One POST, or whatever else came. */
export interface Delivery {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  /** The body, when it is JSON. */
  readonly body: StreamResponse;
  /** `X-A2A-Notification-Id` and `X-A2A-Notification-Seq`. */
  readonly id: string;
  readonly seq: number;
  /** How often this id has come to this path, this time included. */
  readonly attempt: number;
  /** When it came, in ms of `performance.now()`. */
  readonly at: number;
  /** Its place in all that happened at the receiver: what came and what was answered. */
  readonly place: number;
  /** The answer that was sent. */
  answered?: { readonly status: number; readonly at: number; readonly place: number };
  /** When the sender went away before it was answered, in ms. */
  cut?: number;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** How long to wait before it. */
  delayMs?: number;
  /** Never answers; the status is never sent. */
  hang?: boolean;
}

/** What a path answers: always the same, or what the function says of each delivery. */
export type Behaviour =
  | number
  | Answer
  | ((delivery: Delivery) => number | Answer | Promise<number | Answer>);

export interface Receiver {
  url(path: string): string;
  /** What has come, to this path or to all, oldest first. */
  received(path?: string): Delivery[];
  /** Says what a path answers from now on; 200 when nothing is said. Paths are free to choose. */
  answer(path: string, behaviour: Behaviour): void;
  /** Resolves when what has come to the path is so. */
  receives(path: string, holds: (deliveries: Delivery[]) => boolean, seconds?: number): Promise<void>;
  /** From now on connections are refused, and open ones are cut. */
  refuse(): Promise<void>;
  /** Takes connections again, at the same port. */
  listen(): Promise<void>;
}

const receivers = new Set<Receiver>();

/** A receiver on a free port. A file that starts receivers ends with `afterAll(endReceivers)`. */
export async function startReceiver(): Promise<Receiver> {
  const port = await freePort();
  const deliveries: Delivery[] = [];
  const behaviours = new Map<string, Behaviour>();
  let places = 0;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    const raw = await text(request);
    const id = String(headers["x-a2a-notification-id"] ?? "");
    const seq = Number(headers["x-a2a-notification-seq"]);
    const attempt = 1 + deliveries.filter((each) => each.path === path && each.id === id).length;
    const at = performance.now();
    const received = { method, path, headers, raw, body: parse(raw), id, seq, attempt, at };
    const delivery: Delivery = { ...received, place: places++ };
    deliveries.push(delivery);
    response.once("close", () => {
      if (!delivery.answered) delivery.cut = performance.now();
    });
    const behaviour = behaviours.get(path) ?? 200;
    const said = typeof behaviour === "function" ? await behaviour(delivery) : behaviour;
    const answer = typeof said === "number" ? { status: said } : said;
    if (answer.hang) return;
    if (answer.delayMs) await pause(answer.delayMs);
    if (response.destroyed) return;
    delivery.answered = { status: answer.status, at: performance.now(), place: places++ };
    response.writeHead(answer.status, answer.headers).end();
  }

  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  // Idle connections stay: one that is closed just as it is used again would look like a network error.
  server.keepAliveTimeout = 600_000;
  const receiver: Receiver = {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    received: (path) => deliveries.filter((each) => path === undefined || each.path === path),
    answer: (path, behaviour) => void behaviours.set(path, behaviour),
    receives: (path, holds, seconds) =>
      until(() => holds(receiver.received(path)), `what ${path} receives`, seconds).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it was ${story(receiver.received(path))}`);
        },
      ),
    async refuse() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    listen: () => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve)),
  };
  await receiver.listen();
  receivers.add(receiver);
  return receiver;
}

/** Ends what a file has started, however its tests went. */
export async function endReceivers(): Promise<void> {
  await Promise.all([...receivers].map((receiver) => receiver.refuse()));
  receivers.clear();
}

/** Deliveries in a line, for the message of a test that fails. */
function story(deliveries: readonly Delivery[]): string {
  const [first] = deliveries;
  if (!first) return "nothing";
  const each = deliveries.map(({ seq, attempt, at, answered, cut, body }) => {
    const { statusUpdate, artifactUpdate, task, message } = body ?? {};
    const what =
      statusUpdate?.status.state ??
      artifactUpdate?.artifact.artifactId ??
      (task ? `task ${task.status.state}` : message ? "message" : "?");
    const end = answered ? `${answered.status}` : cut ? "cut" : "open";
    return `+${Math.round(at - first.at)}ms #${seq}/${attempt} ${what.replace("TASK_STATE_", "")} ${end}`;
  });
  return each.join(", ");
}

function parse(raw: string): StreamResponse {
  try {
    return JSON.parse(raw) as StreamResponse;
  } catch {
    return undefined as unknown as StreamResponse;
  }
}
