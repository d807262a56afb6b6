import * as z from "zod";
import type { AuthScheme, Principal } from "../../agent/auth-scheme.ts";
import { message } from "../../protocol/proto-json.ts";
import { callersInSecret, sameBytes } from "./named-callers.ts";
import { checkOptions, schemeName } from "./options.ts";

export interface ApiKeyOptions {
  /** Where the key is sent (§4.5.2). Default: header. A key in the query ends up in the logs of others. */
  location?: "header" | "query" | "cookie";
  /** Name of the header, the query parameter or the cookie. Default: X-API-Key in a header, else api_key. */
  name?: string;
  /**
   * Name of the secret (a binding) with the keys' hashes: JSON of caller names to the SHA-256 of their keys in hex,
   * `{"alice":"9f86…"}`; a list of hashes lets a key be replaced without a gap, and
   * `{"alice":{"hash":"9f86…","scopes":["write"]}}` gives scopes. `printf %s KEY | sha256sum` makes a hash.
   * Default: API_KEYS.
   */
  secret?: string;
  description?: string;
  /** Key of the scheme in the card, and part of who owns a task. Default: apiKey. */
  scheme?: string;
}

const Options = message({
  location: z.enum(["header", "query", "cookie"]).default("header"),
  name: z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "must be a token as in RFC 9110")
    .optional(),
  secret: z.string().min(1).default("API_KEYS"),
  description: z.string().optional(),
  scheme: schemeName.default("apiKey"),
});

/** Callers show a key; each key belongs to a named caller, who owns the tasks made with it (§4.5.2). */
export function apiKey(options: ApiKeyOptions = {}): AuthScheme {
  const { location, secret, description, scheme, ...given } = checkOptions("apiKey", Options, options);
  const name = given.name ?? (location === "header" ? "X-API-Key" : "api_key");
  return {
    schemes: {
      [scheme]: { apiKeySecurityScheme: { location, name, ...(description && { description }) } },
    },
    requirements: [{ schemes: { [scheme]: { list: [] } } }],
    headers: location === "header" ? [name] : [],
    secrets: [secret],
    listsTasks: true,
    challenges: (_, missing) => (missing ? [] : [`ApiKey realm="a2a", ${location}="${name}"`]),
    async authenticate(request, env) {
      const key = READ[location](request, name);
      return key ? callerOf(key, env, secret, scheme) : undefined;
    },
  };
}

const READ: Record<
  NonNullable<ApiKeyOptions["location"]>,
  (request: Request, name: string) => string | null | undefined
> = {
  header: ({ headers }, name) => headers.get(name),
  query: ({ url }, name) => new URL(url).searchParams.get(name),
  cookie: cookieOf,
};

/**
 * Browsers send cookies on their own, also with a request that a foreign page makes (a POST without a body needs no
 * leave of CORS): a request from another origin has no cookie here.
 */
function cookieOf({ headers, url }: Request, name: string): string | undefined {
  const origin = headers.get("Origin");
  if (origin !== null && origin !== new URL(url).origin) return undefined;
  const pairs = (headers.get("Cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

async function callerOf(
  key: string,
  env: unknown,
  secret: string,
  scheme: string,
): Promise<Principal | undefined> {
  const callers = callersInSecret(env, secret, {
    isProof: (text) => /^[0-9a-f]{64}$/i.test(text),
    example: "<SHA-256 of the key in hex>",
  });
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
  // Every hash is compared, in constant time each: how long it takes says nothing of which caller it is.
  let caller: Principal | undefined;
  for (const { name, proof, scopes } of callers) {
    const known = Uint8Array.from(proof.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
    if (sameBytes(hash, known)) caller = { scheme, subject: name, scopes };
  }
  return caller;
}
