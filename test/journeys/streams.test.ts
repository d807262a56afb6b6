/** Streams of the lab agent as they come through the real HTTP stack. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { endServers, type RunningServer, startServer, until } from "./server.ts";
import {
  answerOf,
  BINDINGS,
  begin,
  call,
  eventsOf,
  getTask,
  message,
  readAll,
  type StreamEvent,
} from "./wire.ts";

let lab: RunningServer;
beforeAll(async () => {
  lab = await startServer("lab");
});
afterAll(endServers);

function stream(binding: (typeof BINDINGS)[number], script: Step[], signal?: AbortSignal) {
  const params = { message: message(script) };
  return call(lab.url, binding, "SendStreamingMessage", params, signal ? { signal } : {});
}

describe.concurrent.each(BINDINGS)("over %s", (binding) => {
  test("ten chunks 200 ms apart arrive one by one, as they are made [S-25]", async () => {
    const response = await stream(binding, [
      { do: "working" },
      { do: "chunks", artifactId: "c", count: 10, everyMs: 200, text: "chunk " },
    ]);
    const events = await readAll(response);
    const chunks = events.filter(({ response: { artifactUpdate } }) =>
      artifactUpdate?.artifact.parts.some(({ text }) => text?.startsWith("chunk ")),
    );
    const texts = chunks.map(
      ({ response: { artifactUpdate } }) => artifactUpdate?.artifact.parts[0]?.text,
    );
    expect(texts).toEqual(Array.from({ length: 10 }, (_, i) => `chunk ${i}`));
    const gaps = chunks.slice(1).map(({ at }, i) => at - (chunks[i]?.at ?? 0));
    // A busy machine may bring two of them together, a buffer brings them all.
    expect(gaps.filter((ms) => ms > 50).length).toBeGreaterThanOrEqual(8);
    expect((chunks[9]?.at ?? 0) - (events[0]?.at ?? 0)).toBeGreaterThan(1_500);
  });

  test("nothing between may hold a stream back: its headers ask for no cache, no buffer, no compression [S-25]", async () => {
    const response = await stream(binding, [{ do: "complete" }]);
    await readAll(response);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream");
    expect(response.headers.get("Cache-Control")).toContain("no-cache");
    expect(response.headers.get("X-Accel-Buffering")).toBe("no");
    expect(response.headers.get("Content-Encoding")).toBeNull();
    expect(response.headers.get("A2A-Version")).toBe("1.0");
  });

  test("an error before the stream starts is plain JSON, not a stream [S-11]", async () => {
    const params = { message: message("hi", { taskId: "nope" }) };
    const response = await call(lab.url, binding, "SendStreamingMessage", params);
    expect(response.status).toBe(binding === "rest" ? 404 : 200);
    expect(response.headers.get("Content-Type")).toMatch(/^application\/json/);
    await expect(answerOf(response)).rejects.toThrow("Task not found");
  });

  test("a client that leaves its stream ends nothing: the task completes, artifacts and all [S-08]", async () => {
    const leave = new AbortController();
    const script: Step[] = [
      { do: "working" },
      { do: "chunks", artifactId: "c", count: 6, everyMs: 200, text: "c" },
      { do: "artifact", name: "last", parts: [{ text: "made" }] },
      { do: "complete", text: "done" },
    ];
    const events = eventsOf(await stream(binding, script, leave.signal));
    const first: StreamEvent | undefined = (await events.next()).value;
    const id = first?.response.task?.id ?? "";
    leave.abort();
    expect((await getTask(lab.url, id)).status.state).toBe("TASK_STATE_WORKING");
    await ended(id);
    const { status, artifacts = [] } = await getTask(lab.url, id);
    expect(status).toMatchObject({
      state: "TASK_STATE_COMPLETED",
      message: { parts: [{ text: "done" }] },
    });
    expect(artifacts.map(({ parts }) => parts.map(({ text }) => text).join(""))).toEqual([
      "c0c1c2c3c4c5",
      "made",
    ]);
  });

  test("a client that leaves a blocking send ends nothing either [S-08]", async () => {
    const contextId = crypto.randomUUID();
    const leave = new AbortController();
    const params = { message: message([{ do: "working" }, { do: "sleep", ms: 1_000 }], { contextId }) };
    const sent = call(lab.url, binding, "SendMessage", params, { signal: leave.signal });
    await pause(300);
    leave.abort();
    await expect(sent).rejects.toThrow("aborted");
    const list = await answerOf(await call(lab.url, binding, "ListTasks", { contextId }));
    const [task] = list.tasks as { id: string; status: { state: string } }[];
    expect(task?.status.state).toBe("TASK_STATE_WORKING");
    await ended(task?.id ?? "");
  });
});

test("twenty clients see the same events in the same order, though one of them leaves [S-17]", async () => {
  const { id } = await begin(lab.url, [
    { do: "working", text: "waiting for readers" },
    { do: "sleep", ms: 1_500 },
    { do: "chunks", artifactId: "c", count: 20, everyMs: 50, text: "c" },
    { do: "artifact", name: "last", parts: [{ text: "made" }] },
    { do: "complete", text: "done" },
  ]);
  const leave = new AbortController();
  const [leaver, ...readers] = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      call(
        lab.url,
        i % 2 === 0 ? "jsonrpc" : "rest",
        "SubscribeToTask",
        { id },
        { signal: i === 0 ? leave.signal : AbortSignal.timeout(30_000) },
      ),
    ),
  );
  const leaving = leaveAfter(leaver as Response, 5, leave);
  const streams = (await Promise.all(readers.map(readAll))).map((events) =>
    events.map(({ id: eventId, response }) => ({ eventId, response })),
  );
  const [one = []] = streams;
  expect(one[0]?.response.task?.status.state).toBe("TASK_STATE_WORKING");
  expect(one.at(-1)?.response.statusUpdate?.status.state).toBe("TASK_STATE_COMPLETED");
  // The Task, twenty chunks and the mark of the last, the artifact, the end.
  expect(one).toHaveLength(24);
  for (const events of streams) expect(events).toEqual(one);
  expect(await leaving).toEqual(one.slice(0, 5));
});

test("subscribers that come at any time add up to the same text as the stream that began the task [S-17]", async () => {
  const first = eventsOf(
    await stream("rest", [
      { do: "working" },
      { do: "chunks", artifactId: "c", count: 12, everyMs: 100, text: "c" },
      { do: "complete" },
    ]),
  );
  const { response } = (await first.next()).value as StreamEvent;
  const id = response.task?.id ?? "";
  const texts: Promise<string>[] = [textsOf(first)];
  for (let i = 0; i < 6; i++) {
    texts.push(textsOf(eventsOf(await call(lab.url, "jsonrpc", "SubscribeToTask", { id }))));
    await pause(150);
  }
  const whole = Array.from({ length: 12 }, (_, i) => `c${i}`).join("");
  expect(await Promise.all(texts)).toEqual(texts.map(() => whole));
});

test("a stream on a task of 8 MB begins at once: its first event costs no more than the task [S-21]", async () => {
  const text = "x".repeat(100_000);
  const { id } = await begin(lab.url, [
    { do: "chunks", artifactId: "c", count: 80, text },
    { do: "input", text: "more?" },
  ]);
  const state = async () => (await getTask(lab.url, id)).status.state;
  await until(async () => (await state()) === "TASK_STATE_INPUT_REQUIRED", "the task to be large");
  const start = performance.now();
  const events = eventsOf(await call(lab.url, "rest", "SubscribeToTask", { id }));
  const { at, response } = (await events.next()).value as StreamEvent;
  expect(response.task?.artifacts?.[0]?.parts[0]?.text?.length).toBeGreaterThan(8_000_000);
  expect(at - start).toBeLessThan(2_000);
  await call(lab.url, "rest", "CancelTask", { id });
});

test("readers that left and streams that ended are no errors in the log", () => {
  expect(lab.log()).not.toMatch(/error|uncaught|unhandled/i);
});

test("SIGINT to npm ends all of it within seconds, in the middle of a stream", async () => {
  const events = eventsOf(await stream("rest", [{ do: "working" }, { do: "sleep", ms: 60_000 }]));
  await events.next();
  expect(await lab.stop("SIGINT")).toEqual([]);
}, 5_000);

/** The text that a stream adds up to. */
async function textsOf(events: AsyncIterable<StreamEvent>): Promise<string> {
  let text = "";
  for await (const { response } of events) {
    const artifacts = response.task?.artifacts ?? [response.artifactUpdate?.artifact];
    for (const artifact of artifacts) for (const part of artifact?.parts ?? []) text += part.text ?? "";
  }
  return text;
}

async function leaveAfter(response: Response, count: number, leave: AbortController) {
  const seen: object[] = [];
  for await (const { id: eventId, response: event } of eventsOf(response)) {
    seen.push({ eventId, response: event });
    if (seen.length === count) break;
  }
  leave.abort();
  return seen;
}

async function ended(id: string): Promise<void> {
  await until(
    async () => (await getTask(lab.url, id)).status.state === "TASK_STATE_COMPLETED",
    "the task to complete",
  );
}
