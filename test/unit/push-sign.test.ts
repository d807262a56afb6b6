import { calculateJwkThumbprint, decodeProtectedHeader, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { pushKeys } from "../../src/push/sign.ts";
import { AUDIENCE, BODY, ISSUER, jwks, key, sign, signed } from "../notifications.ts";

const secret = (text: unknown) => ({ PUSH_SIGNING_KEY: text });

describe("a signature", () => {
  test("says who sends what to whom, for five minutes", async () => {
    const now = Date.UTC(2026, 11, 1);
    const what = signed();
    const token = await sign(what, now);
    const { payload } = await jwtVerify(
      token,
      { ...jwks.keys[0], alg: "ES256" },
      {
        currentDate: new Date(now),
      },
    );
    const bytes = new TextEncoder().encode(BODY);
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("base64url");
    expect(payload).toEqual({
      iss: ISSUER,
      aud: AUDIENCE,
      iat: now / 1000,
      exp: now / 1000 + 300,
      jti: what.id,
      task: "t",
      seq: 7,
      body_sha256: hash,
    });
    const kid = await calculateJwkThumbprint(key);
    expect(decodeProtectedHeader(token)).toEqual({ alg: "ES256", typ: "JWT", kid });
  });

  test("has the name that its key has", async () => {
    const named = pushKeys(secret(JSON.stringify({ ...key, kid: "mine" })));
    const token = (await named?.sign(signed())) ?? "";
    expect(decodeProtectedHeader(token).kid).toBe("mine");
  });
});

describe("the secret", () => {
  test.each([[{}], [secret(undefined)], [secret("")], [secret(" \n")]])("%j is none", (env) => {
    expect(pushKeys(env)).toBeUndefined();
  });

  const broken: [why: string, text: unknown][] = [
    ["is no text", 5],
    ["is not JSON", "-----BEGIN PRIVATE KEY-----"],
    ["no JWK of an EC key on P-256", "{}"],
    ["no JWK of an EC key on P-256", JSON.stringify({ ...key, crv: "P-384" })],
    ["no JWK of an EC key on P-256", JSON.stringify({ kty: "oct", k: "c2VjcmV0" })],
    ["without keys", JSON.stringify({ keys: [] })],
    ["has no private key to sign with", JSON.stringify({ ...key, d: undefined })],
    ["has no private key to sign with", JSON.stringify({ keys: [{ ...key, d: undefined }, key] })],
    ["broken `x`, `y` or `d`", JSON.stringify({ ...key, d: "short" })],
    ["another `use` or `alg`", JSON.stringify({ ...key, use: "enc" })],
    ["has, as key 2,", JSON.stringify({ keys: [key, {}] })],
  ];
  test.each(broken)("that %s is an error that names it, and shows nothing of it: %j", (why, text) => {
    let message = "";
    try {
      pushKeys(secret(text));
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain("PUSH_SIGNING_KEY");
    expect(message).toContain(why);
    expect(message).toContain("npx wrangler secret put");
    expect(message).not.toContain(key.d);
  });

  test("whose numbers are no key is found when it signs", async () => {
    const wrong = pushKeys(secret(JSON.stringify({ ...key, x: key.y, y: key.x })));
    await expect(wrong?.sign(signed())).rejects.toThrow("PUSH_SIGNING_KEY");
  });
});
