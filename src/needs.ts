/** What agents need of their deployment: `durable-a2a deploy` asks a Worker for it without any of its bindings. */

export interface AgentNeeds {
  id: string;
  /** Anyone may call. */
  open: boolean;
  /** It has webhooks, and so needs queues. */
  push: boolean;
  /** Its webhooks may be on loopback hosts, which is for development. */
  loopback: boolean;
  /** Names of the secrets without which nobody gets in, or no card is served. */
  secrets: string[];
  /** Names of the rate-limit bindings without which nobody is served. */
  rateLimits: string[];
}

/** The part of an agent that says so. */
export interface NeedyAgent {
  readonly id: string;
  readonly push: { readonly loopback: boolean } | undefined;
  readonly rateLimit: Readonly<Record<string, { binding: string } | undefined>> | undefined;
  readonly definition: {
    auth: { readonly requirements: readonly unknown[]; readonly secrets?: readonly string[] };
    signing?: { readonly secrets?: readonly string[] };
  };
}

/** The global symbol under which what a Worker exports carries the needs of its agents. */
export const NEEDS = "durable-a2a.needs";

/** The value, with what the agents behind it need. */
export function withNeeds<T extends object>(value: T, agents: Iterable<NeedyAgent>): T {
  return Object.assign(value, { [Symbol.for(NEEDS)]: Array.from(agents, needsOf) });
}

/** Names of the agent's rate-limit bindings. */
export function rateLimitsOf({ rateLimit = {} }: Pick<NeedyAgent, "rateLimit">): string[] {
  return Object.values(rateLimit).flatMap((limit) => limit?.binding ?? []);
}

function needsOf(agent: NeedyAgent): AgentNeeds {
  const { id, push, definition } = agent;
  const { auth, signing } = definition;
  return {
    id,
    open: auth.requirements.length === 0,
    push: push !== undefined,
    loopback: push?.loopback ?? false,
    secrets: [...new Set([...(auth.secrets ?? []), ...(signing?.secrets ?? [])])],
    rateLimits: [...new Set(rateLimitsOf(agent))],
  };
}
