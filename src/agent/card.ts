/** The agent card, from the definition and the URL the agent is reached at (§4.4, §8). */
import type { AgentCapabilities, AgentCard, AgentInterface } from "../protocol/card.ts";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import type { Agent, CardChanges } from "./define-agent.ts";

/** The bindings that are served, each at the agent's own URL. */
const BINDINGS = ["JSONRPC", "HTTP+JSON"];

/** `url` is the absolute URL of the agent, without a trailing slash. */
export function agentCard(agent: Agent, url: string, changes: CardChanges = {}): AgentCard {
  const { name, description, version, skills, provider, documentationUrl, iconUrl, auth } =
    agent.definition;
  const supportedInterfaces: AgentInterface[] = BINDINGS.map((protocolBinding) => ({
    url,
    protocolBinding,
    protocolVersion: PROTOCOL_VERSION,
  }));
  return {
    name,
    description,
    supportedInterfaces,
    ...(provider && { provider }),
    version,
    ...(documentationUrl && { documentationUrl }),
    capabilities: capabilities(agent),
    ...(auth.card && {
      securitySchemes: { [auth.name]: auth.card },
      securityRequirements: [{ schemes: { [auth.name]: { list: [] } } }],
    }),
    defaultInputModes: [...agent.inputModes],
    defaultOutputModes: [...agent.outputModes],
    skills,
    ...(iconUrl && { iconUrl }),
    ...changes,
  };
}

/** What the agent declares, and what is therefore served (§3.3.4). */
export function capabilities(agent: Agent): AgentCapabilities {
  return {
    streaming: agent.streaming,
    pushNotifications: agent.push !== undefined,
    ...(agent.extensions.length > 0 && { extensions: [...agent.extensions] }),
    extendedAgentCard: agent.definition.extendedCard !== undefined,
  };
}
