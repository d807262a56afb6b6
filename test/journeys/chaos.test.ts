/**
 * Tasks of every kind on a server that is killed at random moments and comes back on the same data. `npm run chaos` is
 * the long form; CHAOS_SEED makes a run come again, as far as the machine lets it.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Task } from "durable-a2a";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { content } from "../assembly.ts";
import { carry, expectedRuns, type Outcome, randomOf, statesListed } from "./chaos.ts";
import { endServers, startServer, temporaryFolder, until } from "./server.ts";
import { getTask } from "./wire.ts";

const { CHAOS_TASKS = "10", CHAOS_KILLS = "3", CHAOS_SEED = `${Date.now() % 1_000_000}` } = process.env;
const tasks = Number(CHAOS_TASKS);
const kills = Number(CHAOS_KILLS);

const server = { url: "" };
const ended: { outcome: Outcome; task: Task }[] = [];

afterAll(endServers);

beforeAll(
  async () => {
    const random = randomOf(Number(CHAOS_SEED));
    const folder = temporaryFolder();
    let running = await startServer("lab", ["--persist-to", folder]);
    server.url = running.url;
    const carried = Promise.all(Array.from({ length: tasks }, (_, n) => carry(server, n)));
    for (let kill = 0; kill < kills; kill++) {
      await pause(1_500 + random() * 2_500);
      await running.kill();
      await pause(random() * 500);
      running = await startServer("lab", ["--persist-to", folder]);
      server.url = running.url;
    }
    for (const outcome of await carried) {
      ended.push({ outcome, task: await getTask(server.url, outcome.id) });
    }
    const interrupted = ended.filter(({ task }) => reportOf(task).attempt > 1).length;
    const tries = ended.reduce((sum, { outcome }) => sum + outcome.tries, 0);
    console.log(
      `chaos: seed ${CHAOS_SEED}, ${tasks} tasks, ${kills} kills, ${interrupted} tasks interrupted, ${tries} streams asked for`,
    );
  },
  60_000 + tasks * 2_000 + kills * 20_000,
);

function reportOf({ artifacts = [] }: Task): { attempt: number; executions: Record<string, number> } {
  const report = artifacts.find(({ artifactId }) => artifactId === "report");
  return (report?.parts[0]?.data ?? { attempt: 0, executions: {} }) as ReturnType<typeof reportOf>;
}

describe(`${tasks} tasks on a server that was killed ${kills} times`, () => {
  test("are all COMPLETED, and most were interrupted", () => {
    expect(ended.map(({ task }) => task.status.state)).toEqual(
      Array.from({ length: tasks }, () => "TASK_STATE_COMPLETED"),
    );
    const interrupted = ended.filter(({ task }) => reportOf(task).attempt > 1);
    expect(interrupted.length).toBeGreaterThanOrEqual(tasks * 0.6);
  });

  test("ran each step once, but for one more run of a step that was cut in the middle", () => {
    for (const { outcome, task } of ended) {
      const { attempt, executions } = reportOf(task);
      const expected = expectedRuns(outcome.script);
      expect(Object.keys(executions).sort()).toEqual(Object.keys(expected).sort());
      let more = 0;
      for (const [name, runs] of Object.entries(expected)) {
        const extra = (executions[name] ?? 0) - runs;
        expect(extra, `${task.id}: ${name}`).toBeGreaterThanOrEqual(0);
        more += extra;
      }
      // A run of the turn cuts at most one step.
      expect(more, task.id).toBeLessThanOrEqual(attempt - 1);
    }
  });

  test("were seen whole by clients that came back with their last event id", () => {
    for (const { outcome, task } of ended) {
      expect(content(outcome.assembled)).toEqual(content(task));
    }
  });

  test("took each answer once, and said nothing twice", () => {
    for (const { outcome, task } of ended) {
      const questions = outcome.script.filter(({ do: what }) => what === "ask" || what === "authorize");
      const history = task.history ?? [];
      expect(history.filter(({ role }) => role === "ROLE_USER")).toHaveLength(1 + questions.length);
      const said = history
        .filter(({ role }) => role === "ROLE_AGENT")
        .map(({ parts }) => parts[0]?.text);
      expect(said).toEqual([...new Set(said)]);
    }
  });

  test("are listed as they are", async () => {
    const expected = new Map(ended.map(({ task }) => [task.id, task.status.state] as const));
    await until(async () => {
      const listed = await statesListed(server);
      return [...expected].every(([id, state]) => listed.get(id) === state) && listed.size === tasks;
    }, "the list to agree with the tasks");
  });
});
