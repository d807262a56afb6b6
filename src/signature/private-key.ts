/** Private keys, from secrets of the Worker. No error shows any of a secret: the log would keep it. */
import { importJWK, importPKCS8, type JWK } from "jose";
import { isStruct } from "../protocol/struct.ts";
import type { SignatureAlgorithm } from "./algorithm.ts";

export interface KeySource {
  kid: string;
  alg: SignatureAlgorithm;
  /** Name of the secret. */
  secret: string;
}

/** The key in a secret, a JWK in JSON or a PEM in PKCS #8. Throws an error that names the secret and says how to set it. */
export async function readPrivateKey(
  { kid, alg, secret }: KeySource,
  env: unknown,
): Promise<CryptoKey> {
  const refuse = (problem: string) =>
    new Error(
      `The agent card cannot be signed with the key "${kid}": the secret ${secret} ${problem}. ` +
        `Set it to a private key for ${alg}, as a JWK or as a PEM in PKCS #8: wrangler secret put ${secret}`,
    );
  const value = isStruct(env) ? env[secret] : undefined;
  if (typeof value !== "string" || value.trim() === "") throw refuse("is missing");
  const key = value.trim().startsWith("{") ? await fromJwk(value) : await fromPem(value);
  if (key.type !== "private") throw refuse("is a public key");
  const { modulusLength = Number.POSITIVE_INFINITY } = key.algorithm as { modulusLength?: number };
  if (modulusLength < 2048) throw refuse("is an RSA key of fewer than 2048 bits");
  return key;

  async function fromJwk(text: string): Promise<CryptoKey> {
    let jwk: JWK;
    try {
      jwk = JSON.parse(text);
    } catch {
      throw refuse("is not JSON");
    }
    if (jwk.kid !== undefined && jwk.kid !== kid) throw refuse("is a JWK with another `kid`");
    if (jwk.alg !== undefined && jwk.alg !== alg) throw refuse("is a JWK with another `alg`");
    const imported = await importJWK(jwk, alg).catch(() => undefined);
    if (!imported || imported instanceof Uint8Array) throw refuse(`is no JWK for ${alg}`);
    return imported;
  }

  async function fromPem(text: string): Promise<CryptoKey> {
    // On one line, as some ways of setting a secret want it, line breaks are written `\n`.
    const pem = text.replaceAll("\\n", "\n").trim();
    const imported = await importPKCS8(pem, alg).catch(() => undefined);
    if (!imported) throw refuse(`is no PEM in PKCS #8 ("-----BEGIN PRIVATE KEY-----") for ${alg}`);
    return imported;
  }
}
