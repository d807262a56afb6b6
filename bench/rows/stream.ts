/** Streams: how soon they begin, how long a task of many chunks takes, and how many readers it can have. */
import type { Call, EventReader } from "../client.ts";
import type { Ready, Row } from "../row.ts";
import * as targets from "../targets.ts";

const { jsonrpc, rest, d1, express } = targets.NAMES;

const overJsonRpc = (text: string) => targets.jsonRpc("SendStreamingMessage", targets.say(text));
const overRest = (text: string) => targets.rest("/message:stream", targets.say(text));

type Streamed = (open: () => Promise<EventReader>) => Promise<number>;

/** A contestant whose streams are opened one after another. */
function streamer(
  open: () => Promise<targets.Target>,
  call: () => Call,
  measure: Streamed,
  warmUp: number,
): () => Promise<Ready> {
  return async () => {
    const { client, close } = await open();
    const once = () => measure(() => client.open(call()));
    for (let index = 0; index < warmUp; index++) await once();
    return { measure: once, close };
  };
}

export function firstByteRow(streams: number, rounds: number): Row {
  const floor = "floor: new object, one insert, an alarm, an index object";
  const measure: Streamed = async (open) => {
    const times: number[] = [];
    for (let index = 0; index < streams; index++) {
      const reader = await open();
      await reader.ended;
      times.push(reader.firstByteMs);
    }
    return times.sort((a, b) => a - b)[Math.floor(streams / 2)] ?? Number.NaN;
  };
  return {
    title: "SendStreamingMessage, first byte of the stream",
    unit: "ms",
    rounds,
    contestants: {
      [floor]: streamer(targets.floors, () => ({ path: "/index" }), measure, 1),
      [jsonrpc]: streamer(targets.agent, () => overJsonRpc("Ada"), measure, 1),
      [rest]: streamer(targets.agent, () => overRest("Ada"), measure, 1),
      [d1]: streamer(targets.d1, () => overJsonRpc("Ada"), measure, 1),
      [express]: streamer(targets.express, () => overJsonRpc("Ada"), measure, 1),
    },
    comparisons: [
      { of: jsonrpc, to: floor },
      { of: jsonrpc, to: d1 },
      { of: jsonrpc, to: express },
    ],
  };
}

/** Chunks that come at once, as tokens do from a fast model. */
const CHUNK_BURST = 10;

/** `withSdk`: the SDK copies the whole task with each chunk, so that many of them take it minutes. */
export function chunksRow(chunks: number, rounds: number, withSdk: boolean): Row {
  const text = `words ${chunks} ${CHUNK_BURST}`;
  const measure: Streamed = async (open) => {
    const start = performance.now();
    const reader = await open();
    await reader.ended;
    if (reader.events < chunks) throw new Error(`${reader.events} events of ${chunks} chunks arrived`);
    return performance.now() - start;
  };
  return {
    title: `a task of ${chunks.toLocaleString("en")} chunks, end to end`,
    unit: "ms",
    rounds,
    contestants: {
      [jsonrpc]: streamer(targets.agent, () => overJsonRpc(text), measure, 1),
      [rest]: streamer(targets.agent, () => overRest(text), measure, 1),
      ...(withSdk && {
        [d1]: streamer(targets.d1, () => overJsonRpc(text), measure, 0),
        [express]: streamer(targets.express, () => overJsonRpc(text), measure, 0),
      }),
    },
    comparisons: withSdk
      ? [
          { of: jsonrpc, to: d1, ...(chunks === 1_000 && { aim: 5 }) },
          { of: jsonrpc, to: express },
        ]
      : [{ of: rest, to: jsonrpc }],
  };
}

/** Events that are written in one turn of the event loop. */
const BURST = 100;

/** Events per second that all readers of one task get together, from the first event that any of them has. */
async function delivered(
  readers: readonly EventReader[],
  events: number,
  start: () => Promise<unknown>,
) {
  for (const reader of readers) reader.rewind();
  await start();
  await Promise.all(readers.map((reader) => reader.ended));
  const first = Math.min(...readers.map(({ startedAt }) => startedAt ?? Number.POSITIVE_INFINITY));
  const last = Math.max(...readers.map(({ endedAt }) => endedAt));
  const count = readers.reduce((sum, reader) => sum + reader.events, 0);
  if (count < events * readers.length) throw new Error(`${count} events arrived: a reader was cut off`);
  return (count * 1000) / (last - first);
}

export function broadcastRow(subscribers: number, events: number, rounds: number): Row {
  const floor = "floor: a bare broadcast in an object";
  /** What stands before the artifact's text in the events of our agent, in its JSON-RPC envelope. */
  const envelope = `{"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"${"0".repeat(64)}","contextId":"${"0".repeat(36)}","artifact":{"artifactId":"artifact-1.1","parts":[{}]},"append":true},"part":`;
  const bare = async (): Promise<Ready> => {
    const { client, close } = await targets.floors();
    const measure = async () => {
      const readers = await Promise.all(
        Array.from({ length: subscribers }, () => client.open({ path: "/subscribe" })),
      );
      await Promise.all(readers.map(({ first }) => first));
      const path = `/broadcast?count=${events}&burst=${BURST}`;
      return delivered(readers, events, () => client.request({ path, body: envelope }));
    };
    await measure();
    return { measure, close };
  };
  const task = async (): Promise<Ready> => {
    const { client, close } = await targets.agent();
    const measure = async () => {
      const owner = await client.open(overJsonRpc(`held ${events} ${BURST}`));
      const id = targets.taskIdIn(await owner.first);
      const others = await Promise.all(
        Array.from({ length: subscribers - 1 }, () =>
          client.open(targets.jsonRpc("SubscribeToTask", { id })),
        ),
      );
      await Promise.all(others.map(({ first }) => first));
      const release = { method: "GET", path: `/bench/release?task=${id}` } as const;
      return delivered([owner, ...others], events, () => client.request(release));
    };
    await measure();
    return { measure, close };
  };
  const ours = "durable-a2a, JSON-RPC";
  return {
    title: `events delivered to ${subscribers} ${subscribers === 1 ? "subscriber" : "subscribers"}`,
    unit: "events/s",
    rounds,
    // Not the SDK: it copies the whole task with each chunk, which would be all that is measured.
    contestants: { [floor]: bare, [ours]: task },
    comparisons: [{ of: ours, to: floor, ...(subscribers === 100 && { aim: 0.5 }) }],
  };
}
