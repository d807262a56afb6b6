import { abortAllDurableObjects } from "cloudflare:test";
import type { Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { assemble, content } from "../assembly.ts";
import { LONG_SCRIPT } from "../lab/long-script.ts";
import { BINDINGS, type Binding, getTask, start } from "./bindings.ts";
import { script } from "./client.ts";
import { open } from "./event-stream.ts";

const EVENTS = 240;

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
  let cuts: number[];

  test("adds up to what GetTask shows, at whichever event it was cut and resumed (S-10)", async () => {
    const { id } = await start(binding, script(...LONG_SCRIPT));
    const readers = Array.from({ length: EVENTS }, async (_, i) => {
      const last = await readSome(binding, id, i + 1);
      if (last === undefined) throw new Error(`no id among ${i + 1} events`);
      return { last, resumed: await resume(binding, id, last) };
    });
    const all = await Promise.all(readers);
    task = await getTask(binding, id);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    for (const { resumed } of all) expect(resumed).toEqual(content(task));
    cuts = [...new Set(all.map(({ last }) => last))];
    // Chunks have no ids of their own; still, readers were cut at many different stored events.
    expect(cuts.length).toBeGreaterThan(25);
  });

  test("adds up to the same when the object was cut from memory between the two", async () => {
    for (const last of cuts) {
      await abortAllDurableObjects();
      expect(await resume(binding, task.id, last)).toEqual(content(task));
    }
  });
});
