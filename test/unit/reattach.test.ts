import { expect, test } from "vitest";
import { eventEncoder } from "../../src/bindings/sse.ts";
import type { OpenStream, Ports, SubscribeOptions } from "../../src/operations/ports.ts";
import { followTask } from "../../src/operations/reattach.ts";
import { encodeFrame, KEEPALIVE } from "../../src/task/frame.ts";

const chunk = (text: string) => ({
  artifactUpdate: { artifact: { artifactId: "a", parts: [{ text }] }, append: true },
});
const task = (text: string) => ({
  task: { id: "t", contextId: "c", artifacts: [{ artifactId: "a", parts: [{ text }] }] },
});

/** A stream of these frames that ends, or breaks off. */
function stream(frames: Uint8Array[], end: "ends" | "breaks off"): ReadableStream<Uint8Array> {
  const pieces = [...frames];
  return new ReadableStream({
    type: "bytes",
    pull(controller: ReadableByteStreamController) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece.slice());
      else if (end === "breaks off") controller.error(new Error("the object was reset"));
      else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    },
  }) as ReadableStream<Uint8Array>;
}

/** Everything a reader is sent, and the ids it was taken up again by. */
async function follow(...streams: ReadableStream<Uint8Array>[]) {
  const asked: SubscribeOptions[] = [];
  const [first, ...more] = streams;
  const port = {
    async subscribe(_owner: string, options: SubscribeOptions) {
      asked.push(options);
      const frames = more.shift();
      return frames
        ? { ok: true, value: { frames } }
        : { ok: false, refusal: { reason: "TASK_NOT_FOUND" } };
    },
  };
  const ports = { tasks: { find: () => port } } as unknown as Ports;
  const open = { taskId: "t", state: "TASK_STATE_WORKING", frames: first } as OpenStream;
  const { frames } = followTask("t", "o", "terminal", open, ports);
  let lines = "";
  for (let next = await frames.next(); next !== undefined; next = await frames.next()) lines += next;
  return { events: eventEncoder({ before: "", after: "" })(lines), asked };
}

const encode = eventEncoder({ before: "", after: "" });
const text = (...frames: Uint8Array[]) =>
  encode(frames.map((frame) => new TextDecoder().decode(frame)).join(""));

test("keepalives pass, alone and between events", async () => {
  const frames = [
    KEEPALIVE,
    encodeFrame(3, task("x")),
    KEEPALIVE,
    KEEPALIVE,
    encodeFrame(undefined, chunk("y")),
  ];
  const { events, asked } = await follow(stream(frames, "ends"));
  expect(events).toBe(text(...frames));
  expect(asked).toEqual([]);
});

test("a stream that breaks off goes on from the last event with an id; chunks since are taken back", async () => {
  const { events, asked } = await follow(
    stream(
      [encodeFrame(3, task("x")), KEEPALIVE, encodeFrame(undefined, chunk("y")), KEEPALIVE],
      "breaks off",
    ),
    stream([encodeFrame(3, task("x")), encodeFrame(4, chunk("y"))], "ends"),
  );
  expect(asked).toEqual([{ until: "terminal", lastEventId: 3 }]);
  const back = {
    artifactUpdate: { taskId: "t", contextId: "c", artifact: task("x").task.artifacts[0] },
  };
  expect(events).toBe(
    text(
      encodeFrame(3, task("x")),
      KEEPALIVE,
      encodeFrame(undefined, chunk("y")),
      KEEPALIVE,
      encodeFrame(undefined, back),
      encodeFrame(4, chunk("y")),
    ),
  );
});

test("a stream that breaks off before any event, or whose task is gone, breaks off for its reader", async () => {
  await expect(follow(stream([KEEPALIVE], "breaks off"))).rejects.toThrow("the object was reset");
  const gone = stream([encodeFrame(3, task("x"))], "breaks off");
  await expect(follow(gone)).rejects.toThrow("the object was reset");
});
