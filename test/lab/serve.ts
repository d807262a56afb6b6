/**
 * `npm run lab -- --port 9999 [--persist-to DIR] [--push-allow HOST…] [--auth apikey]`: serves the lab agent in the
 * foreground. SIGTERM or SIGINT ends it, children and all. Without `--persist-to` its tasks are gone with it.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { devSigningKey } from "../../src/cli/dev-key.ts";
import { endWith, readPort, startDevServer } from "../../src/cli/dev-server.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: "string", default: "9999" },
    "persist-to": { type: "string" },
    "push-allow": { type: "string", multiple: true, default: [] },
    auth: { type: "string", default: "open" },
  },
});
const port = readPort(values.port);
if (!["open", "apikey"].includes(values.auth)) {
  console.error(`--auth is "open" or "apikey", not "${values.auth}"`);
  process.exit(2);
}

const persistTo = values["persist-to"] ?? mkdtempSync(join(tmpdir(), "durable-a2a-lab-"));
const sha256 = (key: string) => createHash("sha256").update(key).digest("hex");

const config = join(import.meta.dirname, "wrangler.toml");
const server = startDevServer({
  config,
  port,
  persistTo,
  vars: {
    ...devSigningKey(config, persistTo),
    LAB_AUTH: values.auth,
    LAB_PUSH_ALLOW: [...values["push-allow"], ...positionals].join(" "),
    API_KEYS: JSON.stringify({ alice: sha256("alice-key"), bob: sha256("bob-key") }),
  },
  onLine: (line) => console.log(line),
});
server.ready.then(
  () => console.log(`Lab agent: http://127.0.0.1:${port}/.well-known/agent-card.json`),
  (error: unknown) => console.error(String(error)),
);
await endWith(server);
if (!values["persist-to"]) rmSync(persistTo, { recursive: true, force: true });
