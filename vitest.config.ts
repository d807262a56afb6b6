import { join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

// workerd would otherwise ask the network for the `request.cf` of this machine.
process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= "false";

const resolve = {
  // The longer name first: an alias stands for whatever begins with it.
  alias: {
    "durable-a2a/card": join(import.meta.dirname, "src/card.ts"),
    "durable-a2a/push": join(import.meta.dirname, "src/push.ts"),
    "durable-a2a/testing": join(import.meta.dirname, "src/testing.ts"),
    "durable-a2a": join(import.meta.dirname, "src/index.ts"),
  },
};

/** Journeys that wait most of their time: for servers to start or to come back, for alarms, leases, next tries. */
const WAITING = [
  "test/journeys/{restart,chaos,push,push-crashes,push-chaos,create-agent,deploy,dev-project}.test.ts",
];

export default defineConfig({
  test: {
    // What servers and objects log is told of tests that fail.
    silent: "passed-only",
    // Vitest would leave one core idle, of two.
    maxWorkers: "100%",
    projects: [
      {
        resolve,
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          setupFiles: ["test/unit/jitless.ts"],
          sequence: { groupOrder: 1 },
        },
      },
      {
        resolve,
        plugins: [cloudflareTest({ wrangler: { configPath: "test/workers/wrangler.toml" } })],
        test: {
          name: "workers",
          include: ["test/workers/**/*.test.ts"],
          // The first request of a file loads the Worker, which takes seconds on a busy machine.
          testTimeout: 20_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        resolve,
        test: {
          name: "journeys",
          include: ["test/journeys/**/*.test.ts"],
          exclude: WAITING,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Each file starts servers of its own, and their timings are part of what is tested.
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        resolve,
        test: {
          name: "waiting",
          include: WAITING,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Side by side, however few cores there are.
          maxWorkers: 5,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
