/** `durable-a2a dev [--port N] [--persist-to DIR] [--config FILE] [--env NAME]`: the agent of a project on this machine. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { CommandError } from "./command-error.ts";
import { devSigningKey } from "./dev-key.ts";
import { endWith, isFree, readPort, startDevServer } from "./dev-server.ts";
import { configPath } from "./project.ts";

/** Runs until it is told to end. Tasks are kept in `.wrangler/state` beside the configuration, unless said otherwise. */
export async function dev(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: "8787" },
      config: { type: "string" },
      env: { type: "string" },
      "persist-to": { type: "string" },
    },
  });
  const port = readPort(values.port);
  const config = configPath(values.config);
  const persistTo = values["persist-to"];
  // wrangler would take the next free port, and leave the printed commands to whoever has this one.
  if (!(await isFree(port))) {
    throw new CommandError(`Port ${port} is taken; choose another with --port N`);
  }
  const server = startDevServer({
    config,
    port,
    environment: values.env,
    ...(persistTo !== undefined && { persistTo }),
    // The local runtime has no jurisdictions.
    vars: {
      ...devSigningKey(config, persistTo),
      ...(setsJurisdiction(config) && { JURISDICTION: "" }),
    },
    onLine: (line) => console.log(line),
  });
  const ending = endWith(server);
  try {
    await server.ready;
    const url = `http://127.0.0.1:${port}`;
    // Mistakes in the configuration show with the first request: better now than with the first caller's.
    const card = await fetch(`${url}/.well-known/agent-card.json`);
    if (card.ok) console.log(greeting(url, (await card.json()) as Card));
    // The Worker's own lines may come before this one or after it.
    else console.error("\nThe agent cannot serve its card: the error in this log says why.\n");
  } catch (error) {
    console.error(String(error));
  }
  await ending;
}

function setsJurisdiction(config: string): boolean {
  return readFileSync(config, "utf8").includes("JURISDICTION");
}

interface Card {
  securitySchemes?: Record<string, Scheme>;
}

interface Scheme {
  apiKeySecurityScheme?: { location: string; name: string };
  httpAuthSecurityScheme?: { scheme: string };
}

/** The header that the scheme wants, to be filled in. */
function credentials({ apiKeySecurityScheme: key, httpAuthSecurityScheme: http }: Scheme): string[] {
  if (key?.location === "header") return [`${key.name}: YOUR-KEY`];
  return [`Authorization: ${http?.scheme ?? "Bearer"} YOUR-TOKEN`];
}

function greeting(url: string, { securitySchemes = {} }: Card): string {
  const [scheme] = Object.values(securitySchemes);
  const headers = [
    "Content-Type: application/json",
    "A2A-Version: 1.0",
    ...(scheme ? credentials(scheme) : []),
  ];
  return `
Agent card:  ${url}/.well-known/agent-card.json

Say hello:   curl -s ${url}/message:send ${headers.map((header) => `-H '${header}'`).join(" ")} \\
               -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Ada"}]}}'
`;
}
