/** Bearer tokens: which let in, which do not, and what is said to a caller without one (CASES.md, C-12; RFC 6750). */
import { anyOf, apiKey, bearerJwt, oauth2, oidc } from "durable-a2a";
import { exportSPKI } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BINDINGS } from "./bindings.ts";
import type { Fetch } from "./deployment.ts";
import { AUDIENCE, handmade, ISSUER, type Issuer, issuer } from "./issuer.ts";
import { guarded, type Knock, knock } from "./knock.ts";

const common = { issuer: ISSUER, audience: AUDIENCE, algorithms: ["ES256" as const] };
const jwks = { ...common, jwksUrl: `${ISSUER}/jwks` };
const flow = { clientCredentials: { tokenUrl: `${ISSUER}/token`, scopes: { a2a: "Call the agent" } } };

const SCHEMES = {
  bearerJwt: () => bearerJwt(jwks),
  oidc: () => oidc(common),
  oauth2: () => oauth2({ ...jwks, flow }),
};

function bearing(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

/** Holds that a token was refused as what it is, in both bindings. */
async function refused(fetch: Fetch, token: string): Promise<void> {
  for (const binding of BINDINGS) {
    const answer = await knock(fetch, binding, bearing(token));
    expect(answer).toMatchObject({ status: 401, caller: undefined });
    expect(answer.challenge).toBe('Bearer realm="a2a", error="invalid_token"');
    expect(answer.error?.details[0]).toMatchObject({ reason: "UNAUTHENTICATED" });
  }
}

describe.each(Object.entries(SCHEMES))("%s", (_, scheme) => {
  test.each(BINDINGS)("over %s, lets a good token in as its subject of its issuer", async (binding) => {
    const login = await issuer();
    const answer = await knock(
      guarded(scheme()),
      binding,
      bearing(await login.token({ scope: "a b" })),
    );
    expect(answer.caller).toMatchObject({ issuer: ISSUER, principal: "alice", scopes: ["a", "b"] });
    expect(answer.text).not.toContain(await login.token());
  });

  test.each(BINDINGS)(
    "over %s, says to a caller without a token what is needed, and no error",
    async (binding) => {
      const login = await issuer();
      const answer = await knock(guarded(scheme()), binding);
      expect(answer).toMatchObject({ status: 401, challenge: 'Bearer realm="a2a"' });
      expect(login.asked).toEqual([]);
    },
  );

  const now = () => Math.floor(Date.now() / 1000);
  test.each<[title: string, claims: () => Record<string, unknown>]>([
    ["expired", () => ({ exp: now() - 10 })],
    ["not valid yet", () => ({ nbf: now() + 60 })],
    ["for another audience", () => ({ aud: "https://other.test" })],
    ["for no audience", () => ({ aud: undefined })],
    ["of another issuer", () => ({ iss: "https://evil.test" })],
    ["of the issuer with a slash more", () => ({ iss: `${ISSUER}/` })],
    ["of no issuer", () => ({ iss: undefined })],
    ["without a subject", () => ({ sub: undefined })],
    ["with an empty subject", () => ({ sub: "" })],
    ["with a subject that is no text", () => ({ sub: 1 })],
    ["without an end", () => ({ exp: undefined })],
    ["with an end that is no number", () => ({ exp: "never" })],
  ])("refuses a token that is %s", async (_title, claims) => {
    const login = await issuer();
    await refused(guarded(scheme()), await login.token(claims()));
  });

  test("takes a clock for right that is five seconds off, and no more", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    const token = await login.token({ exp: now() - 3 });
    expect((await knock(fetch, "rest", bearing(token))).status).toBe(200);
    await refused(fetch, await login.token({ exp: now() - 7 }));
  });

  test("refuses a token that is signed by nobody", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    for (const alg of ["none", "None", "NONE", ""])
      await refused(fetch, await handmade({ alg, kid: "first" }));
    // What algorithm a token names is looked at before any key is.
    expect(login.asked).toEqual([]);
  });

  test("refuses a token that is signed by HMAC with the public key", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    const { pair } = login.keys.get("first") ?? {};
    if (!pair) throw new Error("no key");
    const shapes = [await exportSPKI(pair.publicKey), JSON.stringify((await login.jwks()).keys[0])];
    for (const text of shapes) {
      const secret = new TextEncoder().encode(text);
      const hash = { name: "HMAC", hash: "SHA-256" };
      const key = await crypto.subtle.importKey("raw", secret, hash, false, ["sign"]);
      const sign = (input: Uint8Array) => crypto.subtle.sign("HMAC", key, input);
      for (const alg of ["HS256", "ES256"])
        await refused(fetch, await handmade({ alg, kid: "first" }, {}, sign));
    }
  });

  test("refuses an algorithm of the key that the definition does not name", async () => {
    const login = await issuer();
    await login.addKey("rsa", "RS256");
    await refused(guarded(scheme()), await login.token({}, "rsa"));
  });

  test("refuses a token whose signature or content was changed, or that is no token", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    const [header, payload, signature] = (await login.token()).split(".");
    const [, other] = (await login.token({ sub: "bob" })).split(".");
    for (const token of [
      `${header}.${other}.${signature}`,
      `${header}.${payload}.${"A".repeat(86)}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      "x",
      "a.b.c",
      "..",
    ]) {
      await refused(fetch, token);
    }
  });

  test("refuses a key of a stranger under the issuer's key id", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    expect((await knock(fetch, "rest", bearing(await login.token()))).status).toBe(200);
    const { keys } = login;
    const known = keys.get("first");
    await login.addKey("first");
    const forged = await login.token();
    if (known) keys.set("first", known);
    await refused(fetch, forged);
  });

  test("takes a rotated key once the old ones have been known for 30 seconds, and asks no more often", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    expect((await knock(fetch, "rest", bearing(await login.token()))).status).toBe(200);
    const before = login.asked.length;
    await login.addKey("second");
    login.keys.delete("first");
    const token = await login.token({ exp: now() + 3_600 }, "second");
    await refused(fetch, token);
    expect(login.asked).toHaveLength(before);
    vi.setSystemTime(Date.now() + 31_000);
    onTestFinished(() => void vi.useRealTimers());
    expect((await knock(fetch, "rest", bearing(token))).caller?.principal).toBe("alice");
    expect(login.asked).toHaveLength(before + 1);
  });

  const FAULTS: Record<string, (login: Issuer) => () => Promise<Response>> = {
    "does not answer": () => () => Promise.reject(new TypeError("connection refused")),
    "answers 500": () => async () => new Response("down", { status: 500 }),
    "answers no JSON": () => async () => new Response("<html>"),
    "answers something else": () => async () => Response.json({ hello: "world" }),
    "sends elsewhere": () => async () => Response.redirect("https://evil.test/jwks"),
  };
  test.each(Object.entries(FAULTS))(
    "lets nobody in when the issuer %s: 503, and come back",
    async (_title, fault) => {
      const login = await issuer();
      login.fault = fault(login);
      const fetch = guarded(scheme());
      for (const binding of BINDINGS) {
        const answer = await knock(fetch, binding, bearing(await login.token()));
        expect(answer).toMatchObject({
          status: 503,
          caller: undefined,
          retryAfter: "10",
          challenge: null,
        });
        expect(answer.error?.details[0]).toMatchObject({ reason: "UNAVAILABLE" });
        expect(answer.text).not.toContain("login.test");
      }
      login.fault = undefined;
      expect((await knock(fetch, "rest", bearing(await login.token()))).status).toBe(200);
    },
  );

  test("goes on with the keys it has while the issuer is down, for ten minutes", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    const token = await login.token({ exp: now() + 7_200 });
    expect((await knock(fetch, "rest", bearing(token))).status).toBe(200);
    login.fault = () => Promise.reject(new TypeError("connection refused"));
    expect((await knock(fetch, "rest", bearing(token))).status).toBe(200);
    vi.setSystemTime(Date.now() + 601_000);
    onTestFinished(() => void vi.useRealTimers());
    expect((await knock(fetch, "rest", bearing(token))).status).toBe(503);
  });

  test("does not read a token from elsewhere than the header, nor two of them", async () => {
    const login = await issuer();
    const fetch = guarded(scheme());
    const token = await login.token();
    const answers: Knock[] = [
      await knock(fetch, "rest", { Authorization: token }),
      await knock(fetch, "rest", { Authorization: `Basic ${token}` }),
      await knock(fetch, "rest", { Authorization: `Bearer ${token}, Bearer ${token}` }),
      await knock(fetch, "rest", {}, { url: `https://agents.test/?access_token=${token}` }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 401, challenge: 'Bearer realm="a2a"' });
    }
    const lower = await knock(fetch, "rest", { Authorization: `bearer ${token}` });
    expect(lower.status).toBe(200);
  });
});

describe("the scopes of a token", () => {
  const scheme = () => guarded(bearerJwt({ ...jwks, scopes: ["a2a", "tasks"] }));

  test.each(BINDINGS)("over %s, that are missing are named with 403", async (binding) => {
    const login = await issuer();
    const answer = await knock(scheme(), binding, bearing(await login.token({ scope: "tasks other" })));
    expect(answer.status).toBe(403);
    expect(answer.challenge).toBe('Bearer realm="a2a", error="insufficient_scope", scope="a2a"');
    expect(answer.error?.message).toBe("Permission denied: this agent needs the scope a2a");
    expect(answer.error?.details[0]).toMatchObject({
      reason: "PERMISSION_DENIED",
      metadata: { scopes: "a2a" },
    });
  });

  test("are told to a caller without a token", async () => {
    await issuer();
    expect((await knock(scheme())).challenge).toBe('Bearer realm="a2a", scope="a2a tasks"');
  });

  test.each([
    ["scope, a text", { scope: "tasks a2a" }],
    ["scp, a text", { scp: "a2a tasks" }],
    ["scp, a list", { scp: ["a2a", "tasks"] }],
    ["both", { scope: "a2a", scp: ["tasks"] }],
  ])("are read from %s", async (_, claims) => {
    const login = await issuer();
    expect((await knock(scheme(), "rest", bearing(await login.token(claims)))).status).toBe(200);
  });

  test.each([
    ["are a part of a longer word", { scope: "a2a-x tasks" }],
    ["are in another case", { scope: "A2A tasks" }],
    ["are numbers", { scp: [1, 2] }],
    ["are an object", { scope: { a2a: true, tasks: true } }],
  ])("are missing when they %s", async (_, claims) => {
    const login = await issuer();
    expect((await knock(scheme(), "rest", bearing(await login.token(claims)))).status).toBe(403);
  });
});

test("the claims that the definition names are the agent's to see, and no others", async () => {
  const login = await issuer();
  const fetch = guarded(bearerJwt({ ...jwks, claims: ["org", "plan"] }));
  const token = await login.token({ org: "acme", email: "a@b.test" });
  expect((await knock(fetch, "rest", bearing(token))).caller?.claims).toEqual({ org: "acme" });
  const without = guarded(bearerJwt(jwks));
  expect((await knock(without, "rest", bearing(token))).caller).not.toHaveProperty("claims");
});

test("a key in the definition needs no network", async () => {
  const login = await issuer();
  const fetch = guarded(bearerJwt({ ...common, key: await login.jwks() }));
  expect((await knock(fetch, "rest", bearing(await login.token()))).caller?.principal).toBe("alice");
  const [key] = (await login.jwks()).keys;
  if (!key) throw new Error("no key");
  const single = guarded(bearerJwt({ ...common, key }));
  expect((await knock(single, "rest", bearing(await login.token()))).status).toBe(200);
  await login.addKey("second");
  await refused(single, await login.token({}, "second"));
  expect(login.asked).toEqual([]);
});

describe("discovery", () => {
  test.each([
    ["is of another issuer", { issuer: "https://evil.test" }],
    ["names no keys", { jwks_uri: undefined }],
    ["names keys over plain http", { jwks_uri: "http://login.test/jwks" }],
  ])("that %s lets nobody in: 503", async (_, discovery) => {
    const login = await issuer();
    login.discovery = discovery;
    const answer = await knock(guarded(oidc(common)), "rest", bearing(await login.token()));
    expect(answer).toMatchObject({ status: 503, caller: undefined });
    expect(login.asked).toEqual([`${ISSUER}/.well-known/openid-configuration`]);
  });

  test("happens once an hour, and follows keys that have moved", async () => {
    const login = await issuer();
    const fetch = guarded(oidc(common));
    const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
    onTestFinished(() => void vi.useRealTimers());
    const discoveries = () => login.asked.filter((url) => url.endsWith("openid-configuration")).length;
    const enter = async () => knock(fetch, "rest", bearing(await login.token()));
    for (const _ of [1, 2, 3]) expect((await enter()).status).toBe(200);
    expect(discoveries()).toBe(1);
    later(61 * 60 * 1000);
    login.discovery = { jwks_uri: `${ISSUER}/moved` };
    expect((await enter()).status).toBe(503);
    expect(discoveries()).toBe(2);
    expect(login.asked.at(-1)).toBe(`${ISSUER}/moved`);
  });
});

test("a token goes to the scheme of its issuer, and no other issuer is asked about it", async () => {
  const login = await issuer();
  const other = {
    ...common,
    issuer: "https://other.test",
    jwksUrl: "https://other.test/jwks",
    scheme: "other",
  };
  const fetch = guarded(anyOf(bearerJwt(other), apiKey(), bearerJwt(jwks)));
  const answer = await knock(fetch, "rest", bearing(await login.token()));
  expect(answer.caller).toMatchObject({ scheme: "bearer", principal: "alice" });
  expect(login.asked).toEqual([`${ISSUER}/jwks`]);
});

describe("options that would let in too much, or nobody, are refused where they are written", () => {
  test.each<[field: string, changes: object]>([
    ["issuer", { issuer: "" }],
    ["audience", { audience: [] }],
    ["audience", { audience: undefined }],
    ["algorithms", { algorithms: [] }],
    ["algorithms", { algorithms: undefined }],
    ["algorithms[0]", { algorithms: ["HS256"] }],
    ["algorithms[0]", { algorithms: ["none"] }],
    ["jwksUrl", { jwksUrl: "http://login.test/jwks" }],
    ["jwksUrl", { jwksUrl: undefined }],
    ["jwksUrl", { key: { kty: "EC" } }],
    ["key", { jwksUrl: undefined, key: { kty: "oct", k: "c2VjcmV0" } }],
    ["key", { jwksUrl: undefined, key: { kty: "EC", d: "private" } }],
    ["scopes[0]", { scopes: ["two words"] }],
    ["clockTolerance", { clockTolerance: 3_600 }],
    ["scheme", { scheme: "with space" }],
  ])("%s of %o", (field, changes) => {
    const options = { ...jwks, ...changes } as Parameters<typeof bearerJwt>[0];
    expect(() => bearerJwt(options)).toThrow(`bearerJwt: ${field}`);
  });

  test("an issuer over plain http, but for this machine", () => {
    expect(() => oidc({ ...common, issuer: "http://login.test" })).toThrow("oidc: issuer");
    expect(() => oidc({ ...common, issuer: "http://127.0.0.1:8080" })).not.toThrow();
  });

  test("a flow that is none of the three", () => {
    const implicit = { implicit: { authorizationUrl: `${ISSUER}/authorize`, scopes: {} } };
    expect(() => oauth2({ ...jwks, flow: implicit as never })).toThrow("oauth2: flow");
  });
});
