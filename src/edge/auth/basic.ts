import * as z from "zod";
import type { AuthScheme, Principal } from "../../agent/auth-scheme.ts";
import { message } from "../../protocol/proto-json.ts";
import { callersInSecret, sameBytes } from "./named-callers.ts";
import { checkOptions, schemeName } from "./options.ts";

export interface BasicOptions {
  /**
   * Name of the secret (a binding) with the users: JSON of user names to `pbkdf2$<iterations>$<salt>$<hash>`, PBKDF2
   * with SHA-256, salt and hash of 32 bytes in base64, at most 100,000 iterations (the platform takes no more). A list
   * of them lets a password be replaced without a gap, `{"alice":{"hash":"pbkdf2$…","scopes":["write"]}}` gives
   * scopes. Default: BASIC_USERS.
   */
  secret?: string;
  description?: string;
  /** Key of the scheme in the card, and part of who owns a task. Default: basic. */
  scheme?: string;
}

const Options = message({
  secret: z.string().min(1).default("BASIC_USERS"),
  description: z.string().optional(),
  scheme: schemeName.default("basic"),
});

const HASH = /^pbkdf2\$([1-9]\d{0,4}|100000)\$([A-Za-z0-9+/]{8,}={0,2})\$([A-Za-z0-9+/]{43}=)$/;

/** Callers send a user name and a password (RFC 7617). Each check derives a key on purpose, which takes about 20 ms of CPU. */
export function basic(options: BasicOptions = {}): AuthScheme {
  const { secret, description, scheme } = checkOptions("basic", Options, options);
  return {
    schemes: {
      [scheme]: { httpAuthSecurityScheme: { scheme: "Basic", ...(description && { description }) } },
    },
    requirements: [{ schemes: { [scheme]: { list: [] } } }],
    headers: [],
    secrets: [secret],
    listsTasks: true,
    challenges: (_, missing) => (missing ? [] : ['Basic realm="a2a", charset="UTF-8"']),
    async authenticate({ headers }, env) {
      const given = credentialsOf(headers.get("Authorization"));
      return given && userOf(given, env, secret, scheme);
    },
  };
}

interface Credentials {
  user: string;
  password: string;
}

function credentialsOf(header: string | null): Credentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? "") ?? [];
  if (encoded === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const colon = text.indexOf(":");
    return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
  } catch {
    // Not base64 of UTF-8: no credentials.
    return undefined;
  }
}

async function userOf(
  { user, password }: Credentials,
  env: unknown,
  secret: string,
  scheme: string,
): Promise<Principal | undefined> {
  const users = callersInSecret(env, secret, {
    isProof: (text) => HASH.test(text),
    example: "pbkdf2$100000$<salt>$<hash>",
  });
  const known = users.filter(({ name }) => name === user);
  // A user who is not there takes as long as one who is: time does not tell who has an account.
  if (known.length === 0)
    await Promise.all(users.slice(0, 1).map(({ proof }) => fits(password, proof)));
  for (const { name, proof, scopes } of known) {
    if (await fits(password, proof)) return { scheme, subject: name, scopes };
  }
  return undefined;
}

async function fits(password: string, proof: string): Promise<boolean> {
  const [, iterations, salt = "", hash = ""] = HASH.exec(proof) ?? [];
  const bytes = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const secret = new TextEncoder().encode(password);
  const key = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
  const derived = await crypto.subtle.deriveBits(
    { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: Number(iterations) },
    key,
    256,
  );
  return sameBytes(new Uint8Array(derived), bytes(hash));
}
