/** Where public keys come from: those the verifier has, and key sets at URLs that it allows (§8.4.3). */
import { createLocalJWKSet, createRemoteJWKSet, errors, type JWK } from "jose";
import { isStruct } from "../protocol/struct.ts";
import { type Refusal, said } from "./refusal.ts";

/** How long a key set may take to arrive, in ms. */
const TIMEOUT = 5_000;

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** Whether keys may be fetched from there: over https, or from this machine; and no credentials in the URL. */
export function isKeySetUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url?.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
}

export interface KeyHeader {
  alg: string;
  kid: string;
  jku?: string;
}

/** Finds the public key that a signature names, or says why there is none to trust. */
export type FindKey = (header: KeyHeader) => Promise<CryptoKey | Omit<Refusal, "kid">>;

/**
 * `keySets` are origins, or whole URLs of single key sets. Throws a `TypeError` when they are none, when `keys` is no list
 * and when no key can be found at all; what it gives throws one when the key that is wanted cannot be read.
 */
export function findKeys(keys: readonly JWK[], keySets: readonly string[]): FindKey {
  if (!Array.isArray(keys) || !keys.every(isStruct)) {
    throw new TypeError("verifyCard: `keys` must be a list of JWKs");
  }
  if (keys.length === 0 && keySets.length === 0) {
    throw new TypeError("verifyCard: name the `keys` or the `keySets` that you trust");
  }
  const allowed = keySets.map((entry) => {
    if (!isKeySetUrl(entry)) throw new TypeError(`verifyCard: no https URL in keySets: ${entry}`);
    return new URL(entry);
  });
  const local = createLocalJWKSet({ keys: [...keys] });
  /** One request for a key set, however many signatures name it. */
  const remote = new Map<string, ReturnType<typeof createRemoteJWKSet>>();

  return async ({ alg, kid, jku }) => {
    const wanted = { alg, kid };
    const unknown = {
      code: "unknown_key",
      message: `no key ${said(kid)} for ${alg} is trusted`,
    } as const;
    const own = await local(wanted)
      .catch(noMatch)
      .catch((cause: unknown) => {
        const problem = `the key ${said(kid)} in \`keys\` is no public JWK for ${alg}`;
        throw new TypeError(`verifyCard: ${problem}`, { cause });
      });
    if (own) return own;
    if (jku === undefined) return unknown;
    const url = URL.parse(jku);
    if (!url || !isKeySetUrl(jku) || !allowed.some((entry) => leadsTo(entry, url))) {
      return {
        code: "foreign_key_set",
        message: `its key set ${said(jku)} is not among those allowed`,
      };
    }
    const set = remote.get(url.href) ?? createRemoteJWKSet(url, { timeoutDuration: TIMEOUT });
    remote.set(url.href, set);
    try {
      return (await set(wanted).catch(noMatch)) ?? unknown;
    } catch {
      return { code: "key_set_unavailable", message: `its key set ${said(jku)} cannot be read` };
    }
  };
}

/** An entry without a path stands for its whole origin. */
function leadsTo(entry: URL, url: URL): boolean {
  const isOrigin = entry.pathname === "/" && entry.search === "";
  return isOrigin ? entry.origin === url.origin : entry.href === url.href;
}

/** A set that has no such key, or more than one, gives none. */
function noMatch(error: unknown): undefined {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys } = errors;
  if (error instanceof JWKSNoMatchingKey || error instanceof JWKSMultipleMatchingKeys) return undefined;
  throw error;
}
