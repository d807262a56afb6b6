/** Streams that are cut, and picked up again by the id of the last event that was seen, also after a restart. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Task } from "durable-a2a";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assemble, content } from "../assembly.ts";
import { LONG_SCRIPT } from "../lab/long-script.ts";
import { endServers, type RunningServer, startServer } from "./server.ts";
import { BINDINGS, type Binding, begin, call, eventsOf, getTask, readAll } from "./wire.ts";

/** Places to cut the stream at: after every one of its events. */
const CUTS = Array.from({ length: 240 }, (_, i) => i + 1);

const folder = mkdtempSync(join(tmpdir(), "durable-a2a-resume-"));
let server: RunningServer;

beforeAll(async () => {
  server = await startServer("lab", ["--persist-to", folder]);
});
afterAll(async () => {
  await endServers();
  rmSync(folder, { recursive: true, force: true });
});

/** Reads so many events and goes away; gives the id of the last that had one. */
async function readSome(binding: Binding, id: string, count: number): Promise<string | undefined> {
  const leave = new AbortController();
  const response = await call(server.url, binding, "SubscribeToTask", { id }, { signal: leave.signal });
  let last: string | undefined;
  let seen = 0;
  for await (const event of eventsOf(response)) {
    last = event.id ?? last;
    seen += 1;
    if (seen >= count) break;
  }
  leave.abort();
  return last;
}

async function resume(binding: Binding, id: string, lastEventId: string) {
  const headers = { "Last-Event-ID": lastEventId };
  const events = await readAll(await call(server.url, binding, "SubscribeToTask", { id }, { headers }));
  const ids = events.flatMap((event) => (event.id === undefined ? [] : [Number(event.id)]));
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  return assemble(events.map(({ response }) => response));
}

describe.each(BINDINGS)("a stream of 40 events and 200 chunks (%s)", (binding) => {
  let task: Task;
  let lastIds: string[];

  test("adds up to what GetTask shows, at whichever event it was cut and resumed (S-10)", async () => {
    const { id } = await begin(server.url, LONG_SCRIPT);
    const readers = CUTS.map(async (count) => {
      const last = await readSome(binding, id, count);
      if (last === undefined) throw new Error(`no id among ${count} events`);
      return { last, assembled: await resume(binding, id, last) };
    });
    const resumed = await Promise.all(readers);
    task = await getTask(server.url, id);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    for (const { assembled } of resumed) expect(content(assembled)).toEqual(content(task));
    lastIds = [...new Set(resumed.map(({ last }) => last))];
    // Chunks have no ids of their own; still, readers were cut at many different stored events.
    expect(lastIds.length).toBeGreaterThan(8);
  });

  test("can be resumed from every one of these events after a restart of the server", async () => {
    await server.stop();
    server = await startServer("lab", ["--persist-to", folder]);
    for (const last of lastIds) {
      expect(content(await resume(binding, task.id, last))).toEqual(content(task));
    }
  });
});
