/**
 * Signing what is sent to webhooks, with a key from a secret of the Worker: a JWT of five minutes that says who sends,
 * to whom, which event of which task, and what the body is (docs/webhooks-receiving.md). No error shows any of a
 * secret: the log would keep it.
 */
import { base64url, calculateJwkThumbprint, SignJWT } from "jose";
import { isStruct } from "../protocol/struct.ts";

/** What a signature is about. */
export interface Signed {
  /** The agent's public URL. */
  issuer: string;
  /** The webhook's; the signature is for its origin. */
  url: string;
  /** Id of the event, the same however often it is sent. */
  id: string;
  /** Id of the task. */
  task: string;
  seq: number;
  /** The body, exactly as it is sent in UTF-8. */
  body: string;
}

/** A public key, as it is published (RFC 7517). */
export interface PublicKey {
  kty: "EC";
  crv: "P-256";
  x: string;
  y: string;
  kid: string;
  use: "sig";
  alg: "ES256";
}

export interface PushKeys {
  /** The JWT for it, made at `now` (in ms). Throws an error that names the secret when the key is no key. */
  sign(what: Signed, now?: number): Promise<string>;
  /** The key that signs and those that did, their public parts alone. */
  published(): Promise<{ keys: PublicKey[] }>;
}

/** Name of the secret. */
const SECRET = "PUSH_SIGNING_KEY";

/** How long a signature holds, in seconds. */
export const LIFETIME = 5 * 60;

/** Most texts of the secret that are remembered: a Worker has one, tests have a few. */
const MOST_REMEMBERED = 8;

const remembered = new Map<string, PushKeys>();

/**
 * The keys in the secret `PUSH_SIGNING_KEY`: one private JWK of P-256 in JSON, or a JWK set, of which the first signs and
 * the others are only published. Undefined when there is no such secret, or an empty one. Throws an error that names the
 * secret, says what is wrong with it and how to make one, when it cannot be used.
 */
export function pushKeys(env: unknown): PushKeys | undefined {
  const text = (isStruct(env) ? env[SECRET] : undefined) ?? "";
  if (typeof text !== "string") throw unusable("is no text");
  if (text.trim() === "") return undefined;
  const known = remembered.get(text);
  if (known) return known;
  const keys = keysOf(readKeys(text));
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(text, keys);
  return keys;
}

function unusable(problem: string): Error {
  return new Error(
    `Webhooks cannot be signed: the secret ${SECRET} ${problem}. ` +
      "It is a private key on P-256 as a JWK in JSON, or a JWK set whose first key is one. To make one: " +
      `node -p 'JSON.stringify(crypto.generateKeyPairSync("ec",{namedCurve:"P-256"}).privateKey.export({format:"jwk"}))' ` +
      `| npx wrangler secret put ${SECRET}`,
  );
}

/** A key as the secret has it; `d` is the private part. */
interface Key {
  x: string;
  y: string;
  d?: string;
  kid?: string;
}

/** The first of the keys has its private part. */
function readKeys(text: string): [Key & { d: string }, ...Key[]] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw unusable("is not JSON");
  }
  const set = isStruct(json) && "keys" in json ? json.keys : [json];
  if (!Array.isArray(set) || set.length === 0) throw unusable("is a JWK set without keys");
  const [first, ...others] = set.map((jwk, index) =>
    readKey(jwk, set.length === 1 ? "is" : `has, as key ${index + 1},`),
  );
  if (first?.d === undefined)
    throw unusable("has no private key to sign with: the first is a public one");
  return [{ ...first, d: first.d }, ...others];
}

function readKey(jwk: unknown, place: string): Key {
  if (!isStruct(jwk) || jwk.kty !== "EC" || jwk.crv !== "P-256") {
    throw unusable(`${place} no JWK of an EC key on P-256`);
  }
  const { x, y, d, kid, use = "sig", alg = "ES256" } = jwk;
  if (!isNumber(x) || !isNumber(y) || (d !== undefined && !isNumber(d))) {
    throw unusable(`${place} a JWK with a broken \`x\`, \`y\` or \`d\``);
  }
  if (use !== "sig" || alg !== "ES256") throw unusable(`${place} a JWK for another \`use\` or \`alg\``);
  if (kid !== undefined && (typeof kid !== "string" || kid === "")) {
    throw unusable(`${place} a JWK with a \`kid\` that is no text`);
  }
  return { x, y, ...(d !== undefined && { d }), ...(kid !== undefined && { kid }) };
}

/** 32 bytes in base64url (RFC 7518 §6.2). */
function isNumber(value: unknown): value is string {
  return typeof value === "string" && /^[\w-]{43}$/.test(value);
}

function keysOf([first, ...others]: ReturnType<typeof readKeys>): PushKeys {
  let signer: { privateKey: CryptoKey; kid: string } | undefined;
  let published: PublicKey[] | undefined;
  return {
    async sign({ issuer, url, id, task, seq, body }, now = Date.now()) {
      // Promises are not kept: one that began in a request that was canceled may never settle.
      signer ??= { privateKey: await privateKeyOf(first), kid: await kidOf(first) };
      const { privateKey, kid } = signer;
      const iat = Math.floor(now / 1000);
      return new SignJWT({ task, seq, body_sha256: await sha256(new TextEncoder().encode(body)) })
        .setProtectedHeader({ alg: "ES256", typ: "JWT", kid })
        .setIssuer(issuer)
        .setAudience(new URL(url).origin)
        .setIssuedAt(iat)
        .setExpirationTime(iat + LIFETIME)
        .setJti(id)
        .sign(privateKey);
    },
    async published() {
      published ??= await Promise.all([first, ...others].map(publicKeyOf));
      return { keys: published };
    },
  };
}

async function privateKeyOf({ x, y, d }: Key & { d: string }): Promise<CryptoKey> {
  const jwk = { kty: "EC", crv: "P-256", x, y, d };
  try {
    return await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, [
      "sign",
    ]);
  } catch {
    throw unusable("has a JWK whose numbers are no key on P-256");
  }
}

async function publicKeyOf(key: Key): Promise<PublicKey> {
  const { x, y } = key;
  return { kty: "EC", crv: "P-256", x, y, kid: await kidOf(key), use: "sig", alg: "ES256" };
}

/** The name that the key has, or its thumbprint (RFC 7638). */
async function kidOf({ kid, x, y }: Key): Promise<string> {
  return kid ?? calculateJwkThumbprint({ kty: "EC", crv: "P-256", x, y });
}

/** In base64url. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  return base64url.encode(
    new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)),
  );
}
