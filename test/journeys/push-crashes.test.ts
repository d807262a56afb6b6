/**
 * Webhooks of a server that is killed: between a delivery and its answer, while it waits for the next try, and again
 * and again. `npm run chaos:push` is the long form; CHAOS_SEED makes a run come again, as far as the machine lets it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Task } from "durable-a2a";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { persist, randomOf } from "./chaos.ts";
import { type Delivery, endReceivers, type Receiver, startReceiver } from "./receiver.ts";
import { endServers, type RunningServer, startServer, temporaryFolder, until } from "./server.ts";
import { eventsIn, expectWhole, isOver, register, send, unregister } from "./webhooks.ts";
import { getTask, message } from "./wire.ts";

const { CHAOS_PUSH_KILLS = "5", CHAOS_SEED = `${Date.now() % 1_000_000}` } = process.env;
const kills = Number(CHAOS_PUSH_KILLS);

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
    // The next try of this one is four seconds away.
    await receiver.receives("/failing", (deliveries) => deliveries[2]?.answered !== undefined);
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

describe.concurrent(`a server that is killed ${kills} times`, () => {
  const server = { url: "" };
  let receiver: Receiver;
  /** The tasks, by the path of the webhook that came with them; `/later…` is one that came later. */
  const tasks = new Map<string, Task>();

  beforeAll(
    async () => {
      const random = randomOf(Number(CHAOS_SEED));
      const folder = temporaryFolder();
      receiver = await startReceiver();
      const begun: Promise<void>[] = [];
      for (let kill = 0; ; kill++) {
        const running = await startServer("lab", ["--persist-to", folder]);
        server.url = running.url;
        begun.push(begin(begun.length, random), begin(begun.length + 1, random));
        if (kill === kills) break;
        await pause(800 + random() * 2_500);
        await running.kill();
        await pause(random() * 300);
      }
      await Promise.all(begun);
      for (const path of tasks.keys()) await receiver.receives(path, isOver, 120);
      for (const [path, { id }] of tasks) tasks.set(path, await getTask(server.url, id));
      report();
    },
    120_000 + kills * 20_000,
  );

  /** Starts a task with two webhooks, however often the server is killed meanwhile. */
  async function begin(n: number, random: () => number): Promise<void> {
    for (const path of [`/inline-${n}`, `/later-${n}`]) {
      receiver.answer(path, () => ({
        status: random() < 1 / 20 ? 500 : 200,
        delayMs: random() < 1 / 10 ? 800 : random() * 150,
      }));
    }
    const inline = { id: "inline", url: receiver.url(`/inline-${n}`) };
    const { task } = await persist(server, `push-${n}-${crypto.randomUUID()}`, {
      message: message(work(n)),
      configuration: { returnImmediately: true, taskPushNotificationConfig: inline },
    });
    const { id } = task as Task;
    const later = { id: "later", url: receiver.url(`/later-${n}`) };
    while (!(await register(server.url, id, later).catch(() => undefined))) await pause(100);
    tasks.set(`/inline-${n}`, task as Task);
    tasks.set(`/later-${n}`, task as Task);
  }

  function report(): void {
    const all = receiver.received();
    const cut = all.filter(({ answered }) => !answered).length;
    const repeated = all.filter(({ attempt }) => attempt > 1).length;
    const interrupted = [...tasks.values()].filter((task) => attemptOf(task) > 1).length / 2;
    console.log(
      `push: seed ${CHAOS_SEED}, ${kills} kills, ${tasks.size / 2} tasks of which ${interrupted} were interrupted, ${all.length} deliveries of which ${cut} were cut off and ${repeated} were repeats`,
    );
  }

  test("has ended all tasks, of which most were interrupted, and deliveries with them", () => {
    const states = [...tasks.values()].map(({ status }) => status.state);
    expect(states).toEqual(states.map(() => "TASK_STATE_COMPLETED"));
    expect(states).toHaveLength(4 * (kills + 1));
    const interrupted = [...tasks.values()].filter((task) => attemptOf(task) > 1);
    expect(interrupted.length).toBeGreaterThan(tasks.size / 2);
    expect(receiver.received().filter(({ answered }) => !answered).length).toBeGreaterThan(0);
    expect(receiver.received().filter(({ answered }) => answered?.status === 500)).not.toEqual([]);
  });

  test("has told every webhook every event, in order [W-07, W-10]", async () => {
    for (const [path, { id }] of tasks) {
      const received = receiver.received(path);
      // What came before a later webhook was there is not for it.
      const after = path.startsWith("/later") ? eventsIn(received)[0]?.seq : undefined;
      await expectWhole(received, server.url, id, after);
    }
  });
});

/** Work of about six seconds. */
function work(n: number): Step[] {
  const rounds = [0, 1, 2].flatMap((round): Step[] => [
    { do: "working", text: `round ${round} of ${n}` },
    { do: "step", name: `step ${round}`, ms: 400 },
    { do: "artifact", artifactId: "result", parts: [{ data: { n, round } }] },
    { do: "chunks", artifactId: `essay-${round}`, count: 40, everyMs: 20, text: "word " },
    { do: "working" },
    { do: "durableSleep", name: `pause ${round}`, ms: 500 },
    { do: "artifact", artifactId: "list", parts: [{ text: `item ${round}` }], append: true },
  ]);
  return [...rounds, { do: "report" }];
}

/** Which run of its turn ended the task. */
function attemptOf({ artifacts = [] }: Task): number {
  const report = artifacts.find(({ artifactId }) => artifactId === "report");
  return (report?.parts[0]?.data as { attempt?: number } | undefined)?.attempt ?? 0;
}
