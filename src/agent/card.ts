/** The agent card, from the definition and the URL the agent is reached at (§4.4, §8). */
import {
  type AgentCapabilities,
  AgentCard,
  type AgentInterface,
  type AgentSkill,
  type SecurityRequirement,
  type SecurityScheme,
} from "../protocol/card.ts";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import type { AuthScheme } from "./auth-scheme.ts";
import type { Agent, CardChanges } from "./define-agent.ts";
import type { Skill } from "./skill.ts";

/** The bindings that are served, each at the agent's own URL. */
const BINDINGS = ["JSONRPC", "HTTP+JSON"];

/** What an extended card may change: neither where the agent is nor what it can do. */
const CHANGEABLE = [
  "name",
  "description",
  "version",
  "provider",
  "documentationUrl",
  "iconUrl",
] as const satisfies readonly (keyof CardChanges)[];

/** What of an agent a card is of. */
export interface CardOptions {
  changes?: CardChanges;
  /** Clients send it in every request then; empty is none. */
  tenant?: string;
}

/** `url` is the absolute URL of the agent, without a trailing slash. Throws when `changes` are no card. */
export function agentCard(
  agent: Agent,
  url: string,
  { changes = {}, tenant = "" }: CardOptions = {},
): AgentCard {
  const { name, description, version, skills, provider, documentationUrl, iconUrl, auth } =
    agent.definition;
  const supportedInterfaces: AgentInterface[] = BINDINGS.map((protocolBinding) => ({
    url,
    protocolBinding,
    ...(tenant !== "" && { tenant }),
    protocolVersion: PROTOCOL_VERSION,
  }));
  // Parsed, so that nothing is shown that the protocol does not know.
  const card = AgentCard.safeParse({
    name,
    description,
    supportedInterfaces,
    provider,
    version,
    documentationUrl,
    capabilities: capabilities(agent),
    ...(auth.requirements.length > 0 && {
      securitySchemes: auth.schemes,
      securityRequirements: auth.requirements,
    }),
    defaultInputModes: [...agent.inputModes],
    defaultOutputModes: [...agent.outputModes],
    skills: (changes.skills ?? skills).map((skill) => cardSkill(skill, auth)),
    iconUrl,
    ...Object.fromEntries(
      CHANGEABLE.flatMap((name) => (changes[name] == null ? [] : [[name, changes[name]]])),
    ),
  });
  if (!card.success) throw new Error(`The card of ${agent.id} cannot be served: ${card.error.message}`);
  return card.data;
}

/** The skill with the scopes it needs, in every way of the agent's to be let in. */
function cardSkill({ scopes, ...skill }: Skill, auth: AuthScheme): AgentSkill {
  if (!scopes?.length) return skill;
  const securityRequirements = auth.requirements.map(({ schemes }) => {
    const names = Object.keys(schemes);
    const ofTokens = names.filter((name) => carriesScopes(auth.schemes[name]));
    const entries = Object.entries(schemes).map(([name, { list }]) => {
      const carries = ofTokens.length === 0 || ofTokens.includes(name);
      return [name, { list: carries ? [...new Set([...list, ...scopes])] : list }];
    });
    return { schemes: Object.fromEntries(entries) as SecurityRequirement["schemes"] };
  });
  return { ...skill, securityRequirements };
}

/** Whether scopes are part of the scheme itself, as they are of tokens; keys and certificates have them beside. */
function carriesScopes(scheme: SecurityScheme = {}): boolean {
  const { httpAuthSecurityScheme: http, oauth2SecurityScheme, openIdConnectSecurityScheme } = scheme;
  return Boolean(oauth2SecurityScheme ?? openIdConnectSecurityScheme ?? http?.bearerFormat);
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
