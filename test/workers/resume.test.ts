import { abortAllDurableObjects } from "cloudflare:test";
import type { Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { assemble, content } from "../assembly.ts";
import { LONG_SCRIPT } from "../lab/long-script.ts";
import { BINDINGS, type Binding, getTask, start } from "./bindings.ts";
import { script } from "./client.ts";
import { open } from "./event-stream.ts";

/** Places to cut the stream at; the journey over HTTP cuts it at every event. */
const CUTS = Array.from({ length: 30 }, (_, i) => 8 * i + 1);

/** Reads so many events and goes away; gives the id of the last that had one. */
async function readSome(binding: Binding, id: string, count: number): Promise<number | undefined> {
  const stream = await open(binding, "SubscribeToTask", { id });
  let last: number | undefined;
  for (let seen = 0; seen < count; seen++) {
    const event = await stream.next();
    if (!event) break;
    last = event.id ?? last;
  }
  await stream.close();
  return last;
}

async function resume(binding: Binding, id: string, lastEventId: number): Promise<object> {
  const headers = { "Last-Event-ID": String(lastEventId) };
  const events = await (await open(binding, "SubscribeToTask", { id }, { headers })).rest();
  const ids = events.flatMap((event) => event.id ?? []);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  return content(assemble(events.map(({ event }) => event)));
}

describe.each(BINDINGS)("a stream of 40 events and 200 chunks (%s)", { timeout: 60_000 }, (binding) => {
  let task: Task;

  test("adds up to what GetTask shows, wherever it was cut and resumed (S-10)", async () => {
    const { id } = await start(binding, script(...LONG_SCRIPT));
    const readers = CUTS.map(async (count) => {
      const last = await readSome(binding, id, count);
      if (last === undefined) throw new Error(`no id among ${count} events`);
      return { last, resumed: await resume(binding, id, last) };
    });
    const all = await Promise.all(readers);
    task = await getTask(binding, id);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    for (const { resumed } of all) expect(resumed).toEqual(content(task));
  });

  test("adds up to the same from every stored event on when the object was cut from memory between the two", async () => {
    const headers = { "Last-Event-ID": "1" };
    const events = await (await open(binding, "SubscribeToTask", { id: task.id }, { headers })).rest();
    const ids = events.flatMap(({ id }) => id ?? []);
    // Chunks have no ids of their own; their groups have.
    expect(ids.length).toBeGreaterThan(40);
    for (const last of ids) {
      await abortAllDurableObjects();
      expect(await resume(binding, task.id, last)).toEqual(content(task));
    }
  });
});
