/** `/.well-known/jwks.json`: the public keys that sign what goes to webhooks (docs/webhooks-receiving.md). */
import type { Exchange } from "../bindings/exchange.ts";

const HEADERS = { "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300" };

/** Without a key the set is empty. */
export async function serveKeys(c: Exchange): Promise<Response> {
  c.get("facts").operation = "Keys";
  return Response.json(await c.get("ports").publicKeys(), { headers: HEADERS });
}
