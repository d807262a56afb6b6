/** Webhooks of a server that is killed between a delivery and its answer, or while it waits for the next try. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { type Delivery, endReceivers, type Receiver, startReceiver } from "./receiver.ts";
import { endServers, type RunningServer, startServer, temporaryFolder, until } from "./server.ts";
import { expectWhole, isOver, send, unregister } from "./webhooks.ts";
import { getTask } from "./wire.ts";

afterAll(async () => {
  await endServers();
  await endReceivers();
});

/** Steps that say so many things, one after the other. */
function said(count: number): Step[] {
  return Array.from({ length: count }, (_, i): Step => ({ do: "working", text: `word ${i}` }));
}

async function ended(url: string, id: string): Promise<void> {
  await until(
    async () => (await getTask(url, id)).status.state === "TASK_STATE_COMPLETED",
    "the task to complete",
  );
}

describe.concurrent("a server that is killed once", () => {
  let lab: RunningServer;
  let receiver: Receiver;
  /** Ids of the tasks whose webhooks have these paths. */
  const tasks = new Map<string, string>();
  let killedAt = Number.POSITIVE_INFINITY;

  beforeAll(async () => {
    const folder = temporaryFolder();
    const first = await startServer("lab", ["--persist-to", folder]);
    receiver = await startReceiver();
    // Takes two events, and holds its answer to the third.
    receiver.answer("/held", ({ at }) => {
      const nth = new Set(receiver.received("/held").map(({ id }) => id)).size;
      return { status: 200, hang: nth === 3 && at < killedAt };
    });
    receiver.answer("/failing", () => (receiver.received("/failing").length <= 3 ? 500 : 200));
    receiver.answer("/deleted", 500);
    for (const path of ["/failing", "/held", "/deleted"]) {
      const { task } = await send(first.url, said(8), { id: "hook", url: receiver.url(path) });
      tasks.set(path, task.id);
      await ended(first.url, task.id);
    }
    await receiver.receives("/held", ({ length }) => length >= 3);
    await receiver.receives("/deleted", ({ length }) => length > 0);
    await unregister(first.url, tasks.get("/deleted") ?? "", "hook");
    // The next try of this one is four seconds away, once its object has heard of the failure.
    await receiver.receives("/failing", (deliveries) => deliveries[2]?.answered !== undefined);
    await pause(1_000);
    killedAt = performance.now();
    await first.kill();
    lab = await startServer("lab", ["--persist-to", folder]);
  });

  test("sends again what was delivered and not answered, and all that follows", async () => {
    const before = receiver.received("/held").filter(({ at }) => at < killedAt);
    expect(before.map(({ attempt, answered }) => [attempt, answered?.status])).toEqual([
      [1, 200],
      [1, 200],
      [1, undefined],
    ]);
    const held = before[2] as Delivery;
    expect(held.cut).toBeGreaterThanOrEqual(killedAt);
    await receiver.receives("/held", isOver, 50);
    const received = receiver.received("/held");
    const again = received.find(({ id, attempt }) => id === held.id && attempt === 2);
    expect(again?.raw).toBe(held.raw);
    // The lease is over half a minute after it began; until then nobody may send.
    expect((again?.at ?? Number.POSITIVE_INFINITY) - held.at).toBeLessThan(40_000);
    await expectWhole(received, lab.url, tasks.get("/held") ?? "");
  });

  test("goes on with a webhook that waited for its next try", async () => {
    await receiver.receives("/failing", isOver, 50);
    const received = receiver.received("/failing");
    expect(received.slice(0, 4).map(({ answered }) => answered?.status)).toEqual([500, 500, 500, 200]);
    const [, , third, fourth] = received;
    expect(third?.at).toBeLessThan(killedAt);
    const ms = (fourth?.at ?? 0) - (third?.answered?.at ?? 0);
    expect(ms).toBeGreaterThan(3_800);
    expect(ms).toBeLessThan(20_000);
    await expectWhole(received, lab.url, tasks.get("/failing") ?? "");
  });

  test("sends nothing to a webhook that was deleted before", async () => {
    await receiver.receives("/held", isOver, 50);
    expect(receiver.received("/deleted").filter(({ at }) => at > killedAt)).toEqual([]);
  });
});
