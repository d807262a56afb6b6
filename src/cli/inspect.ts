/** Asks the Worker of a project what its agents need. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type AgentNeeds, NEEDS } from "../needs.ts";
import { isFree, startDevServer } from "./dev-server.ts";

const NOBODY =
  "The Worker exports no agent. Add: export const { TaskObject, TaskIndex } = durableObjects(agent); export default worker(agent);";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const ERROR = /\[ERROR\]/;
/** How long an error takes to be said. */
const SAID_MS = 500;
/** How long a Worker may take to start. */
const LIMIT_MS = 60_000;

export interface Inspected {
  agents: AgentNeeds[];
  /** Why the Worker does not run. */
  fault?: string;
}

/**
 * Bundles the Worker and runs it here for a moment under an entry of our own, which answers with what its exports
 * carry. Nothing of the agent runs, and no binding is looked at: so nothing that is missing hides anything else.
 *
 * @param main Absolute path of the Worker's own entry.
 * @param date A compatibility date that the installed runtime has; undefined is that of the configuration.
 */
export async function inspect(
  config: string,
  main: string,
  { environment, date }: { environment: string | undefined; date: string | undefined },
): Promise<Inspected> {
  // Inside the project: its modules and its tsconfig.json are looked for from here.
  const project = resolve(dirname(config));
  const parent = join(project, ".wrangler");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "inspect-"));
  const script = join(folder, "entry.mjs");
  writeFileSync(script, entry(main));
  const port = await freePort();
  const lines: string[] = [];
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const server = startDevServer({
    config: resolve(config),
    folder: project,
    port,
    script,
    persistTo: join(folder, "state"),
    environment,
    date,
    onLine: (line) => {
      const text = stripVTControlCharacters(line);
      lines.push(text);
      // When a build fails wrangler waits for the next save; what is wrong comes with the error.
      if (ERROR.test(text)) setTimeout(fail, SAID_MS, new Error(text));
    },
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const interrupt = () => {
    server.process.kill("SIGTERM");
    remove();
    process.exit(130);
  };
  for (const signal of SIGNALS) process.once(signal, interrupt);
  const limit = setTimeout(fail, LIMIT_MS, new Error("wrangler is not ready"));
  try {
    await Promise.race([server.ready, failed]);
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const agents = (await response.json()) as AgentNeeds[];
    return agents.length > 0 ? { agents } : { agents, fault: NOBODY };
  } catch {
    return { agents: [], fault: complaint(lines) };
  } finally {
    clearTimeout(limit);
    server.process.kill("SIGTERM");
    await server.ended;
    for (const signal of SIGNALS) process.off(signal, interrupt);
    remove();
  }
}

function entry(main: string): string {
  const path = JSON.stringify(main);
  return `import * as main from ${path};
export * from ${path};
const needs = Object.values(main).flatMap((value) => value?.[Symbol.for(${JSON.stringify(NEEDS)})] ?? []);
const agents = [...new Map(needs.map((each) => [each.id, each])).values()];
export default { fetch: () => Response.json(agents) };
`;
}

/** What wrangler says when it gives up, which is nothing about the Worker. */
const EPILOGUE = /The Workers runtime failed to start|If you think this is a bug|Logs were written to/;

/** What was said when the Worker failed, without the addresses in its code. */
function complaint(lines: readonly string[]): string {
  const start = lines.findIndex((line) => ERROR.test(line));
  const text = lines.slice(Math.max(0, start));
  const end = text.findIndex((line) => EPILOGUE.test(line));
  const said = text
    .slice(0, end === -1 ? 20 : end)
    .filter((line) => line.trim() !== "" && !/^\s+at /.test(line));
  return `The Worker does not run:\n  ${said.join("\n  ").trim()}`;
}

/** Below the ports that systems give to outgoing connections. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
}
