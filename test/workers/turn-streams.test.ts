/** `turn.stream`: an artifact chunk by chunk (DESIGN, "Turns" and "Streams"). */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Part } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { BINDINGS, type Binding, getTask, operate, reached, start } from "./bindings.ts";
import { message, script } from "./client.ts";
import { assemble, content, open, type StreamEvent, statesOf, textsOf } from "./event-stream.ts";

const PLAIN = { agent: "plain" };
const STREAMER = { agent: "streamer" };

/** The events of a task that streams these parts. */
async function streamed(
  binding: Binding,
  parts: Part[],
): Promise<{ id: string; events: StreamEvent[] }> {
  const stream = await open(binding, "SendStreamingMessage", { message: message(parts) }, STREAMER);
  const events = await stream.rest();
  return { id: events[0]?.event.task?.id ?? "", events };
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("chunks are seen one by one, and GetTask joins their text in one part", async () => {
    const steps = script({ do: "chunks", artifactId: "a", name: "n", count: 5, everyMs: 5, text: "c" });
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) }, PLAIN);
    const events = await stream.rest();
    const updates = events.flatMap(({ event }) => event.artifactUpdate ?? []);
    expect(updates.map(({ artifact }) => artifact.parts)).toEqual(
      ["c0", "c1", "c2", "c3", "c4", ""].map((text) => [{ text }]),
    );
    expect(updates.map(({ append = false }) => append)).toEqual([false, true, true, true, true, true]);
    expect(updates.map(({ lastChunk = false }) => lastChunk)).toEqual([
      ...[false, false, false, false, false],
      true,
    ]);
    expect(updates[0]?.artifact).toMatchObject({ artifactId: "a", name: "n" });
    const task = await getTask(binding, updates[0]?.taskId ?? "", PLAIN);
    expect(task.artifacts).toEqual([{ artifactId: "a", name: "n", parts: [{ text: "c0c1c2c3c4" }] }]);
    expect(content(assemble(events))).toEqual(content(task));
  });

  test("GetTask shows the chunks so far, though they wait to be stored", async () => {
    const steps = script({ do: "chunks", count: 4, everyMs: 60, text: "c" });
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) }, PLAIN);
    const { id = "" } = (await stream.next())?.event.task ?? {};
    await stream.until((event) => textsOf([{ id: undefined, event }])[0] === "c1");
    expect((await getTask(binding, id, PLAIN)).artifacts).toMatchObject([
      { parts: [{ text: "c0c1" }] },
    ]);
    await stream.rest();
    expect((await getTask(binding, id, PLAIN)).artifacts).toMatchObject([
      { parts: [{ text: "c0c1c2c3" }] },
    ]);
  });

  test("adjacent plain text is joined; other parts, and text with more to it, stay parts of their own", async () => {
    const rich = { text: "rich", metadata: { bold: true } };
    const html = { text: "<b>", mediaType: "text/html" };
    const file = { text: "file", filename: "f.txt" };
    const data = { data: { a: 1 } };
    const raw = { raw: "aGk=", mediaType: "image/png" };
    const url = { url: "https://example.com/" };
    const parts = [
      ...[{ text: "a" }, { text: "b" }, data, data, { text: "c" }, { text: "d" }, rich, rich],
      ...[{ text: "e" }, html, html, file, { text: "f" }, raw, url],
    ];
    const { id, events } = await streamed(binding, parts);
    const task = await getTask(binding, id, STREAMER);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const [pieces, whole] = task.artifacts ?? [];
    expect(pieces).toEqual({
      artifactId: "pieces-1.1",
      name: "pieces",
      description: "All of it",
      parts: [
        ...[{ text: "ab" }, data, data, { text: "cd" }, rich, rich, { text: "e" }],
        ...[{ text: "<b><b>", mediaType: "text/html" }, file, { text: "f" }, raw, url],
      ],
    });
    expect(whole?.parts).toEqual([{ data: pieces }]);
    const sent = events.flatMap(({ event }) => event.artifactUpdate ?? []);
    expect(sent.slice(0, parts.length).map(({ artifact }) => artifact.parts[0])).toEqual(parts);
  });

  test("a source that throws fails the task and leaves what was published", async () => {
    const { id, events } = await streamed(binding, [{ text: "a" }, { text: "b" }, { text: "!" }]);
    expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_FAILED"]);
    expect(textsOf(events)).toEqual(["a", "b"]);
    const task = await getTask(binding, id, STREAMER);
    expect(task.status.state).toBe("TASK_STATE_FAILED");
    expect(task.artifacts).toMatchObject([{ name: "pieces", parts: [{ text: "ab" }] }]);
    expect(task.artifacts).toHaveLength(1);
  });

  test("a source that throws at once fails the task, which has no artifact", async () => {
    const { id } = await streamed(binding, [{ text: "!" }]);
    expect(await getTask(binding, id, STREAMER)).toMatchObject({
      status: { state: "TASK_STATE_FAILED" },
      artifacts: [],
    });
  });

  test("a cancel in the middle leaves what was published, and nothing comes after it", async () => {
    const parts = Array.from({ length: 50 }, (_, index) => ({ text: `${index},` }));
    const stream = await open(binding, "SendStreamingMessage", { message: message(parts) }, STREAMER);
    const { id = "" } = (await stream.next())?.event.task ?? {};
    const seen = await stream.until((event) => textsOf([{ id: undefined, event }])[0] === "2,");
    const { value } = await operate(binding, "CancelTask", { id }, STREAMER);
    seen.push(...(await stream.rest()));
    expect(statesOf(seen)).toEqual(["TASK_STATE_CANCELED"]);
    expect(seen.at(-1)?.event.statusUpdate).toBeDefined();
    await new Promise((resolve) => setTimeout(resolve, 60));
    const task = await getTask(binding, id, STREAMER);
    expect(task).toEqual(value);
    expect(task.artifacts).toMatchObject([{ parts: [{ text: textsOf(seen).join("") }] }]);
    expect(task.artifacts?.[0]?.parts[0]?.text).toMatch(/^0,1,2,/);
  });

  test("big chunks are stored as they come, with an id each, and add up to the whole", async () => {
    const parts = ["a", "b", "c"].map((letter) => ({ text: letter.repeat(100_000) }));
    const { id, events } = await streamed(binding, parts);
    const chunks = events.filter(({ event }) => event.artifactUpdate).slice(0, 3);
    for (const chunk of chunks) expect(chunk.id).toBeGreaterThan(0);
    const task = await getTask(binding, id, STREAMER);
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: parts.map(({ text }) => text).join("") }]);
    expect(content(assemble(events))).toEqual(content(task));
  });

  test("a stream of 200 chunks is stored in few rows", async () => {
    const { id } = await start(
      binding,
      script({ do: "chunks", count: 200, everyMs: 2, text: "x" }),
      {},
      PLAIN,
    );
    const task = await reached(binding, id, "TASK_STATE_COMPLETED", PLAIN);
    const text = Array.from({ length: 200 }, (_, index) => `x${index}`).join("");
    expect(task.artifacts).toMatchObject([{ parts: [{ text }] }]);
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
    const rows = await runInDurableObject(stub, (_, { storage }) =>
      storage.sql.exec<{ count: number }>("SELECT count(*) AS count FROM event").one(),
    );
    expect(rows.count).toBeLessThanOrEqual(8);
  });
});
