/** Where the public keys of an issuer come from: its key set over HTTP, or the definition. */
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { secureUrl } from "./options.ts";
import { fromIssuer } from "./token.ts";

export interface KeyOptions {
  /**
   * URL of the issuer's key set. It is fetched when the first token comes, kept for 10 minutes by this isolate, and
   * fetched anew for a key that is not in it, at most every 30 seconds (jose's defaults).
   */
  jwksUrl?: string;
  /** Instead of a URL: the public key as a JWK, or several as a key set. */
  key?: JsonWebKey | { keys: JsonWebKey[] };
}

const publicKey = z
  .record(z.string(), z.unknown())
  .refine(({ kty }) => typeof kty === "string" && kty !== "oct", "must be a public key as a JWK")
  .refine((key) => !Object.hasOwn(key, "d"), "must be the public key alone, without its private part");

export const keyOptions = {
  jwksUrl: secureUrl.optional(),
  key: z.union([z.object({ keys: z.array(publicKey).min(1) }), publicKey]).optional(),
};

type Checked = z.infer<z.ZodObject<typeof keyOptions>>;

/** The keys; throws when there is not exactly one place to have them from. */
export function keysOf(maker: string, { jwksUrl, key }: Checked): JWTVerifyGetKey {
  if ((jwksUrl === undefined) === (key === undefined)) {
    throw new Error(`${maker}: jwksUrl: either jwksUrl or key is needed`);
  }
  if (jwksUrl !== undefined) return fromIssuer(createRemoteJWKSet(new URL(jwksUrl)));
  const keys = Array.isArray(key?.keys) ? key.keys : [key];
  return createLocalJWKSet({ keys } as JSONWebKeySet);
}
