/** Keys, passwords and certificates: who is let in, and what the card says of it (§4.5; CASES.md, C-11, C-12). */
import {
  type AuthScheme,
  allOf,
  anyOf,
  apiKey,
  basic,
  bearerJwt,
  mtls,
  oauth2,
  oidc,
  open,
} from "durable-a2a";
import { describe, expect, test } from "vitest";
import { BINDINGS } from "./bindings.ts";
import { AUDIENCE, ISSUER, issuer } from "./issuer.ts";
import { guarded, knock } from "./knock.ts";

/** SHA-256 of alice-key and bob-key. */
const ALICE = "72ee9d4355ccb9d3a4c9dbf37382e38e75c1b1a225b5bd1f729ee91bbda30c20";
const BOB = "9b94dc1a51a38769f135edf04033ad7f2f487b6c25929be7a861cfc1ab10cf98";
const API_KEYS = JSON.stringify({ alice: ALICE, bob: { hash: [BOB], scopes: ["write"] } });

/** Of "open sesame" and "pässwörd:2", 1,000 iterations each. */
const BASIC_USERS = JSON.stringify({
  alice: "pbkdf2$1000$YWxpY2VzYWx0MQ==$ZHNCz5WXycrHxm1SjBaPGY6u7hPZxY2q64LhP7s56Qk=",
  bob: {
    hash: ["pbkdf2$1000$Ym9ic2FsdDEyMw==$Iwk3mcphyqUP1Us4WtGk3qML9woIx59PU+NYdKT/Sig="],
    scopes: ["write"],
  },
});

const tokens = {
  issuer: ISSUER,
  audience: AUDIENCE,
  algorithms: ["ES256" as const],
  jwksUrl: `${ISSUER}/jwks`,
};

describe("an API key", () => {
  const header = guarded(apiKey({ name: "X-Partner-Key" }), { API_KEYS });
  const query = guarded(apiKey({ location: "query", name: "key" }), { API_KEYS });
  const cookie = guarded(apiKey({ location: "cookie", name: "session" }), { API_KEYS });

  test.each(BINDINGS)(
    "over %s, is read from the header, the parameter or the cookie of its name",
    async (binding) => {
      const url = "https://agents.test/?key=alice-key";
      const answers = [
        await knock(header, binding, { "X-Partner-Key": "alice-key" }),
        await knock(query, binding, {}, { url }),
        await knock(cookie, binding, { Cookie: "a=b; session=alice-key; c=d" }),
      ];
      for (const { caller } of answers) {
        expect(caller).toMatchObject({ scheme: "apiKey", principal: "alice", scopes: [] });
        expect(caller).not.toHaveProperty("issuer");
      }
    },
  );

  test.each(BINDINGS)(
    "over %s, is read from nowhere else, and the challenge says where",
    async (binding) => {
      const url = "https://agents.test/?session=alice-key&X-Partner-Key=alice-key&Key=alice-key";
      const everywhere = {
        "X-API-Key": "alice-key",
        Key: "alice-key",
        Cookie: "key=alice-key; Session=alice-key; xsession=alice-key",
      };
      const answers = [
        [
          await knock(header, binding, everywhere, { url }),
          'ApiKey realm="a2a", header="X-Partner-Key"',
        ],
        [await knock(query, binding, everywhere, { url }), 'ApiKey realm="a2a", query="key"'],
        [await knock(cookie, binding, everywhere, { url }), 'ApiKey realm="a2a", cookie="session"'],
      ] as const;
      for (const [answer, challenge] of answers)
        expect(answer).toMatchObject({ status: 401, challenge });
    },
  );

  test("has the scopes that stand beside it", async () => {
    const { caller } = await knock(header, "rest", { "X-Partner-Key": "bob-key" });
    expect(caller).toMatchObject({ principal: "bob", scopes: ["write"] });
  });

  test("in a cookie does not count in a request that a page of another origin makes", async () => {
    const headers = { Cookie: "session=alice-key" };
    for (const Origin of [
      "https://evil.test",
      "null",
      "https://agents.test.evil.test",
      "http://agents.test",
    ]) {
      expect((await knock(cookie, "rest", { ...headers, Origin })).status).toBe(401);
    }
    expect((await knock(cookie, "rest", { ...headers, Origin: "https://agents.test" })).status).toBe(
      200,
    );
  });

  test.each([
    ["a name that is no header", { name: "X Key" }],
    ["an empty name", { name: "" }],
    ["a place that is none", { location: "body" as never }],
  ])("with %s is refused where it is written", (_, options) => {
    expect(() => apiKey(options)).toThrow(/^apiKey: (name|location): /);
  });

  test.each([
    ["an empty name", { "": ALICE }],
    ["scopes of two words", { alice: { hash: ALICE, scopes: ["a b"] } }],
    ["an unknown member", { alice: { hash: ALICE, scope: "write" } }],
  ])("in a secret with %s lets nobody in", async (_, keys) => {
    const fetch = guarded(apiKey(), { API_KEYS: JSON.stringify(keys) });
    expect((await knock(fetch, "rest", { "X-API-Key": "alice-key" })).status).toBe(500);
  });
});

describe("a user name with a password", () => {
  const fetch = guarded(basic(), { BASIC_USERS });
  const basicOf = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    return { Authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
  };

  test.each(BINDINGS)("over %s, lets the user in", async (binding) => {
    expect((await knock(fetch, binding, basicOf("alice:open sesame"))).caller).toMatchObject({
      scheme: "basic",
      principal: "alice",
      scopes: [],
    });
    expect((await knock(fetch, binding, basicOf("bob:pässwörd:2"))).caller).toMatchObject({
      principal: "bob",
      scopes: ["write"],
    });
  });

  test.each<[title: string, headers: Record<string, string>]>([
    ["nothing", {}],
    ["a wrong password", basicOf("alice:open sesame!")],
    ["an empty password", basicOf("alice:")],
    ["another user's password", basicOf("alice:pässwörd:2")],
    ["an unknown user", basicOf("carol:open sesame")],
    ["no user", basicOf(":open sesame")],
    ["no colon", basicOf("alice")],
    [
      "the stored hash",
      basicOf("alice:pbkdf2$1000$YWxpY2VzYWx0MQ==$ZHNCz5WXycrHxm1SjBaPGY6u7hPZxY2q64LhP7s56Qk="),
    ],
    ["no base64", { Authorization: "Basic alice:open" }],
    ["bytes that are no text", { Authorization: `Basic ${btoa("alice:\xff\xfe")}` }],
    [
      "another scheme",
      { Authorization: basicOf("alice:open sesame").Authorization.replace("Basic", "Bearer") },
    ],
  ])("is refused with %s", async (_, headers) => {
    for (const binding of BINDINGS) {
      const answer = await knock(fetch, binding, headers);
      expect(answer).toMatchObject({ status: 401, challenge: 'Basic realm="a2a", charset="UTF-8"' });
    }
  });

  test.each([
    ["is missing", undefined],
    ["has a bare password", JSON.stringify({ alice: "open sesame" })],
    ["has more iterations than the platform takes", BASIC_USERS.replaceAll("$1000$", "$100001$")],
    ["has no iterations", BASIC_USERS.replaceAll("$1000$", "$0$")],
    ["has another digest", BASIC_USERS.replaceAll("pbkdf2", "sha256")],
  ])("lets nobody in when the secret %s, and is not shown", async (_, secret) => {
    const answer = await knock(
      guarded(basic(), { BASIC_USERS: secret }),
      "rest",
      basicOf("alice:open sesame"),
    );
    expect(answer).toMatchObject({ status: 500, caller: undefined });
    expect(answer.text).not.toContain("BASIC_USERS");
  });
});

describe("a client certificate", () => {
  const print = "ab".repeat(32);
  const tls = {
    certPresented: "1",
    certVerified: "SUCCESS",
    certRevoked: "0",
    certFingerprintSHA256: print,
    certSubjectDNRFC2253: "CN=alice,O=Acme",
    certIssuerDNRFC2253: "CN=Acme CA",
  };
  const by = (scheme: AuthScheme, changes: object = {}) =>
    knock(guarded(scheme), "jsonrpc", {}, { cf: { tlsClientAuth: { ...tls, ...changes } } });

  test("that Cloudflare verified lets in under its fingerprint", async () => {
    const { caller } = await by(mtls());
    expect(caller).toMatchObject({ scheme: "mtls", principal: print });
    expect(caller).not.toHaveProperty("issuer");
  });

  test("lets in under its subject, of its issuer", async () => {
    const { caller } = await by(mtls({ by: "subject" }));
    expect(caller).toMatchObject({ issuer: "CN=Acme CA", principal: "CN=alice,O=Acme" });
  });

  test("lets in under the name of the client that it is of, with its scopes", async () => {
    const upper = `${"AB:".repeat(31)}AB`;
    const clients = { alice: { hash: upper, scopes: ["write"] } };
    expect((await by(mtls({ clients }))).caller).toMatchObject({
      principal: "alice",
      scopes: ["write"],
    });
    const subjects = { alice: ["CN=old", "CN=alice,O=Acme"] };
    const { caller } = await by(mtls({ by: "subject", clients: subjects }));
    expect(caller).toMatchObject({ issuer: "CN=Acme CA", principal: "alice" });
    expect((await by(mtls({ clients: { bob: "cd".repeat(32) } }))).status).toBe(401);
  });

  test.each([
    ["is not there", { certPresented: "0", certVerified: "NONE" }],
    ["is of an unknown authority", { certVerified: "FAILED:unable to get local issuer certificate" }],
    ["is self-signed", { certVerified: "FAILED:self signed certificate" }],
    ["has expired", { certVerified: "FAILED:certificate has expired" }],
    ["is revoked", { certRevoked: "1" }],
    ["has no fingerprint", { certFingerprintSHA256: "" }],
    ["says nothing of its verification", { certVerified: undefined }],
  ])("that %s lets nobody in", async (_, changes) => {
    expect(await by(mtls(), changes)).toMatchObject({
      status: 401,
      challenge: 'MutualTLS realm="a2a"',
    });
  });

  test("is not believed from headers", async () => {
    const headers = {
      "Cf-Client-Cert-Sha256": print,
      "X-Client-Cert": print,
      "Cf-Cert-Verified": "true",
    };
    expect((await knock(guarded(mtls()), "rest", headers)).status).toBe(401);
  });

  test("is seen behind a PUBLIC_URL with a path", async () => {
    const fetch = guarded(mtls(), { PUBLIC_URL: "https://agents.test/a2a" });
    const response = await fetch("https://agents.test/a2a/extendedAgentCard", {
      cf: { tlsClientAuth: tls } as unknown as RequestInitCfProperties,
    });
    expect(response.status).toBe(200);
  });

  test.each([
    ["clients", { clients: { alice: 1 as never } }],
    ["clients.alice", { clients: { alice: "not a fingerprint" } }],
    ["by", { by: "serial" as never }],
  ])("with a mistake in %s is refused where it is written", (field, options) => {
    expect(() => mtls(options)).toThrow(`mtls: ${field}: `);
  });
});

describe("any of several schemes", () => {
  const either = () => guarded(anyOf(apiKey(), bearerJwt(tokens)), { API_KEYS });

  test.each(BINDINGS)("over %s, lets in by one or the other, as other callers", async (binding) => {
    const login = await issuer();
    const fetch = either();
    const Authorization = `Bearer ${await login.token()}`;
    const byKey = await knock(fetch, binding, { "X-API-Key": "alice-key" });
    const byToken = await knock(fetch, binding, { Authorization });
    expect(byKey.caller).toMatchObject({ scheme: "apiKey", principal: "alice" });
    expect(byToken.caller).toMatchObject({ scheme: "bearer", issuer: ISSUER, principal: "alice" });
    const both = await knock(fetch, binding, { Authorization, "X-API-Key": "alice-key" });
    expect(both.caller?.scheme).toBe("apiKey");
    const wrongKey = await knock(fetch, binding, { Authorization, "X-API-Key": "carol-key" });
    expect(wrongKey.caller?.scheme).toBe("bearer");
  });

  test.each(BINDINGS)("over %s, are all named to a caller with none", async (binding) => {
    const answer = await knock(either(), binding);
    expect(answer.status).toBe(401);
    expect(answer.challenge).toBe('ApiKey realm="a2a", header="X-API-Key", Bearer realm="a2a"');
    expect(answer.error?.details[0]).toMatchObject({ metadata: { scheme: "apiKey, bearer" } });
  });

  test("one that cannot be checked does not keep out who has another", async () => {
    const login = await issuer();
    login.fault = () => Promise.reject(new TypeError("connection refused"));
    const fetch = guarded(anyOf(bearerJwt(tokens), apiKey()), { API_KEYS });
    const Authorization = `Bearer ${await login.token()}`;
    expect((await knock(fetch, "rest", { Authorization })).status).toBe(503);
    expect((await knock(fetch, "rest", { Authorization, "X-API-Key": "alice-key" })).status).toBe(200);
  });
});

describe("all of several schemes", () => {
  const both = () => guarded(allOf(apiKey(), bearerJwt(tokens)), { API_KEYS });

  test.each(BINDINGS)("over %s, let in together, and not one alone", async (binding) => {
    const login = await issuer();
    const fetch = both();
    const Authorization = `Bearer ${await login.token({ scope: "read" })}`;
    const { caller } = await knock(fetch, binding, { Authorization, "X-API-Key": "bob-key" });
    expect(caller).toMatchObject({
      scheme: "apiKey+bearer",
      issuer: JSON.stringify(["", ISSUER]),
      principal: JSON.stringify(["bob", "alice"]),
      scopes: ["write", "read"],
    });
    for (const headers of [{ Authorization }, { "X-API-Key": "bob-key" }, {}] as Record<
      string,
      string
    >[]) {
      expect((await knock(fetch, binding, headers)).status).toBe(401);
    }
  });
});

describe("what is declared in the card is what is checked (C-11, C-12)", () => {
  const cardOf = async (auth: AuthScheme) =>
    (await guarded(auth)("https://agents.test/.well-known/agent-card.json")).json();
  const alone = (name: string, scheme: object, scopes: string[] = []) => ({
    securitySchemes: { [name]: scheme },
    securityRequirements: [{ schemes: { [name]: { list: scopes } } }],
  });
  const codeFlow = {
    authorizationCode: {
      authorizationUrl: `${ISSUER}/authorize`,
      tokenUrl: `${ISSUER}/token`,
      scopes: { a2a: "Call the agent" },
    },
  };
  const deviceFlow = {
    deviceCode: {
      deviceAuthorizationUrl: `${ISSUER}/device`,
      tokenUrl: `${ISSUER}/token`,
      scopes: {},
    },
  };
  const { jwksUrl: _, ...discovered } = tokens;

  test.each<[title: string, auth: AuthScheme, card: object]>([
    [
      "a key in the query",
      apiKey({ location: "query", name: "k", description: "Ask us" }),
      alone("apiKey", {
        apiKeySecurityScheme: { location: "query", name: "k", description: "Ask us" },
      }),
    ],
    [
      "a key in a cookie, under a name of its own",
      apiKey({ location: "cookie", scheme: "session" }),
      alone("session", { apiKeySecurityScheme: { location: "cookie", name: "api_key" } }),
    ],
    [
      "tokens with scopes",
      bearerJwt({ ...tokens, scopes: ["a2a"] }),
      alone("bearer", { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } }, ["a2a"]),
    ],
    ["passwords", basic(), alone("basic", { httpAuthSecurityScheme: { scheme: "Basic" } })],
    ["certificates", mtls(), alone("mtls", { mtlsSecurityScheme: {} })],
    [
      "an issuer that is discovered",
      oidc(discovered),
      alone("oidc", {
        openIdConnectSecurityScheme: {
          openIdConnectUrl: `${ISSUER}/.well-known/openid-configuration`,
        },
      }),
    ],
    [
      "a code with PKCE",
      oauth2({ ...tokens, flow: codeFlow, metadataUrl: `${ISSUER}/meta` }),
      alone("oauth2", {
        oauth2SecurityScheme: {
          flows: { authorizationCode: { ...codeFlow.authorizationCode, pkceRequired: true } },
          oauth2MetadataUrl: `${ISSUER}/meta`,
        },
      }),
    ],
    [
      "a code on a device",
      oauth2({ ...tokens, flow: deviceFlow }),
      alone("oauth2", { oauth2SecurityScheme: { flows: deviceFlow } }),
    ],
    [
      "any of two, or both of two others",
      anyOf(apiKey(), allOf(mtls(), anyOf(basic(), bearerJwt(tokens)))),
      {
        securityRequirements: [
          { schemes: { apiKey: { list: [] } } },
          { schemes: { mtls: { list: [] }, basic: { list: [] } } },
          { schemes: { mtls: { list: [] }, bearer: { list: [] } } },
        ],
      },
    ],
  ])("%s", async (_title, auth, card) => {
    expect(await cardOf(auth)).toMatchObject(card);
  });

  test.each<[title: string, make: () => AuthScheme]>([
    ["anyone beside someone", () => anyOf(open(), apiKey())],
    ["anyone together with someone", () => allOf(apiKey(), open())],
    ["two under one name", () => anyOf(apiKey(), apiKey({ name: "X-Other" }))],
  ])("%s cannot be combined", (_title, make) => {
    expect(make).toThrow(/^(anyOf|allOf): /);
  });
});
