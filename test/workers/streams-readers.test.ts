/** Streams with several readers, without any, and as bytes on their way (CASES.md, group 2). */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Subscribers } from "../../durable-objects/subscribers.ts";
import { eventEncoder, sseBody } from "../../src/bindings/sse.ts";
import { encodeFrame, FrameReader, KEEPALIVE } from "../../src/task/frame.ts";
import { BINDINGS, exchange, expectRefused, getTask, operate, pause, send, start } from "./bindings.ts";
import { message, script, sse } from "./client.ts";
import { open, statesOf, textsOf } from "./event-stream.ts";

const PLAIN = { agent: "plain" };

describe.each(BINDINGS)("over %s", (binding) => {
  test("all readers see the same events in the same order, and one that leaves takes nothing with it (S-17)", async () => {
    const steps = script(
      { do: "sleep", ms: 150 },
      { do: "working", text: "on it" },
      { do: "chunks", artifactId: "grows", count: 20, everyMs: 5, text: "c" },
      { do: "artifact", artifactId: "whole", parts: [{ data: 1 }] },
      { do: "chunks", artifactId: "grows", count: 3, text: "again" },
    );
    const sender = await open(binding, "SendStreamingMessage", { message: message(steps) }, PLAIN);
    const { id = "" } = (await sender.next())?.event.task ?? {};
    const readers = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        open(BINDINGS[index % 2] ?? binding, "SubscribeToTask", { id }, PLAIN),
      ),
    );
    for (const reader of readers) expect((await reader.next())?.event.task?.id).toBe(id);
    const [leaver, ...stayers] = readers;
    const left = await leaver?.until((event) => textsOf([{ id: undefined, event }])[0] === "c3");
    await leaver?.close();
    const [events, ...others] = await Promise.all([sender, ...stayers].map((reader) => reader.rest()));
    expect(statesOf(events ?? [])).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    expect(textsOf(events ?? []).filter((text) => text.startsWith("c"))).toHaveLength(20);
    for (const other of others) expect(other).toEqual(events);
    expect(left).toEqual(events?.slice(0, left?.length));
  });

  test("streams are refused where the card declares none (S-22)", async () => {
    const still = { agent: "still" };
    const { id } = await send(binding, script({ do: "input" }), {}, still);
    for (const [operation, params] of [
      ["SendStreamingMessage", { message: message("hi") }],
      ["SubscribeToTask", { id }],
      ["SubscribeToTask", { id: "nope" }],
    ] as const) {
      expectRefused(await operate(binding, operation, params, still), "UNSUPPORTED_OPERATION");
    }
    expect((await getTask(binding, id, still)).history).toHaveLength(1);
  });

  test("a subscription to an id that is none, or was never given, is refused as not found (S-23)", async () => {
    for (const id of ["nope", env.TASK_OBJECT.newUniqueId().toString()]) {
      for (const headers of [{}, { "Last-Event-ID": "1" }]) {
        const answer = await operate(binding, "SubscribeToTask", { id }, { ...PLAIN, headers });
        expectRefused(answer, "TASK_NOT_FOUND");
      }
    }
  });

  test("a task that was begun without a stream can be subscribed to (S-24)", async () => {
    const steps = script({ do: "sleep", ms: 150 }, { do: "working", text: "half" });
    const { id } = await start(binding, steps, {}, PLAIN);
    const events = await (await open(binding, "SubscribeToTask", { id }, PLAIN)).rest();
    expect(events[0]?.event.task?.id).toBe(id);
    expect(statesOf(events)).toEqual([
      "TASK_STATE_WORKING",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
    ]);
  });

  test("each chunk arrives when it is made, under headers that keep proxies from buffering (S-25)", async () => {
    const steps = script({ do: "chunks", count: 8, everyMs: 60, text: "c" });
    const params = { message: message(steps) };
    const response = await exchange(binding, "SendStreamingMessage", params, PLAIN);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream");
    expect(response.headers.get("Cache-Control")).toMatch(/no-cache/);
    expect(response.headers.get("X-Accel-Buffering")).toBe("no");
    expect(response.headers.has("Content-Encoding")).toBe(false);
    const arrivals: number[] = [];
    for await (const { data } of sse(response)) {
      if (/"text":"c\d"/.test(JSON.stringify(data))) arrivals.push(Date.now());
    }
    expect(arrivals).toHaveLength(8);
    expect((arrivals[7] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(7 * 50);
    const apart = arrivals.slice(1).filter((time, index) => time - (arrivals[index] ?? 0) > 20);
    expect(apart.length).toBeGreaterThanOrEqual(5);
  });
});

describe("the line is kept open", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Runs in an object, where native streams are, with a clock that the test turns. */
  function withClock<T>(work: (subscribers: Subscribers) => Promise<T>): Promise<T> {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    return runInDurableObject(stub, async () => {
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
      return work(new Subscribers());
    });
  }

  test("by a comment, which is no event (S-18)", async () => {
    const encode = eventEncoder({ before: '{"wrapped":', after: "}" });
    expect(encode("\n")).toBe(": keepalive\n\n");
    const response = new Response(encode('3 {"a":1}\n\n'));
    const events = [];
    for await (const event of sse(response)) events.push(event);
    expect(events).toEqual([{ id: "3", data: { wrapped: { a: 1 } } }]);
  });

  test("by a comment between events that are on their way, whole (S-18, S-19)", async () => {
    const frames = [encodeFrame(1, { a: "line\nbreak" }), KEEPALIVE, encodeFrame(undefined, { b: 2 })];
    const bytes = new ReadableStream({
      type: "bytes",
      start(controller: ReadableByteStreamController) {
        for (const piece of frames.flatMap((frame) => [frame.slice(0, 3), frame.slice(3)])) {
          if (piece.byteLength > 0) controller.enqueue(piece);
        }
        controller.close();
      },
    });
    const body = sseBody(new FrameReader(bytes), { before: '{"r":', after: "}" });
    expect(await new Response(body).text()).toBe(
      'id: 1\ndata: {"r":{"a":"line\\nbreak"}}\n\n: keepalive\n\ndata: {"r":{"b":2}}\n\n',
    );
  });

  test.each(["\u2028", "\u2029", "$&", "$1", "\u2028- {}", "\u20283 {}", "- ", "4 "])(
    "and %j within an event is no end of it, nor of its envelope (P-30)",
    (text) => {
      const lines = [1, undefined].map((id) => new TextDecoder().decode(encodeFrame(id, { text })));
      const encode = eventEncoder({ before: `{"id":${JSON.stringify(text)},"result":`, after: "}" });
      const data = `data: ${JSON.stringify({ id: text, result: { text } })}\n\n`;
      expect(encode(lines.join(""))).toBe(`id: 1\n${data}${data}`);
    },
  );

  test("every 15 s, and no longer than there are streams (S-18, D-11)", async () => {
    await withClock(async (subscribers) => {
      const reader = subscribers.open([], "terminal").getReader();
      const other = subscribers.open([], "terminal").getReader();
      expect(vi.getTimerCount()).toBe(1);
      for (let beat = 0; beat < 3; beat++) {
        const reads = Promise.all([reader.read(), other.read()]);
        vi.advanceTimersByTime(14_999);
        expect(await Promise.race([reads, pause(5)])).toBeUndefined();
        vi.advanceTimersByTime(1);
        for (const { value } of await reads) expect(value).toEqual(KEEPALIVE);
      }
      const last = Promise.all([reader.read(), other.read()]);
      subscribers.sendMessage({ messageId: "m", role: "ROLE_AGENT", parts: [{ text: "." }] });
      for (const { done } of await last) expect(done).toBe(false);
      for (const { done } of [await reader.read(), await other.read()]) expect(done).toBe(true);
      expect(subscribers.count).toBe(0);
      expect(vi.getTimerCount()).toBe(0);
    });
  });

  test("and a reader that left is found by it (S-08)", async () => {
    await withClock(async (subscribers) => {
      const gone = subscribers.open([], "terminal");
      const stays = subscribers.open([], "terminal").getReader();
      await gone.cancel();
      for (let beat = 0; beat < 2; beat++) {
        const read = stays.read();
        vi.advanceTimersByTime(15_000);
        await read;
      }
      await expect.poll(() => subscribers.count).toBe(1);
      await stays.cancel();
    });
  });

  test("for an hour, then the stream closes for its reader to come back (S-18)", async () => {
    await withClock(async (subscribers) => {
      const reader = subscribers.open([], "terminal").getReader();
      let beats = 0;
      for (;;) {
        const read = reader.read();
        vi.advanceTimersByTime(15_000);
        if ((await read).done) break;
        beats++;
      }
      expect(beats).toBe(240);
      expect(subscribers.count).toBe(0);
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
