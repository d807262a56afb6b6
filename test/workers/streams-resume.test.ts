/** `Last-Event-ID` on SubscribeToTask: nothing lost, nothing twice (DESIGN, "Streams"; CASES.md, S-10). */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { BINDINGS, type Binding, expectRefused, getTask, operate, send } from "./bindings.ts";
import { message, script } from "./client.ts";
import {
  assemble,
  content,
  type EventStream,
  open,
  type StreamEvent,
  statesOf,
  textsOf,
} from "./event-stream.ts";

const STEPS: Step[] = [
  { do: "working", text: "one" },
  { do: "artifact", artifactId: "a", name: "A", parts: [{ text: "1" }] },
  { do: "artifact", artifactId: "a", parts: [{ data: 2 }], append: true },
  { do: "working", text: "two" },
  { do: "chunks", artifactId: "b", count: 4, text: "b" },
  { do: "artifact", artifactId: "c", parts: [{ text: "3" }] },
  { do: "artifact", artifactId: "a", parts: [{ text: "anew" }] },
  { do: "working" },
  { do: "chunks", artifactId: "b", count: 3, text: "again" },
  { do: "working", text: "three" },
  { do: "artifact", artifactId: "d", parts: [{ text: "4" }], append: true },
  { do: "chunks", artifactId: "e", count: 2, everyMs: 300, text: "e" },
  { do: "artifact", artifactId: "e", parts: [{ text: "more" }], append: true, lastChunk: true },
  {
    do: "publish",
    event: {
      task: {
        status: { state: "TASK_STATE_WORKING" },
        artifacts: [{ artifactId: "c", parts: [{ url: "u" }] }],
      },
    },
  },
];

/** The agent has no replies, so that a task is born with its message. */
const AGENT = "plain";

function subscribe(binding: Binding, id: string, lastEventId?: unknown): Promise<EventStream> {
  const headers: Record<string, string> =
    lastEventId === undefined ? {} : { "Last-Event-ID": String(lastEventId) };
  return open(binding, "SubscribeToTask", { id }, { agent: AGENT, headers });
}

async function run(binding: Binding, ...more: Step[]): Promise<{ task: Task; events: StreamEvent[] }> {
  const sent = { message: message(script(...STEPS, ...more)) };
  const stream = await open(binding, "SendStreamingMessage", sent, { agent: AGENT });
  const events = await stream.rest();
  const task = await getTask(binding, events[0]?.event.task?.id ?? "", { agent: AGENT });
  return { task, events };
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("of a task that ended, from every id on: the task as it stood and every later event make the same task (S-10)", async () => {
    const { task, events } = await run(binding, { do: "complete", text: "the end" });
    expect(content(assemble(events))).toEqual(content(task));
    const ids = events.flatMap(({ id }) => id ?? []);
    expect(ids.length).toBeGreaterThanOrEqual(14);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    const last = ids.at(-1) ?? 0;
    for (let id = 1; id <= last; id++) {
      const resumed = await (await subscribe(binding, task.id, id)).rest();
      const seen = resumed.map((event) => event.id ?? 0);
      expect(seen[0]).toBe(id);
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
      expect(resumed.filter(({ event }) => event.task)).toHaveLength(1);
      expect(content(assemble(resumed)), `from ${id}`).toEqual(content(task));
      const known = events.findIndex((event) => event.id === id);
      if (known < 0) continue;
      const before = content(assemble(events.slice(0, known + 1)));
      expect(content(assemble(resumed.slice(0, 1))), `as it stood at ${id}`).toEqual(before);
      const later = events.slice(known + 1).filter((event) => event.id !== undefined);
      const stored = new Map(resumed.map((event) => [event.id, event.event]));
      for (const event of later) expect(stored.get(event.id), `event ${event.id}`).toEqual(event.event);
    }
  });

  test("of a task that goes on, what was missed comes first, then what happens: nothing lost, nothing twice (S-10)", async () => {
    const { task, events } = await run(binding, { do: "input" });
    const ids = events.flatMap(({ id }) => id ?? []);
    const streams = await Promise.all(ids.map((id) => subscribe(binding, task.id, id)));
    const more = script(
      { do: "artifact", artifactId: "late", parts: [{ text: "late" }] },
      { do: "complete" },
    );
    const ended = await send(binding, more, { taskId: task.id }, { agent: AGENT });
    for (const [index, stream] of streams.entries()) {
      const resumed = await stream.rest();
      expect(resumed[0]?.id).toBe(ids[index]);
      const seen = resumed.map(({ id }) => id ?? 0);
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
      expect(content(assemble(resumed))).toEqual(content(ended));
      expect(textsOf(resumed).filter((text) => text === "late")).toHaveLength(1);
      expect(statesOf(resumed).slice(-2)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    }
  });

  test("a reader that is cut off within chunks loses none of them (S-10)", async () => {
    const chunks = script({ do: "chunks", artifactId: "b", count: 12, everyMs: 40, text: "." });
    const stream = await open(
      binding,
      "SendStreamingMessage",
      { message: message(chunks) },
      { agent: AGENT },
    );
    const seen = await stream.until((event) => textsOf([{ id: undefined, event }])[0] === ".4");
    await stream.close();
    const { id = "" } = seen[0]?.event.task ?? {};
    const lastEventId = seen.findLast((event) => event.id !== undefined)?.id;
    const resumed = await (await subscribe(binding, id, lastEventId)).rest();
    const ended = await getTask(binding, id, { agent: AGENT });
    expect(ended.artifacts?.[0]?.parts).toEqual([
      { text: Array.from({ length: 12 }, (_, index) => `.${index}`).join("") },
    ]);
    expect(content(assemble(resumed))).toEqual(content(ended));
  });

  test("the ids are still good after the object left memory (S-06)", async () => {
    const { task, events } = await run(binding, { do: "complete" });
    await evictDurableObject(env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(task.id)));
    for (const id of [events[0]?.id, events[3]?.id, events.at(-1)?.id]) {
      const resumed = await (await subscribe(binding, task.id, id)).rest();
      expect(resumed[0]?.id).toBe(id);
      expect(content(assemble(resumed))).toEqual(content(task));
    }
  });

  test("of a task that ended, the last id gives just the task, and no id is refused (S-07)", async () => {
    const { task, events } = await run(binding, { do: "complete" });
    const resumed = await (await subscribe(binding, task.id, events.at(-1)?.id)).rest();
    expect(resumed).toEqual([{ id: events.at(-1)?.id, event: { task } }]);
    expectRefused(
      await operate(binding, "SubscribeToTask", { id: task.id }, { agent: AGENT }),
      "UNSUPPORTED_OPERATION",
    );
  });

  describe.each(["0", "-1", "9999", "99999999999999999999", "1.5", "abc", "4e0", "0x3", "3,4"])(
    "the unknown id %s",
    (unknown) => {
      test("on a task that ended gives the current task, and closes", async () => {
        const task = await send(
          binding,
          script({ do: "working", text: "a" }, { do: "complete" }),
          {},
          { agent: AGENT },
        );
        const resumed = await (await subscribe(binding, task.id, unknown)).rest();
        expect(resumed.map(({ event }) => event)).toEqual([{ task }]);
      });

      test("on a task that goes on gives the current task, then what happens", async () => {
        const asks = script({ do: "working", text: "a" }, { do: "input" });
        const task = await send(binding, asks, {}, { agent: AGENT });
        const stream = await subscribe(binding, task.id, unknown);
        expect((await stream.next())?.event).toEqual({ task });
        await send(binding, script(), { taskId: task.id }, { agent: AGENT });
        expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
      });
    },
  );

  test("the header on a message is ignored: its stream begins with the task as it is", async () => {
    const as = { agent: AGENT, headers: { "Last-Event-ID": "1" } };
    const sent = { message: message("hi") };
    const events = await (await open(binding, "SendStreamingMessage", sent, as)).rest();
    expect(events[0]?.event.task).toMatchObject({ status: { state: "TASK_STATE_WORKING" } });
    expect(events[0]?.event.task?.history?.[0]?.messageId).toBe(sent.message.messageId);
    expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
  });
});
