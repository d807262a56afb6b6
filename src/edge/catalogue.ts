/**
 * `/.well-known/agents.json`: which agents this Worker has, and where their cards are. The specification has no such
 * document; this one is ours (docs/who-may-call.md).
 */
import type { Agent } from "../agent/define-agent.ts";
import type { Exchange } from "../bindings/exchange.ts";

const HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Cache-Control": "public, max-age=300",
  "X-Content-Type-Options": "nosniff",
};

/** What the public cards say, in short; in the order of the Worker, the agent at its root first. */
export function catalogue(
  agents: readonly Agent[],
  urlOf: (agent: Agent, c: Exchange) => string,
): (c: Exchange) => Response {
  return (c) => {
    c.get("facts").operation = "Agents";
    const entries = agents.map((agent) => {
      const { name, description, version } = agent.definition;
      const url = urlOf(agent, c);
      return {
        id: agent.id,
        name,
        description,
        version,
        url,
        card: `${url}/.well-known/agent-card.json`,
      };
    });
    return Response.json({ agents: entries }, { headers: HEADERS });
  };
}
