/** Webhooks: how many events arrive in a second, and how soon, beside a queue and a consumer that only post. */
import { Receiver } from "../receiver.ts";
import type { Ready, Row } from "../row.ts";
import * as targets from "../targets.ts";

const OURS = "durable-a2a";
const FLOOR = "floor: a queue whose consumer posts";
/** Webhooks of one task. */
const PER_TASK = 10;

/** A contestant whose deliveries come to a receiver; `drive` gives what a round measures. */
function sender(
  open: () => Promise<targets.Target>,
  drive: (client: targets.Target["client"], receiver: Receiver) => Promise<number>,
): () => Promise<Ready> {
  return async () => {
    const receiver = new Receiver();
    await receiver.listen();
    const { client, close } = await open();
    await drive(client, receiver);
    return {
      measure: () => drive(client, receiver),
      close() {
        receiver.close();
        return close();
      },
    };
  };
}

/** A task that will say `count` things to `webhooks` webhooks; gives the function that lets it begin. */
async function told(
  client: targets.Target["client"],
  receiver: Receiver,
  webhooks: number,
  [count, everyMs]: [number, number],
): Promise<() => Promise<unknown>> {
  const message = targets.say(`${count} ${everyMs}`);
  const configuration = { returnImmediately: true };
  const call = targets.rest("/message:send", { ...message, configuration });
  const id = targets.taskIdIn(targets.ok(await client.request(call)).text);
  for (let index = 0; index < webhooks; index++) {
    const url = receiver.url(`/${index}`);
    const config = targets.rest(`/tasks/${id}/pushNotificationConfigs`, { url });
    targets.ok(await client.request(config), url);
  }
  return () => client.request({ path: `/bench/release?task=${id}` });
}

/** `events` events in all, to so many receivers, each of which gets its own in order. */
export function deliveriesRow(receivers: number, events: number, rounds: number): Row {
  const each = events / receivers;
  const rate = async (start: number, arrived: Promise<{ at: number }[]>) => {
    const last = (await arrived).at(-1)?.at ?? Number.NaN;
    return (events * 1000) / (last - start);
  };
  return {
    title: `webhooks: ${events} events to ${receivers === 1 ? "1 receiver" : `${receivers} receivers`}`,
    unit: "events/s",
    rounds,
    contestants: {
      [FLOOR]: sender(targets.pushFloor, async (client, receiver) => {
        const jobs = Array.from({ length: receivers }, (_, index) => ({
          url: receiver.url(`/${index}`),
          count: each,
        }));
        const start = Date.now();
        targets.ok(await client.request({ path: "/", body: JSON.stringify(jobs) }));
        return rate(start, receiver.take(events));
      }),
      [OURS]: sender(targets.push, async (client, receiver) => {
        const tasks = Array.from({ length: Math.ceil(receivers / PER_TASK) }, (_, index) =>
          // The end of the task is an event as well.
          told(client, receiver, Math.min(PER_TASK, receivers - index * PER_TASK), [each - 1, 0]),
        );
        const begin = await Promise.all(tasks);
        const start = Date.now();
        await Promise.all(begin.map((release) => release()));
        return rate(start, receiver.take(events));
      }),
    },
    comparisons: [{ of: OURS, to: FLOOR }],
  };
}

/** From an event to its arrival, while nothing else waits: the median of `count` events. */
export function delayRow(count: number, rounds: number): Row {
  const EVERY_MS = 80;
  const median = (values: number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  return {
    title: "webhooks: from an event to its arrival",
    unit: "ms",
    rounds,
    contestants: {
      [FLOOR]: sender(targets.pushFloor, async (client, receiver) => {
        const delays: number[] = [];
        for (let index = 0; index < count; index++) {
          const jobs = [{ url: receiver.url("/"), count: 1 }];
          targets.ok(await client.request({ path: "/", body: JSON.stringify(jobs) }));
          for (const { at, body } of await receiver.take(1)) delays.push(at - JSON.parse(body).at);
        }
        return median(delays);
      }),
      [OURS]: sender(targets.push, async (client, receiver) => {
        const release = await told(client, receiver, 1, [count, EVERY_MS]);
        await release();
        const arrivals = await receiver.take(count + 1);
        return median(
          arrivals.map(
            ({ at, body }) => at - Date.parse(JSON.parse(body).statusUpdate.status.timestamp),
          ),
        );
      }),
    },
    comparisons: [{ of: OURS, to: FLOOR }],
  };
}
