#!/usr/bin/env node
/** `create-agent NAME`: a new project with an agent in it. */
import { nodeFault } from "./create/node-version.ts";

const fault = nodeFault(process.versions.node);
if (fault !== undefined) {
  console.error(fault);
  process.exit(1);
}
// Only now: what follows may be more than an old Node.js can read.
const { createAgent } = await import("./create/create.ts");
process.exitCode = await createAgent(process.argv.slice(2));
