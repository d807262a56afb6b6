/** What the tools of a project need of Node.js. */
import { delimiter } from "node:path";
import { run } from "./run.ts";

const OLDEST = 20;
/** wrangler's own; below it a project brings a Node.js along, as a package. */
const WRANGLERS = 22;

/** Why this Node.js cannot make a project; undefined when it can. */
export function nodeFault(version: string): string | undefined {
  if (majorOf(version) >= OLDEST) return undefined;
  return `create-agent needs Node.js ${OLDEST} or later, and this is ${version}: https://nodejs.org`;
}

/** Whether a project made with this Node.js needs one of its own to run wrangler. */
export function needsOwnNode(version: string): boolean {
  return majorOf(version) < WRANGLERS;
}

/** Why this Node.js cannot run wrangler; undefined when it can. */
export function wranglerFault(version: string): string | undefined {
  if (!needsOwnNode(version)) return undefined;
  return `wrangler needs Node.js ${WRANGLERS} or later, and this is ${version}. The project can bring its own: npm install --save-dev node, then npm run dev`;
}

/** The Node.js that the project will be run with: not the one that an npm script of this repository brings along. */
export async function usersNode(): Promise<string> {
  const parts = (process.env.PATH ?? "").split(delimiter);
  const PATH = parts.filter((part) => !part.includes("node_modules")).join(delimiter);
  const { code, output } = await run("node", ["--version"], ".", { ...process.env, PATH });
  return code === 0 ? output.trim().replace(/^v/, "") : process.versions.node;
}

function majorOf(version: string): number {
  return Number(version.split(".")[0]);
}
