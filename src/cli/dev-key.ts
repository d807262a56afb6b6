/** The key that signs webhooks on this machine: made once, and kept beside the tasks. */
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const NAME = "PUSH_SIGNING_KEY";

/** The variable for the Worker of this configuration; empty when it has a key of its own, in it or in `.dev.vars`. */
export function devSigningKey(config: string, persistTo?: string): Record<string, string> {
  const folder = dirname(config);
  const own = [config, join(folder, ".dev.vars")].some(
    (path) =>
      existsSync(path) && new RegExp(`^\\s*"?${NAME}"?\\s*[=:]`, "m").test(readFileSync(path, "utf8")),
  );
  if (own) return {};
  const state = persistTo ?? join(folder, ".wrangler/state");
  const path = join(state, "push-signing-key.json");
  if (!existsSync(path)) {
    mkdirSync(state, { recursive: true });
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    writeFileSync(path, JSON.stringify(privateKey.export({ format: "jwk" })), { mode: 0o600 });
  }
  return { [NAME]: readFileSync(path, "utf8") };
}
