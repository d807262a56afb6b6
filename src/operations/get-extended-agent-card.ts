import { agentCard } from "../agent/card.ts";
import type { Caller } from "../protocol/caller.ts";
import type { AgentCard } from "../protocol/card.ts";
import { A2AError } from "../protocol/errors.ts";
import type { GetExtendedAgentCardRequest } from "../protocol/requests.ts";
import type { Ports } from "./ports.ts";

/** §3.1.11: the card as this caller is to see it. */
export async function getExtendedAgentCard(
  caller: Caller,
  _request: GetExtendedAgentCardRequest,
  { agent, url, signed }: Ports,
): Promise<AgentCard> {
  const changes = await agent.definition.extendedCard?.(caller);
  if (!changes) throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED");
  return signed(agentCard(agent, url, { changes, tenant: caller.tenant }));
}
