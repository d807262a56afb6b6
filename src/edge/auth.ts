/** The security schemes: each gives its card entry and its check. */
import type { AuthScheme } from "../agent/auth-scheme.ts";

/**
 * Anyone may call, without a name. All callers are one owner then, so tasks are not listed: who does not know a
 * task's id cannot see it. `list: true` lists them all to everybody, which is meant for development.
 */
export function open({ list = false }: { list?: boolean } = {}): AuthScheme {
  return {
    name: "open",
    card: undefined,
    challenge: "",
    headers: [],
    listsTasks: list,
    authenticate: async () => "",
  };
}

export interface ApiKeyOptions {
  /** Header the key is sent in. Default: X-API-Key. */
  header?: string;
  /**
   * Name of the secret (a binding) with the keys' hashes: JSON of caller names to the SHA-256 of their keys in hex,
   * `{"alice":"9f86…"}`; a list of hashes lets a key be replaced without a gap. `printf %s KEY | sha256sum` makes one.
   * Default: API_KEYS.
   */
  secret?: string;
  description?: string;
}

/** Callers show a key in a header; each key belongs to a named caller, who owns the tasks made with it (§4.5.2). */
export function apiKey({
  header = "X-API-Key",
  secret = "API_KEYS",
  description,
}: ApiKeyOptions = {}): AuthScheme {
  return {
    name: "apiKey",
    card: {
      apiKeySecurityScheme: { location: "header", name: header, ...(description && { description }) },
    },
    challenge: `ApiKey realm="a2a", header="${header}"`,
    headers: [header],
    listsTasks: true,
    async authenticate(request, env) {
      const key = request.headers.get(header);
      if (!key) return undefined;
      const keys = readKeys((env as Record<string, unknown>)[secret], secret);
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
      // Every hash is compared, in constant time each: how long it takes says nothing of which caller it is.
      let caller: string | undefined;
      for (const [name, known] of keys) {
        if (crypto.subtle.timingSafeEqual(hash, known)) caller = name;
      }
      return caller;
    },
  };
}

/** Caller names with the hashes of their keys. A secret that cannot be read lets nobody in. */
function readKeys(value: unknown, secret: string): [string, Uint8Array][] {
  const how = `Set the secret ${secret} to JSON such as {"alice":"<SHA-256 of the key in hex>"}`;
  if (typeof value !== "string")
    throw new Error(`Missing secret. ${how}: wrangler secret put ${secret}`);
  let names: unknown;
  try {
    names = JSON.parse(value);
  } catch {
    throw new Error(`The secret ${secret} is not JSON. ${how}`);
  }
  if (typeof names !== "object" || names === null || Array.isArray(names))
    throw new Error(`The secret ${secret} is not an object. ${how}`);
  return Object.entries(names).flatMap(([name, hashes]) =>
    [hashes].flat().map((hash): [string, Uint8Array] => {
      if (typeof hash !== "string" || !/^[0-9a-f]{64}$/i.test(hash)) {
        throw new Error(`The secret ${secret} has no SHA-256 in hex for "${name}". ${how}`);
      }
      return [name, Uint8Array.from(hash.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))];
    }),
  );
}
