/**
 * Bearer tokens that are JWTs (RFC 6750, RFC 7519): what every scheme with tokens checks of one. jose does the
 * cryptography; the algorithms are those of the definition, never those that a token asks for.
 */
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import * as z from "zod";
import type { AuthScheme, Principal } from "../../agent/auth-scheme.ts";
import { requireScopes, scopeNames } from "../../agent/scopes.ts";
import type { SecurityScheme } from "../../protocol/card.ts";
import { A2AError } from "../../protocol/errors.ts";
import { schemeName } from "./options.ts";

/** Signatures with a key pair. HMAC is not among them: who can check such a token can also make one. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

export interface TokenOptions {
  /** The `iss` of the tokens, exactly as it is in them. */
  issuer: string;
  /** The `aud` of the tokens: one of these must be in a token's. */
  audience: string | string[];
  /** The algorithms a token may be signed with, such as `["RS256"]`; there is no default. */
  algorithms: (typeof ALGORITHMS)[number][];
  /** Scopes that every caller needs (`scope` or `scp` of the token); without them 403. Default: none. */
  scopes?: string[];
  /** Claims of the token that the agent is to see, as `caller.claims`; stored with the messages. Default: none. */
  claims?: string[];
  /** Seconds that the issuer's clock may differ from ours. Default: 5, at most 300. */
  clockTolerance?: number;
  description?: string;
  /** Key of the scheme in the card, and part of who owns a task. */
  scheme?: string;
}

export const tokenOptions = {
  issuer: z.string().min(1),
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
  algorithms: z.array(z.enum(ALGORITHMS)).min(1, "must have at least one element"),
  scopes: scopeNames.default([]),
  claims: z.array(z.string().min(1)).default([]),
  clockTolerance: z.number().min(0).max(300).default(5),
  description: z.string().optional(),
  scheme: schemeName.optional(),
};

type Checked = z.infer<z.ZodObject<typeof tokenOptions>>;

/** A scheme whose callers send a JWT; `entry` is what the card says of it. */
export function tokenScheme(
  name: string,
  entry: SecurityScheme,
  options: Checked,
  keys: JWTVerifyGetKey,
): AuthScheme {
  const scope = (names: readonly string[]) => (names.length > 0 ? `, scope="${names.join(" ")}"` : "");
  return {
    schemes: { [name]: entry },
    requirements: [{ schemes: { [name]: { list: options.scopes } } }],
    headers: [],
    listsTasks: true,
    // RFC 6750 §3.1: no error is named to a request that came without a token.
    challenges(request, missing) {
      const realm = 'Bearer realm="a2a"';
      if (missing) return [`${realm}, error="insufficient_scope"${scope(missing)}`];
      const error = tokenOf(request) === undefined ? "" : ', error="invalid_token"';
      return [`${realm}${error}${scope(options.scopes)}`];
    },
    async authenticate(request) {
      const token = tokenOf(request);
      const payload = token === undefined ? undefined : await verify(token, name, options, keys);
      return payload && principalOf(payload, name, options);
    },
  };
}

function tokenOf({ headers }: Request): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(headers.get("Authorization") ?? "")?.[1];
}

/** The claims of a token that holds; undefined for any other. */
async function verify(
  token: string,
  name: string,
  { issuer, audience, algorithms, clockTolerance }: Checked,
  keys: JWTVerifyGetKey,
): Promise<JWTPayload | undefined> {
  try {
    // Another issuer's token is for another scheme: no keys are fetched for it.
    if (decodeJwt(token).iss !== issuer) return undefined;
    const requiredClaims = ["exp", "sub"];
    const options = { issuer, audience, algorithms, clockTolerance, requiredClaims };
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    // The code says what was wrong, and nothing of the token.
    console.warn(`${name}: a token was refused (${error.code})`);
    return undefined;
  }
}

function principalOf(
  payload: JWTPayload,
  scheme: string,
  { issuer, scopes: needed, claims }: Checked,
): Principal | undefined {
  const { sub: subject } = payload;
  if (typeof subject !== "string" || subject === "") return undefined;
  const scopes = scopesOf(payload);
  requireScopes(scopes, needed, "this agent");
  const kept = claims.filter((claim) => Object.hasOwn(payload, claim));
  return {
    scheme,
    issuer,
    subject,
    scopes,
    ...(kept.length > 0 && {
      claims: Object.fromEntries(kept.map((claim) => [claim, payload[claim]])),
    }),
  };
}

/** `scope` is a text with spaces (RFC 9068); some issuers write `scp`, as a text or a list. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const texts = [scope, scp].flat().filter((text) => typeof text === "string");
  return [...new Set(texts.flatMap((text) => text.split(" ")))].filter((word) => word !== "");
}

/**
 * The keys, with everything that is the issuer's fault told apart from a token that names no key of theirs: without
 * keys nobody is let in, and the caller is told to come back.
 */
export function fromIssuer(keys: JWTVerifyGetKey): JWTVerifyGetKey {
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      const ofToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported;
      if (ofToken || A2AError.is(error)) throw error;
      throw issuerUnavailable(error);
    }
  };
}

export function issuerUnavailable(cause: unknown): A2AError {
  console.error("The keys of the issuer of tokens cannot be had:", cause);
  return new A2AError("UNAVAILABLE", {
    message: "Temporarily unavailable: the issuer of your token cannot be reached to check it",
  });
}
