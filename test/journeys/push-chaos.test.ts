/**
 * Webhooks of a server that is killed again and again. `npm run chaos:push` is the long form; CHAOS_SEED makes a run
 * come again, as far as the machine lets it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Task } from "durable-a2a";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { persist, randomOf } from "./chaos.ts";
import { endReceivers, type Receiver, startReceiver } from "./receiver.ts";
import { endServers, startServer, temporaryFolder } from "./server.ts";
import { eventsIn, expectWhole, isOver, register } from "./webhooks.ts";
import { getTask, message } from "./wire.ts";

const { CHAOS_PUSH_KILLS = "5", CHAOS_SEED = `${Date.now() % 1_000_000}` } = process.env;
const kills = Number(CHAOS_PUSH_KILLS);

afterAll(async () => {
  await endServers();
  await endReceivers();
});

describe(`a server that is killed ${kills} times`, () => {
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
      // workerd on this machine can lose an alarm when it is killed at the wrong moment: clients ask, as they would.
      for (const { id } of tasks.values()) await getTask(server.url, id);
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
