/** The project that a command is given in: its configuration and its wrangler. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { CommandError } from "./command-error.ts";

const CONFIGS = ["wrangler.jsonc", "wrangler.json", "wrangler.toml"];

/** The configuration that is meant: the one that was named, or the one of this folder. */
export function configPath(named?: string): string {
  const found = named === undefined ? CONFIGS.find((file) => existsSync(file)) : named;
  if (found !== undefined && existsSync(found)) return found;
  throw new CommandError(
    named === undefined
      ? `There is no ${CONFIGS.join(", ")} in this folder; name one with --config FILE`
      : `There is no ${named}`,
  );
}

/** The path of a file of wrangler: that of the project, or the one beside this package. */
export function wranglerFile(config: string, file: string): string {
  for (const base of [join(resolve(dirname(config)), "_"), import.meta.url]) {
    try {
      const manifest = createRequire(base).resolve("wrangler/package.json");
      return join(dirname(manifest), file);
    } catch {
      // The next place may have it.
    }
  }
  throw new CommandError("wrangler is not installed: npm install --save-dev wrangler");
}
