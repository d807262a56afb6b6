import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

// Tests run in workerd, with the objects of the Worker behind them.
export default defineConfig({
  plugins: [cloudflareTest({ wrangler: { configPath: "wrangler.jsonc" } })],
  test: { silent: "passed-only" },
});
