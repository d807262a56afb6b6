/** An issuer of tokens on no network: its discovery document and its keys are what `fetch` gives. */
import { base64url, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { onTestFinished, vi } from "vitest";

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

export const ISSUER = "https://login.test";
export const AUDIENCE = "https://agents.test";

/** Claims of a token that lets in, with others laid over; `undefined` takes one away. */
function claimsOf(changes: Record<string, unknown>): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: "alice", iat: now, exp: now + 300, ...changes };
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
}

export class Issuer {
  /** The keys it signs with, by id; the public parts are published. */
  readonly keys = new Map<string, { alg: string; pair: KeyPair }>();
  /** What it was asked for. */
  readonly asked: string[] = [];
  /** What it answers instead of what it has. */
  fault: (() => Promise<Response>) | undefined;
  /** What its discovery document says beside the truth. */
  discovery: Record<string, unknown> = {};

  async addKey(kid: string, alg = "ES256"): Promise<void> {
    const pair = await generateKeyPair(alg, { extractable: true });
    this.keys.set(kid, { alg, pair });
  }

  async jwks(): Promise<{ keys: JsonWebKey[] }> {
    const keys = [...this.keys].map(async ([kid, { alg, pair }]) => ({
      ...(await exportJWK(pair.publicKey)),
      kid,
      alg,
      use: "sig",
    }));
    return { keys: (await Promise.all(keys)) as JsonWebKey[] };
  }

  /** A token; `claims` are laid over those of one that lets in. */
  async token(claims: Record<string, unknown> = {}, kid = "first"): Promise<string> {
    const { alg, pair } = this.keys.get(kid) ?? {};
    if (!alg || !pair) throw new Error(`no key ${kid}`);
    return new SignJWT(claimsOf(claims)).setProtectedHeader({ alg, kid }).sign(pair.privateKey);
  }

  /** Stands in for the network until the test ends: this issuer is all there is. */
  serve(): void {
    const mock = vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
      const url = String(input);
      this.asked.push(url);
      if (this.fault) return this.fault();
      if (url === `${ISSUER}/.well-known/openid-configuration`) {
        return Response.json({ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, ...this.discovery });
      }
      if (url === `${ISSUER}/jwks`) return Response.json(await this.jwks());
      return new Response("not here", { status: 404 });
    });
    onTestFinished(() => mock.mockRestore());
  }
}

/** An issuer with one key, `first`, that is served until the test ends. */
export async function issuer(): Promise<Issuer> {
  const made = new Issuer();
  await made.addKey("first");
  made.serve();
  return made;
}

/** A token made by hand: signed by `sign`, or not at all. */
export async function handmade(
  header: object,
  changes: Record<string, unknown> = {},
  sign: (input: Uint8Array) => Promise<ArrayBuffer> = async () => new ArrayBuffer(0),
): Promise<string> {
  const encode = (bytes: Uint8Array) => base64url.encode(bytes);
  const json = (value: object) => encode(new TextEncoder().encode(JSON.stringify(value)));
  const input = `${json(header)}.${json(claimsOf(changes))}`;
  return `${input}.${encode(new Uint8Array(await sign(new TextEncoder().encode(input))))}`;
}
