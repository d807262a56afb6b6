#!/usr/bin/env node
/** `durable-a2a dev` and `durable-a2a deploy`. */
import { CommandError } from "./command-error.ts";
import { wranglerFault } from "./create/node-version.ts";
import { deploy } from "./deploy.ts";
import { dev } from "./dev.ts";

const USAGE = `durable-a2a dev [--port 8787] [--persist-to DIR] [--config FILE] [--env NAME]
  runs the agent of this folder on this machine: no account, nothing sent anywhere

durable-a2a deploy [--dry-run] [--anyone] [--config FILE] [--env NAME] [-- OPTIONS OF wrangler deploy]
  checks the configuration, says what is missing, and deploys it with wrangler
`;

const COMMANDS: Record<string, (args: string[]) => Promise<void>> = { dev, deploy };

const [name = "", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (!command || args.includes("--help")) {
  const asked = ["", "help", "--help", "-h"].includes(name) || command !== undefined;
  if (!asked) console.error(`durable-a2a has no command "${name}"\n`);
  (asked ? console.log : console.error)(USAGE);
  process.exit(asked ? 0 : 2);
}
try {
  const fault = wranglerFault(process.versions.node);
  if (fault !== undefined) throw new CommandError(fault);
  await command(args);
} catch (error) {
  // What is meant for the one at the keyboard; everything else is a fault of ours and keeps its stack.
  const { code } = error as { code?: string };
  const expected = error instanceof CommandError || code?.startsWith("ERR_PARSE_ARGS");
  console.error(expected ? (error as Error).message : error);
  process.exit(expected ? 2 : 1);
}
