/** `npm run dev -- [--port N] [--persist-to DIR]`: the agent of wrangler.toml on this machine. */
import { parseArgs } from "node:util";
import { endWith, readPort, startDevServer } from "./dev-server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8787" },
    config: { type: "string", default: "wrangler.toml" },
    "persist-to": { type: "string" },
  },
});

const server = startDevServer({
  config: values.config,
  port: readPort(values.port),
  ...(values["persist-to"] && { persistTo: values["persist-to"] }),
  onLine: (line) => console.log(line),
});
const ending = endWith(server);

try {
  await server.ready;
  const url = `http://127.0.0.1:${values.port}`;
  console.log(`
Agent card:  ${url}/.well-known/agent-card.json

Say hello:   curl -s ${url}/message:send -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\
               -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Ada"}]}}'
`);
} catch (error) {
  console.error(String(error));
}
await ending;
