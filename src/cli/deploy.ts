/** `durable-a2a deploy`: checks what wrangler does not know of agents, says all that is missing, then deploys. */
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { CommandError } from "./command-error.ts";
import {
  agentFaults,
  configFaults,
  secretFaults,
  secretNotes,
  secretsOf,
  type WorkerConfig,
} from "./deploy-checks.ts";
import { inspect } from "./inspect.ts";
import { configPath, wranglerFile } from "./project.ts";

export async function deploy(args: string[]): Promise<void> {
  const split = args.includes("--") ? args.indexOf("--") : args.length;
  const { values } = parseArgs({
    args: args.slice(0, split),
    options: {
      "dry-run": { type: "boolean", default: false },
      anyone: { type: "boolean", default: false },
      config: { type: "string" },
      env: { type: "string" },
    },
  });
  const others = args.slice(split + 1);
  const own = others.find((option) => /^(-e|-c|--env|--config|--dry-run)(=|$)/.test(option));
  if (own !== undefined) {
    throw new CommandError(`What is checked depends on ${own}: give it before --`);
  }
  const dryRun = values["dry-run"];
  const path = configPath(values.config);
  const project = { path, environment: values.env };
  const { config, newestDate } = await readConfig(project);
  const today = new Date().toISOString().slice(0, 10);
  const faults = configFaults(config, today, newestDate);
  const { main, compatibility_date: date } = config;
  if (main !== undefined) {
    const { agents, fault } = await inspect(path, main, {
      environment: values.env,
      date: date !== undefined && date <= newestDate ? undefined : newestDate,
    });
    faults.push(...agentFaults(config, agents, values.anyone), ...(fault === undefined ? [] : [fault]));
    const asks = !dryRun && (secretsOf(config, agents).length > 0 || agents.some(({ push }) => push));
    const secrets = { set: asks ? await secretsSet(project) : undefined, environment: values.env };
    faults.push(...secretFaults(config, agents, secrets));
    if (faults.length === 0) {
      for (const note of secretNotes(config, agents, secrets)) console.log(note);
    }
  }
  if (faults.length > 0) {
    console.error(`${path} is not ready to be deployed:\n`);
    for (const fault of faults) console.error(`- ${fault}`);
    console.error("\nHow an agent is deployed, step by step: docs/deploying.md");
    process.exitCode = 1;
    return;
  }
  const options = dryRun ? ["--dry-run", "--outdir", ".wrangler/dry-run"] : [];
  process.exitCode = await wrangler(project, ["deploy", ...options, ...others], "inherit").code;
}

interface Project {
  path: string;
  /** Of the configuration (`--env`). */
  environment: string | undefined;
}

/** The configuration as wrangler reads it, and the newest compatibility date that the project's runtime has. */
async function readConfig({
  path,
  environment,
}: Project): Promise<{ config: WorkerConfig; newestDate: string }> {
  const module = pathToFileURL(wranglerFile(path, "wrangler-dist/cli.js")).href;
  const { unstable_readConfig, unstable_getDevCompatibilityDate } = (await import(module)) as {
    unstable_readConfig(args: { config: string; env?: string | undefined }): WorkerConfig;
    unstable_getDevCompatibilityDate(): string;
  };
  try {
    const config = unstable_readConfig({ config: path, env: environment });
    return { config, newestDate: unstable_getDevCompatibilityDate() };
  } catch (error) {
    throw new CommandError(stripVTControlCharacters((error as Error).message));
  }
}

/** Names of the secrets of the deployed Worker; undefined when that cannot be asked (no account, no Worker yet). */
async function secretsSet(project: Project): Promise<string[] | undefined> {
  const { code, output } = wrangler(project, ["secret", "list", "--format", "json"], "pipe");
  if ((await code) !== 0) return undefined;
  try {
    return (JSON.parse(output()) as { name: string }[]).map(({ name }) => name);
  } catch {
    return undefined;
  }
}

function wrangler(
  { path, environment }: Project,
  args: readonly string[],
  stdio: "inherit" | "pipe",
): { code: Promise<number>; output(): string } {
  const command = [
    wranglerFile(path, "bin/wrangler.js"),
    ...args,
    `--config=${path}`,
    ...(environment === undefined ? [] : [`--env=${environment}`]),
  ];
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
