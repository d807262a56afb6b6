/** Streams of events in either binding, and what they add up to. */
import type { StreamResponse, TaskState } from "durable-a2a";
import * as assembly from "../assembly.ts";
import { type Binding, exchange } from "./bindings.ts";
import { type CallOptions, type Json, sse } from "./client.ts";

export interface StreamEvent {
  /** Of the event's server-sent `id`; undefined while the event is not stored. */
  id: number | undefined;
  event: StreamResponse;
}

/** An open stream of events. */
export class EventStream {
  readonly #events: AsyncGenerator<{ id: string | undefined; data: Json }>;
  readonly #binding: Binding;
  readonly headers: Headers;

  constructor(binding: Binding, response: Response) {
    this.#binding = binding;
    this.#events = sse(response);
    this.headers = response.headers;
  }

  /** The next event, or undefined at the end. */
  async next(): Promise<StreamEvent | undefined> {
    const { done, value } = await this.#events.next();
    if (done) return undefined;
    const { id, data } = value;
    // Plain conditions: there are tens of thousands of events, and an `expect` costs more than an event.
    const enveloped = data.jsonrpc === "2.0" && data.id === 1;
    const event = this.#binding === "jsonrpc" ? (data.result as Json) : data;
    if (enveloped !== (this.#binding === "jsonrpc") || Object.keys(event).length !== 1) {
      throw new Error(`not an event of ${this.#binding}: ${JSON.stringify(data)}`);
    }
    return { id: id === undefined ? undefined : Number(id), event: event as StreamResponse };
  }

  /** Every event to the end. */
  async rest(): Promise<StreamEvent[]> {
    return this.until(() => false);
  }

  /** The events up to the first that is wanted, or to the end. */
  async until(wanted: (event: StreamResponse) => boolean): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    for (let next = await this.next(); next; next = await this.next()) {
      events.push(next);
      if (wanted(next.event)) break;
    }
    return events;
  }

  /** Goes away, as a client that drops the connection. */
  async close(): Promise<void> {
    await this.#events.return(undefined);
  }
}

/** Opens a stream; throws when the answer is none. */
export async function open(
  binding: Binding,
  operation: "SendStreamingMessage" | "SubscribeToTask",
  params: object,
  options: CallOptions = {},
): Promise<EventStream> {
  const response = await exchange(binding, operation, params, options);
  const type = response.headers.get("Content-Type");
  if (type !== "text/event-stream") throw new Error(`no stream: ${await response.text()}`);
  return new EventStream(binding, response);
}

/** The states of the events that have one, in order. */
export function statesOf(events: readonly StreamEvent[]): TaskState[] {
  return events.flatMap(({ event }) => (event.task ?? event.statusUpdate)?.status.state ?? []);
}

/** The text of every artifact update, in order. */
export function textsOf(events: readonly StreamEvent[]): string[] {
  return events.flatMap(
    ({ event }) => event.artifactUpdate?.artifact.parts.map(({ text = "" }) => text) ?? [],
  );
}

export { content } from "../assembly.ts";

/** What a client makes of the events. */
export function assemble(events: readonly StreamEvent[]): assembly.Assembled {
  return assembly.assemble(events.map(({ event }) => event));
}
