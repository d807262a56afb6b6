/** `durable-a2a deploy`: checks what wrangler does not know of agents, says all that is missing, then deploys. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { type AgentFacts, agentFaults, configFaults, type WorkerConfig } from "./deploy-checks.ts";
import { isFree, startDevServer } from "./dev-server.ts";
import { configPath, wranglerFile } from "./project.ts";

/** Where the check takes the Worker to be reached: https, as it will be. */
const CHECKED_URL = "https://deploy-check.invalid";
const MISSING_QUEUES = "Missing queue bindings";
const ERROR = /error/i;
const MISSING_SECRET = /Missing secret (\S+?): nobody gets in/;

export async function deploy(args: string[]): Promise<void> {
  const split = args.includes("--") ? args.indexOf("--") : args.length;
  const { values } = parseArgs({
    args: args.slice(0, split),
    options: {
      "dry-run": { type: "boolean", default: false },
      anyone: { type: "boolean", default: false },
      config: { type: "string" },
    },
  });
  const dryRun = values["dry-run"];
  const path = configPath(values.config);
  const config = await readConfig(path);
  const faults = configFaults(config, new Date().toISOString().slice(0, 10));
  const found = await ask(path, config);
  faults.push(...agentFaults(config, found.agents, values.anyone));
  // What is missing already would be said twice.
  if (faults.length === 0) faults.push(...found.faults);
  const missing =
    dryRun || found.secrets.length === 0 ? undefined : await unsetSecrets(path, found.secrets);
  for (const name of missing ?? []) {
    faults.push(`The secret ${name} is not set. Set it: npx wrangler secret put ${name}`);
  }
  if (faults.length > 0) {
    console.error(`${path} is not ready to be deployed:\n`);
    for (const fault of faults) console.error(`- ${fault}`);
    console.error("\nHow an agent is deployed, step by step: docs/deploying.md");
    process.exitCode = 1;
    return;
  }
  if (missing === undefined && found.secrets.length > 0) {
    console.log(`Nobody gets in before these secrets are set: ${found.secrets.join(", ")}`);
  }
  const options = dryRun ? ["--dry-run", "--outdir", ".wrangler/dry-run"] : [];
  process.exitCode = await wrangler(path, ["deploy", ...options, ...args.slice(split + 1)], "inherit")
    .code;
}

/** The configuration as wrangler reads it. */
async function readConfig(path: string): Promise<WorkerConfig> {
  const module = pathToFileURL(wranglerFile(path, "wrangler-dist/cli.js")).href;
  const { unstable_readConfig } = (await import(module)) as {
    unstable_readConfig(args: { config: string }): WorkerConfig;
  };
  return unstable_readConfig({ config: path });
}

interface Found {
  agents: AgentFacts[];
  /** Names of the secrets that callers cannot get in without. */
  secrets: string[];
  /** Why the Worker does not serve its cards. */
  faults: string[];
}

/** Runs the Worker here for a moment, without its secrets, and asks it what its agents are. */
async function ask(path: string, { vars = {} }: WorkerConfig): Promise<Found> {
  const folder = mkdtempSync(join(tmpdir(), "durable-a2a-deploy-"));
  const envFile = join(folder, "no-secrets");
  writeFileSync(envFile, "");
  const port = await freePort();
  const lines: string[] = [];
  const server = startDevServer({
    config: path,
    port,
    persistTo: folder,
    envFile,
    vars: vars.PUBLIC_URL ? {} : { PUBLIC_URL: CHECKED_URL },
    onLine: (line) => lines.push(stripVTControlCharacters(line)),
  });
  try {
    await server.ready;
    const agents = await agentsAt(`http://127.0.0.1:${port}`);
    await logged(lines, agents === undefined);
    const secrets = new Set(lines.flatMap((line) => MISSING_SECRET.exec(line)?.[1] ?? []));
    if (agents) return { agents, secrets: [...secrets], faults: [] };
    // It has webhooks, and what they need is said in the language of the configuration.
    if (lines.some((line) => line.includes(MISSING_QUEUES))) {
      return { agents: [{ id: "", open: false, push: true }], secrets: [], faults: [] };
    }
    return { agents: [], secrets: [], faults: [complaint(lines)] };
  } catch {
    return { agents: [], secrets: [], faults: [complaint(lines)] };
  } finally {
    server.process.kill("SIGTERM");
    await server.ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the Worker logs comes later than what it answers; an error is waited for. */
async function logged(lines: readonly string[], failed: boolean): Promise<void> {
  const end = Date.now() + 5_000;
  for (let count = -1; Date.now() < end; ) {
    if (count === lines.length && (!failed || lines.some((line) => ERROR.test(line)))) return;
    count = lines.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

/** The agents of the Worker by their cards; undefined when it does not serve them. */
async function agentsAt(url: string): Promise<AgentFacts[] | undefined> {
  const catalogue = await fetch(`${url}/.well-known/agents.json`);
  if (!catalogue.ok) return undefined;
  const { agents } = (await catalogue.json()) as { agents: { id: string }[] };
  const facts = agents.map(async ({ id }) => {
    const response = await fetch(`${url}/agents/${id}/.well-known/agent-card.json`);
    if (!response.ok) return undefined;
    const card = (await response.json()) as {
      securitySchemes?: object;
      capabilities: { pushNotifications?: boolean };
    };
    return {
      id,
      open: Object.keys(card.securitySchemes ?? {}).length === 0,
      push: card.capabilities.pushNotifications ?? false,
    };
  });
  const all = await Promise.all(facts);
  return all.every((each) => each !== undefined) ? all : undefined;
}

/** What the Worker said when it failed, without the addresses in its code. */
function complaint(lines: readonly string[]): string {
  const text = lines.filter((line) => !/^\s+at /.test(line) && !line.startsWith("[wrangler:info]"));
  const start = text.findIndex((line) => ERROR.test(line));
  return `The Worker does not run:\n  ${text.slice(Math.max(0, start)).slice(0, 40).join("\n  ").trim()}`;
}

/** Which of these secrets the deployed Worker lacks; undefined when that cannot be asked (no account, no Worker yet). */
async function unsetSecrets(path: string, names: readonly string[]): Promise<string[] | undefined> {
  const { code, output } = wrangler(path, ["secret", "list", "--format", "json"], "pipe");
  if ((await code) !== 0) return undefined;
  try {
    const known = (JSON.parse(output()) as { name: string }[]).map(({ name }) => name);
    return names.filter((name) => !known.includes(name));
  } catch {
    return undefined;
  }
}

function wrangler(
  path: string,
  args: readonly string[],
  stdio: "inherit" | "pipe",
): { code: Promise<number>; output(): string } {
  const command = [wranglerFile(path, "bin/wrangler.js"), ...args, `--config=${path}`];
  const child = spawn(process.execPath, command, {
    stdio: stdio === "inherit" ? "inherit" : ["ignore", "pipe", "ignore"],
  });
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const code = new Promise<number>((resolve) => child.once("close", (ended) => resolve(ended ?? 1)));
  return { code, output: () => text };
}

/** Below the ports that systems give to outgoing connections. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
}
