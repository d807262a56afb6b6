import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The tests run in Node and drive a real browser: `CHROMIUM`, or the system's. */
export default defineConfig({
  resolve: {
    alias: { "durable-a2a": join(import.meta.dirname, "src/index.ts") },
  },
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    env: { CHROMIUM: process.env.CHROMIUM ?? "/usr/bin/chromium" },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
