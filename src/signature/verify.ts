/** Verifying signed agent cards (§8.4.3): fails closed, and gives back nothing that was not signed. */
import { base64url, decodeProtectedHeader, flattenedVerify, type JWK } from "jose";
import type { AgentCard } from "../protocol/card.ts";
import { isStruct } from "../protocol/struct.ts";
import { isSignatureAlgorithm, SIGNATURE_ALGORITHMS, type SignatureAlgorithm } from "./algorithm.ts";
import { canonicalTexts } from "./canonical.ts";
import { cardOf } from "./card-members.ts";
import { type FindKey, findKeys, type KeyHeader } from "./key-set.ts";
import { CardSignatureError, type Refusal, said } from "./refusal.ts";

/** Whom to trust. At least one of `keys` and `keySets` must name something. */
export interface VerifyOptions {
  /** Public keys in JWK, each with its `kid`; those of a JWK set are its `keys`. */
  keys?: readonly JWK[];
  /**
   * Where keys may be fetched from when a signature's `jku` leads there: origins (`https://keys.example.com`), or URLs of
   * single key sets. `https:` only, or loopback; redirects are not followed. An origin where strangers can put files must
   * not be listed. Nothing is fetched when unset, or when `keys` has the key.
   */
  keySets?: readonly string[];
  /** Algorithms that are accepted. Default: ES256, RS256, EdDSA; there are no others. */
  algorithms?: readonly SignatureAlgorithm[];
}

/** Most signatures of a card that are looked at, each of which may cost a request to an allowed key set. */
const MOST_SIGNATURES = 20;

/**
 * Checks that a card was signed with a key that you trust; one such signature is enough (§8.4.3). Runs in Workers, Node.js
 * and browsers.
 *
 * Gives the card as it was signed, with that signature: what the protocol does not know is left out, for it is not
 * covered. A card that an official SDK signed comes back without members that are empty, which that SDK does not cover: a
 * scheme without scopes is missing from `securityRequirements` then, though not from `securitySchemes`.
 *
 * Throws `CardSignatureError`, with the reason for each signature, and a `TypeError` for options that make no sense.
 *
 * @param card The card as it was received, parsed from JSON and otherwise untouched.
 * @example
 * const card = await verifyCard(await response.json(), { keys: [publicKey], algorithms: ["ES256"] });
 */
export async function verifyCard(card: unknown, options: VerifyOptions): Promise<AgentCard> {
  const { keys = [], keySets = [], algorithms = SIGNATURE_ALGORITHMS } = options;
  if (algorithms.length === 0 || !algorithms.every(isSignatureAlgorithm)) {
    throw new TypeError(`verifyCard: algorithms must be some of ${SIGNATURE_ALGORITHMS.join(", ")}`);
  }
  const find = findKeys(keys, keySets);
  const { signatures, texts } = readSigned(card);
  const refusals: Refusal[] = [];
  for (const signature of signatures) {
    const outcome = await check(signature, texts, algorithms, find);
    if ("text" in outcome)
      return { ...cardOf(JSON.parse(outcome.text)), signatures: [outcome.signature] };
    refusals.push(outcome);
  }
  throw new CardSignatureError(refusals);
}

function readSigned(card: unknown): { signatures: unknown[]; texts: string[] } {
  const signatures = isStruct(card) ? card.signatures : undefined;
  if (!Array.isArray(signatures) || signatures.length === 0) {
    throw new CardSignatureError([{ code: "unsigned", message: "it has no signatures" }]);
  }
  if (signatures.length > MOST_SIGNATURES) {
    const message = `it has more than ${MOST_SIGNATURES} signatures`;
    throw new CardSignatureError([{ code: "malformed", message }]);
  }
  try {
    return { signatures, texts: canonicalTexts(card) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CardSignatureError([{ code: "malformed", message }]);
  }
}

interface Signature {
  protected: string;
  signature: string;
}

/** The text that the signature covers, or why it cannot be trusted. */
async function check(
  given: unknown,
  texts: string[],
  algorithms: readonly string[],
  find: FindKey,
): Promise<{ text: string; signature: Signature } | Refusal> {
  const read = readSignature(given);
  if (!read) return { code: "malformed", message: "a signature cannot be read" };
  const { signature, header } = read;
  const { alg, kid } = header;
  if (!algorithms.includes(alg)) {
    return { kid, code: "algorithm", message: `its algorithm ${said(alg)} is not allowed` };
  }
  const key = await find(header);
  if ("code" in key) return { kid, ...key };
  for (const text of texts) {
    const jws = { ...signature, payload: base64url.encode(text) };
    const holds = await flattenedVerify(jws, key, { algorithms: [alg] }).then(
      () => true,
      () => false,
    );
    if (holds) return { text, signature };
  }
  return { kid, code: "mismatch", message: "it is not a signature of this card" };
}

/** Without the unprotected header, which anyone can change: nothing that decides is taken from it. */
function readSignature(given: unknown): { signature: Signature; header: KeyHeader } | undefined {
  if (!isStruct(given)) return undefined;
  const { protected: encoded, signature } = given;
  if (typeof encoded !== "string" || typeof signature !== "string") return undefined;
  try {
    const { alg, kid, jku } = decodeProtectedHeader({ protected: encoded });
    if (typeof alg !== "string" || typeof kid !== "string" || kid === "") return undefined;
    if (jku !== undefined && typeof jku !== "string") return undefined;
    return {
      signature: { protected: encoded, signature },
      header: { alg, kid, ...(jku !== undefined && { jku }) },
    };
  } catch {
    return undefined;
  }
}
