/** The public agent card over HTTP, with its caching (§8.2, §8.6). */
import { agentCard } from "../agent/card.ts";
import type { Agent } from "../agent/define-agent.ts";
import { refuseTenantName } from "../agent/tenants.ts";
import type { Exchange } from "../bindings/exchange.ts";
import { restError } from "../bindings/rest.ts";
import type { Ports } from "../operations/ports.ts";
import type { AgentCard } from "../protocol/card.ts";
import { A2AError } from "../protocol/errors.ts";

const MAX_AGE_SECONDS = 300;

/** Most cards of an agent that are kept: it has one for each tenant and each host name it is asked under. */
const MAX_CARDS = 100;

interface ServedCard {
  readonly body: string;
  readonly etag: string;
  /** When this isolate made it: its date, where the deployment tells none. */
  readonly made: Date;
}

const served = new WeakMap<Agent, Map<string, ServedCard>>();

export async function serveCard(c: Exchange): Promise<Response> {
  c.get("facts").operation = "AgentCard";
  const { agent } = c.get("ports");
  const tenant = c.req.param("tenant") ?? "";
  if (!mayBeTenant(agent, tenant)) {
    return restError(c, new A2AError("METHOD_NOT_FOUND", { message: "No such path" }));
  }
  const { body, etag, made } = await cardOf(c.get("ports"), tenant);
  const modified = deployed(c.env) ?? made;
  const headers = {
    "Cache-Control": `public, max-age=${MAX_AGE_SECONDS}`,
    ETag: etag,
    "Last-Modified": modified.toUTCString(),
  };
  if (isFresh(c, etag, modified)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "Content-Type": "application/json" } });
}

/** The card of the agent at this URL. It is made once, but where it is signed: signatures are of the environment. */
async function cardOf({ agent, url, signed }: Ports, tenant: string): Promise<ServedCard> {
  const cards = served.get(agent) ?? new Map<string, ServedCard>();
  served.set(agent, cards);
  const key = JSON.stringify([url, tenant]);
  const known = cards.get(key);
  if (known && !agent.definition.signing) return known;
  const card = await signed(agentCard(agent, url, { tenant }));
  const etag = await tagOf(card);
  const made = known?.etag === etag ? known.made : new Date();
  const fresh = { body: JSON.stringify(card), etag, made };
  if (!known && cards.size >= MAX_CARDS) cards.clear();
  cards.set(key, fresh);
  return fresh;
}

/**
 * Whether there may be a card for it: of tenants that depend on the caller each has one, so that who asks without
 * credentials learns nothing of which there are.
 */
function mayBeTenant({ tenants = [] }: Agent, tenant: string): boolean {
  if (tenant === "") return true;
  return typeof tenants === "function"
    ? refuseTenantName(tenant) === undefined
    : tenants.includes(tenant);
}

/**
 * The same for the same card from all isolates, though each makes its own signatures and those of ES256 differ every
 * time: of a signature it tells the header alone. That makes it a weak tag (RFC 9110 §8.8.1).
 */
async function tagOf({ signatures, ...card }: AgentCard): Promise<string> {
  const told = { ...card, signatures: signatures?.map((signature) => signature.protected) };
  return `${signatures ? "W/" : ""}"${await digest(JSON.stringify(told))}"`;
}

/** RFC 9110 §13.2.2: If-None-Match decides; If-Modified-Since only without it. */
function isFresh(c: Exchange, etag: string, modified: Date): boolean {
  const tags = c.req.header("If-None-Match");
  if (tags !== undefined) {
    const [known, ...named] = [etag, ...tags.split(",")].map((tag) => tag.trim().replace(/^W\//, ""));
    return named.some((tag) => tag === "*" || tag === known);
  }
  const since = Date.parse(c.req.header("If-Modified-Since") ?? "");
  return Math.floor(modified.getTime() / 1000) * 1000 <= since;
}

function deployed(env: { CF_VERSION_METADATA?: { timestamp: string } }): Date | undefined {
  const time = Date.parse(env.CF_VERSION_METADATA?.timestamp ?? "");
  return Number.isNaN(time) ? undefined : new Date(time);
}

async function digest(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
