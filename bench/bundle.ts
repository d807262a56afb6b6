/** Bundles a worker of the benchmark, as `wrangler deploy` would: one module, not minified. */
import { createRequire } from "node:module";
import path from "node:path";
import { type BuildOptions, build } from "esbuild";

export type WorkerName = "agent" | "floors" | "sdk";

const ROOT = path.resolve(import.meta.dirname, "..");

/** Writes `main.js` into the folder, and `d1.js` where the worker has a D1 database. */
export async function bundle(worker: WorkerName, folder: string): Promise<void> {
  await write(path.join(folder, "main.js"), {
    entryPoints: [path.join(ROOT, "bench", worker, "worker.ts")],
    alias: { "durable-a2a": path.join(ROOT, "src/index.ts") },
  });
  if (worker === "sdk") await bundleD1(path.join(folder, "d1.js"));
}

/** Miniflare comes with wrangler; the workers it is made of lie beside it as files. */
async function bundleD1(outfile: string): Promise<void> {
  const require = createRequire(createRequire(import.meta.url).resolve("wrangler"));
  const workers = path.join(path.dirname(require.resolve("miniflare")), "workers");
  const contents = `export { default } from "./d1/entry.worker.js";
export { D1DatabaseObject } from "./d1/database.worker.js";`;
  await write(outfile, {
    stdin: { contents, resolveDir: workers },
    alias: {
      "miniflare:shared": path.join(workers, "shared/index.worker.js"),
      "miniflare:zod": path.join(workers, "shared/zod.worker.js"),
      // As extensions of workerd they may import its inner modules; the public ones are the same.
      "node-internal:internal_assert": "node:assert",
      "node-internal:internal_buffer": "node:buffer",
    },
  });
}

async function write(outfile: string, options: BuildOptions): Promise<void> {
  await build({
    ...options,
    outfile,
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*", "cloudflare:*"],
    logLevel: "error",
  });
}
