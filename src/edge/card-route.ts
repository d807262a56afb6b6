/** The public agent card over HTTP, with its caching (§8.2, §8.6). */
import { agentCard } from "../agent/card.ts";
import type { Exchange } from "../bindings/exchange.ts";
import type { AgentCard } from "../protocol/card.ts";

const MAX_AGE_SECONDS = 300;

/** When this isolate first served a card of that tag: its date, where the deployment tells none. */
const firstServed = new Map<string, Date>();

export async function serveCard(c: Exchange): Promise<Response> {
  c.get("facts").operation = "AgentCard";
  const { agent, url, signed } = c.get("ports");
  const card = await signed(agentCard(agent, url));
  const body = JSON.stringify(card);
  const etag = await tagOf(card);
  const modified = deployed(c.env) ?? seen(etag);
  const headers = {
    "Cache-Control": `public, max-age=${MAX_AGE_SECONDS}`,
    ETag: etag,
    "Last-Modified": modified.toUTCString(),
  };
  if (isFresh(c, etag, modified)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "Content-Type": "application/json" } });
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

function seen(etag: string): Date {
  const date = firstServed.get(etag) ?? new Date();
  // A Worker serves few cards; one that is asked under many host names must not remember them all.
  if (firstServed.size > 100) firstServed.clear();
  firstServed.set(etag, date);
  return date;
}

async function digest(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
