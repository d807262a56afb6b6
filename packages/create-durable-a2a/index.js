#!/usr/bin/env node
// `npm create durable-a2a`: the create-agent of durable-a2a, which brings everything else.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const library = pathToFileURL(createRequire(import.meta.url).resolve("durable-a2a"));
await import(new URL("cli/create-agent.js", library));
