/** Who calls in a test: named by the test, whatever the agent's own scheme wants. */
import type { AuthScheme } from "../agent/auth-scheme.ts";
import type { Agent } from "../agent/define-agent.ts";

/** The agent with callers that need no credentials; all else is as it was defined. */
export function calledBy(
  agent: Agent,
  caller: string | undefined,
  scopes: readonly string[] | undefined,
): Agent {
  const { auth } = agent.definition;
  // Open to anyone: callers have no names there.
  if (caller === undefined && Object.keys(auth.schemes).length === 0) return agent;
  const subject = caller ?? "tester";
  const granted = scopes ?? [...new Set([...scopesOf(auth), ...skillScopes(agent)])];
  const scheme: AuthScheme = {
    ...auth,
    challenges: () => [],
    authenticate: async () => ({ scheme: "test", subject, scopes: granted }),
  };
  return { ...agent, definition: { ...agent.definition, auth: scheme } };
}

/** The scopes that the agent's schemes ask for. */
function scopesOf({ requirements }: AuthScheme): string[] {
  return requirements.flatMap(({ schemes }) => Object.values(schemes).flatMap(({ list }) => list));
}

function skillScopes({ definition }: Agent): string[] {
  return definition.skills.flatMap(({ scopes = [] }) => scopes);
}
