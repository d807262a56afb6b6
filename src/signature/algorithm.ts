/** The JWS algorithms that cards are signed and verified with (RFC 7518 §3.1, RFC 8037). */

/**
 * `ES256` (EC key on P-256), `RS256` (RSA key of 2048 bits or more), `EdDSA` (Ed25519 key). Neither `none` nor one
 * with a shared secret: whoever could verify such a card could forge it.
 */
export type SignatureAlgorithm = "ES256" | "RS256" | "EdDSA";

export const SIGNATURE_ALGORITHMS: readonly SignatureAlgorithm[] = ["ES256", "RS256", "EdDSA"];

export function isSignatureAlgorithm(name: unknown): name is SignatureAlgorithm {
  return SIGNATURE_ALGORITHMS.some((known) => known === name);
}
