/** The receiver of webhooks that other journeys rely on, and what they make of its deliveries: each can fail. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endReceivers, type Receiver, startReceiver } from "./receiver.ts";
import { eventsIn, isOver } from "./webhooks.ts";

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(endReceivers);

/** Sends a status to the path as an agent does. */
function post(path: string, seq: number, state = "WORKING", id = `n-${seq}`): Promise<Response> {
  return fetch(receiver.url(path), {
    method: "POST",
    headers: { "X-A2A-Notification-Id": id, "X-A2A-Notification-Seq": `${seq}` },
    body: JSON.stringify({ statusUpdate: { status: { state: `TASK_STATE_${state}` } } }),
    redirect: "manual",
  });
}

test("it answers each path as it is told, and keeps what came with what it answered", async () => {
  receiver.answer("/odd", ({ attempt }) =>
    attempt === 1 ? { status: 307, headers: { Location: receiver.url("/away") } } : 204,
  );
  expect((await post("/odd", 1)).status).toBe(307);
  expect((await post("/odd", 1)).status).toBe(204);
  expect((await post("/plain", 2)).status).toBe(200);
  const [first, second] = receiver.received("/odd");
  expect(first).toMatchObject({
    method: "POST",
    id: "n-1",
    seq: 1,
    attempt: 1,
    answered: { status: 307 },
  });
  expect(second).toMatchObject({ attempt: 2, answered: { status: 204 } });
  expect(first?.body.statusUpdate?.status.state).toBe("TASK_STATE_WORKING");
  expect(receiver.received()).toHaveLength(3);
});

test("it can be slow, hang, and be away; what was cut off is not answered", async () => {
  receiver.answer("/slow", { status: 200, delayMs: 200 });
  const start = performance.now();
  await post("/slow", 1);
  expect(performance.now() - start).toBeGreaterThan(190);
  receiver.answer("/hang", { status: 200, hang: true });
  const hung = post("/hang", 1).catch(() => "cut");
  await receiver.receives("/hang", ({ length }) => length === 1);
  await receiver.refuse();
  expect(await hung).toBe("cut");
  await expect(post("/gone", 1)).rejects.toThrow();
  await receiver.listen();
  await receiver.receives("/hang", ([only]) => only?.cut !== undefined);
  expect(receiver.received("/hang")[0]?.answered).toBeUndefined();
  expect((await post("/gone", 1)).status).toBe(200);
  expect(receiver.received("/gone")).toHaveLength(1);
});

test("a task is over when its end was taken", async () => {
  receiver.answer("/end", ({ attempt }) => (attempt === 1 ? 500 : 200));
  await post("/end", 1, "COMPLETED");
  expect(isOver(receiver.received("/end"))).toBe(false);
  await post("/end", 1, "COMPLETED");
  expect(isOver(receiver.received("/end"))).toBe(true);
});

test("repeats of an event are one event", async () => {
  receiver.answer("/repeats", ({ seq, attempt }) => (seq === 2 && attempt === 1 ? 500 : 200));
  for (const seq of [1, 2, 2, 1, 2, 4]) await post("/repeats", seq);
  expect(eventsIn(receiver.received("/repeats")).map(({ seq }) => seq)).toEqual([1, 2, 4]);
});

test.each<[string, (path: string) => Promise<unknown>]>([
  ["comes before an earlier one", async (path) => [await post(path, 2), await post(path, 1)]],
  ["comes after one that failed", async (path) => [await post(path, 500), await post(path, 501)]],
  [
    "comes while an earlier one waits",
    async (path) => [post(path, 600), await pause(50), await post(path, 601)],
  ],
  [
    "comes again with another body",
    async (path) => [await post(path, 1), await post(path, 1, "FAILED")],
  ],
  ["has no id", (path) => post(path, 1, "WORKING", "")],
])("an event that %s is found", async (what, send) => {
  const path = `/${what.replaceAll(" ", "-")}`;
  receiver.answer(path, ({ seq }) => ({
    status: seq === 500 ? 500 : 200,
    delayMs: seq === 600 ? 300 : 0,
  }));
  await send(path);
  await receiver.receives(path, (deliveries) => deliveries.every(({ answered }) => answered));
  expect(() => eventsIn(receiver.received(path))).toThrow();
});
