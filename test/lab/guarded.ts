/** An agent behind each scheme that a machine without certificates has; `ISSUER` is where tokens come from. */
import { env } from "cloudflare:workers";
import {
  type AuthScheme,
  allOf,
  anyOf,
  apiKey,
  basic,
  bearerJwt,
  defineAgent,
  durableObjects,
  oauth2,
  oidc,
  worker,
} from "durable-a2a";

const { ISSUER, AWAY } = env as unknown as { ISSUER: string; AWAY: string };

const token = {
  issuer: ISSUER,
  audience: "https://agents.test",
  algorithms: ["RS256" as const],
};
const jwksUrl = `${ISSUER}/jwks`;
const scopes = { a2a: "Call the agent" };
const flow = { clientCredentials: { tokenUrl: `${ISSUER}/token`, scopes } };

function guarded(id: string, auth: AuthScheme) {
  return defineAgent({
    id,
    name: id,
    description: "Says who calls",
    version: "1.0.0",
    skills: [{ id: "who", name: "Who", description: "Says who calls", tags: ["test"] }],
    auth,
    tenants: ["acme"],
    extendedCard: ({ principal }) => ({ description: `For ${principal}` }),
    run: ({ caller }) => `${caller.scheme} ${caller.principal} ${caller.tenant}`,
  });
}

const key = guarded("key", apiKey());
const agents = [
  guarded("bearer", bearerJwt({ ...token, jwksUrl })),
  guarded("oidc", oidc(token)),
  guarded("oauth2", oauth2({ ...token, jwksUrl, flow, scopes: ["a2a"] })),
  guarded("basic", basic()),
  guarded("either", anyOf(apiKey(), oidc(token))),
  guarded("both", allOf(apiKey(), oidc(token))),
  guarded("away", oidc({ ...token, issuer: AWAY })),
] as const;

export const { TaskObject, TaskIndex } = durableObjects(key, ...agents);
export default worker(key, ...agents);
