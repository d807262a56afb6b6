/** Verifying signed cards, both ways with the official SDK; every reason not to trust one (§8.4.3). */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  generateAgentCardSignature,
  AgentCard as SdkCard,
  verifyAgentCardSignature,
} from "@a2a-js/sdk";
import { type CardSignatureError, type VerifyOptions, verifyCard } from "durable-a2a/card";
import { base64url, FlattenedSign, type JWK, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { AgentCard } from "../../src/protocol/card.ts";
import { canonicalTexts } from "../../src/signature/canonical.ts";
import { signWith } from "../../src/signature/sign.ts";
import { CARD, makeKey, type TestKey } from "./card-keys.ts";

let es256: TestKey;
let rs256: TestKey;
let eddsa: TestKey;

beforeAll(async () => {
  [es256, rs256, eddsa] = await Promise.all([
    makeKey("es", "ES256"),
    makeKey("rs", "RS256"),
    makeKey("ed", "EdDSA"),
  ]);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** The card as it is served, signed with these keys. */
async function sign(card: AgentCard, ...keys: [TestKey, ...TestKey[]]): Promise<AgentCard> {
  const [first, ...more] = keys.map(({ kid, alg }) => ({ kid, alg, secret: kid }));
  if (!first) throw new Error("no key");
  const env = Object.fromEntries(keys.map(({ kid, jwk }) => [kid, jwk]));
  return signWith(first, ...more).sign(card, env);
}

/** The card with one signature over its canonical text, with any header. */
async function forge(header: object, key: CryptoKey | Uint8Array | JWK): Promise<AgentCard> {
  const [text = ""] = canonicalTexts(CARD);
  const { protected: encoded = "", signature } = await new FlattenedSign(new TextEncoder().encode(text))
    .setProtectedHeader(header as { alg: string })
    .sign(key);
  return { ...CARD, signatures: [{ protected: encoded, signature }] };
}

async function refused(card: unknown, options: VerifyOptions): Promise<string[]> {
  const error: CardSignatureError = await verifyCard(card, options).then(
    () => {
      throw new Error("the card was trusted");
    },
    (reason) => reason,
  );
  expect(error).toMatchObject({ name: "CardSignatureError" });
  expect(error.message).toMatch(/^The agent card is not to be trusted: /);
  return error.refusals.map(({ code }) => code);
}

describe("a signed card", () => {
  test.each(["es256", "rs256", "eddsa"] as const)("is trusted by its public key: %s", async (name) => {
    const key = { es256, rs256, eddsa }[name];
    const signed = await sign(CARD, key);
    const [first] = signed.signatures ?? [];
    expect(JSON.parse(new TextDecoder().decode(base64url.decode(first?.protected ?? "")))).toEqual({
      alg: key.alg,
      typ: "JOSE",
      kid: key.kid,
    });
    const { signatures, ...card } = await verifyCard(signed, { keys: [key.publicJwk] });
    expect(signatures).toEqual([first]);
    expect(canonicalTexts(card)).toEqual(canonicalTexts(CARD));
  });

  test("comes back with what its types promise, and without what means nothing (C-13)", async () => {
    const bare = { ...CARD, securityRequirements: [{ schemes: { key: {} } }] } as unknown as AgentCard;
    const card = await verifyCard(await sign(bare, es256), { keys: [es256.publicJwk] });
    expect(card.securityRequirements).toEqual([{ schemes: { key: { list: [] } } }]);
    expect(card.capabilities).toMatchObject({ streaming: false, extendedAgentCard: false });
    expect(card.capabilities.extensions?.[0]).not.toHaveProperty("required");
  });

  test("is trusted with an empty description and no skills, if it was signed so (C-13)", async () => {
    const signed = await sign({ ...CARD, description: "", skills: [] }, es256);
    expect(await verifyCard(signed, { keys: [es256.publicJwk] })).toMatchObject({
      description: "",
      skills: [],
    });
  });

  test("is trusted when defaults were added or left out on the way", async () => {
    const signed = { ...(await sign(CARD, es256)), iconUrl: null };
    const skills = [{ ...CARD.skills[0], inputModes: [] }];
    const capabilities = {
      ...CARD.capabilities,
      extensions: [{ ...CARD.capabilities.extensions?.[0], description: "" }],
    };
    await verifyCard({ ...signed, skills, capabilities }, { keys: [es256.publicJwk] });
  });

  test("gives back nothing that was not signed", async () => {
    const signed = await sign(CARD, es256);
    const [signature] = signed.signatures ?? [];
    const card = await verifyCard(
      { ...signed, "x-more": 1, signatures: [{ ...signature, header: { alg: "none", kid: "evil" } }] },
      { keys: [es256.publicJwk] },
    );
    expect(card).not.toHaveProperty("x-more");
    expect(card.signatures).toEqual([signature]);
  });

  test("in rotation is trusted by who knows only one of the keys", async () => {
    const { securityRequirements: _, ...plain } = CARD;
    const signed = await sign(plain, es256, eddsa);
    expect(signed.signatures).toHaveLength(2);
    for (const { kid, publicJwk } of [es256, eddsa]) {
      const { signatures } = await verifyCard(signed, { keys: [publicJwk] });
      const header = new TextDecoder().decode(base64url.decode(signatures?.[0]?.protected ?? ""));
      expect(JSON.parse(header).kid).toBe(kid);
    }
    expect(await refused(signed, { keys: [rs256.publicJwk] })).toEqual(["unknown_key", "unknown_key"]);
  });

  /** Every value in the card, changed. */
  function* tampered(
    value: unknown,
    put: (value: unknown) => unknown,
    at: string,
  ): Generator<[string, unknown]> {
    if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        const inside = (changed: unknown) =>
          put(Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed });
        yield* tampered(member, inside, `${at}.${key}`);
      }
      if (Array.isArray(value) && value.length > 0) yield [`${at} twice`, put([...value, ...value])];
    } else if (typeof value === "boolean") yield [at, put(!value)];
    else yield [at, put(typeof value === "number" ? -1 - value : `${value}x`)];
  }

  test("is refused when any member of it was changed (C-13)", async () => {
    const scoped = { ...CARD, securityRequirements: [{ schemes: { key: { list: ["scope"] } } }] };
    const { signatures, ...card } = await sign(scoped, eddsa);
    const changes = [...tampered(card, (value) => value, "card")];
    expect(changes.length).toBeGreaterThan(25);
    for (const [at, changed] of changes) {
      const codes = await refused({ ...(changed as object), signatures }, { keys: [eddsa.publicJwk] });
      expect([at, ...codes]).toEqual([at, "mismatch"]);
    }
  });

  test.each<[what: string, change: object]>([
    [
      "a URL is another",
      { supportedInterfaces: [{ ...CARD.supportedInterfaces[0], url: "https://evil.example" }] },
    ],
    ["a tenant was added", { supportedInterfaces: [{ ...CARD.supportedInterfaces[0], tenant: "t" }] }],
    ["a requirement was taken away", { securityRequirements: [] }],
    ["a requirement is another", { securityRequirements: [{ schemes: {} }] }],
    ["a member that was not set is set to its default", { documentationUrl: "" }],
    ["a text has the same looks", { name: "Gru\u0308ße 😀" }],
    ["a member was added", { provider: { url: "https://evil.example", organization: "Evil" } }],
  ])("by the reading of §8.4.1 alone is refused when %s", async (_what, change) => {
    const { signatures = [], ...card } = await sign(CARD, es256);
    const only = { ...card, ...change, signatures: signatures.slice(0, 1) };
    expect(await refused(only, { keys: [es256.publicJwk] })).toEqual(["mismatch"]);
  });
});

describe("a card is refused", () => {
  const keys = () => [es256.publicJwk, rs256.publicJwk, eddsa.publicJwk];

  test.each<[what: string, signatures: unknown, codes: string[]]>([
    ["without signatures", undefined, ["unsigned"]],
    ["with an empty list of them", [], ["unsigned"]],
    ["with a signature in no list", { protected: "e30", signature: "" }, ["unsigned"]],
    ["with nothing for a signature", [null, {}, "x", { protected: "e30" }], Array(4).fill("malformed")],
    ["with a header that is no JSON", [{ protected: "!!", signature: "" }], ["malformed"]],
    ["with an empty header", [{ protected: "e30", signature: "" }], ["malformed"]],
    ["with too many signatures", Array(21).fill({ protected: "e30", signature: "" }), ["malformed"]],
  ])("%s", async (_what, signatures, codes) => {
    expect(await refused({ ...CARD, signatures }, { keys: keys() })).toEqual(codes);
  });

  test("when it is no card", async () => {
    for (const card of [null, "card", 1, [], {}]) {
      expect(await refused(card, { keys: keys() })).toEqual(["unsigned"]);
    }
    const { signatures } = await sign(CARD, es256);
    expect(await refused({ ...CARD, name: 1, signatures }, { keys: keys() })).toEqual(["malformed"]);
  });

  test("when its signature has no algorithm: none (C-16)", async () => {
    const [text = ""] = canonicalTexts(CARD);
    const header = base64url.encode(JSON.stringify({ alg: "none", kid: "es" }));
    const unsecured = new UnsecuredJWT(JSON.parse(text)).encode().split(".");
    for (const signature of ["", unsecured[2] ?? ""]) {
      const card = { ...CARD, signatures: [{ protected: header, signature }] };
      expect(await refused(card, { keys: keys() })).toEqual(["algorithm"]);
    }
    for (const alg of ["None", "NONE", "nOnE"]) {
      const encoded = base64url.encode(JSON.stringify({ alg, kid: "es" }));
      const card = { ...CARD, signatures: [{ protected: encoded, signature: "" }] };
      expect(await refused(card, { keys: keys() })).toEqual(["algorithm"]);
    }
  });

  test("when its algorithm is one with a shared secret: the public key is no secret (C-16)", async () => {
    const secret = new TextEncoder().encode(JSON.stringify(rs256.publicJwk));
    const card = await forge({ alg: "HS256", kid: "rs" }, secret);
    expect(await refused(card, { keys: keys() })).toEqual(["algorithm"]);
  });

  test("when its algorithm is not among those asked for (C-16)", async () => {
    const signed = await sign(CARD, rs256);
    const codes = await refused(signed, { keys: keys(), algorithms: ["ES256", "EdDSA"] });
    expect(codes).toEqual(["algorithm", "algorithm"]);
    await verifyCard(signed, { keys: keys(), algorithms: ["RS256"] });
  });

  test("when its algorithm is only in the unprotected header (C-16)", async () => {
    const { signatures = [] } = await sign(CARD, es256);
    const encoded = base64url.encode(JSON.stringify({ kid: "es" }));
    const card = {
      ...CARD,
      signatures: [{ ...signatures[0], protected: encoded, header: { alg: "ES256" } }],
    };
    expect(await refused(card, { keys: keys() })).toEqual(["malformed"]);
  });

  test("when the key it names is one for another algorithm (C-16)", async () => {
    const card = await forge({ alg: "ES256", kid: "rs" }, es256.privateKey);
    expect(await refused(card, { keys: keys() })).toEqual(["unknown_key"]);
  });

  test("when it names no key (C-16)", async () => {
    const card = await forge({ alg: "ES256" }, es256.privateKey);
    expect(await refused(card, { keys: keys() })).toEqual(["malformed"]);
  });

  test("when another key signed it under the name of a trusted one", async () => {
    const forger = await makeKey("es", "ES256");
    expect(await refused(await sign(CARD, forger), { keys: keys() })).toEqual(["mismatch", "mismatch"]);
  });

  test("when the key is in its own header (C-16)", async () => {
    const forger = await makeKey("es", "ES256");
    const card = await forge({ alg: "ES256", kid: "es", jwk: forger.publicJwk }, forger.privateKey);
    expect(await refused(card, { keys: keys() })).toEqual(["mismatch"]);
  });

  test("when its header has what must be understood and is not", async () => {
    const [text = ""] = canonicalTexts(CARD);
    const { protected: encoded = "", signature } = await new FlattenedSign(
      new TextEncoder().encode(text),
    )
      .setProtectedHeader({ alg: "ES256", kid: "es", crit: ["x"], x: 1 })
      .sign(es256.privateKey, { crit: { x: true } });
    const card = { ...CARD, signatures: [{ protected: encoded, signature }] };
    expect(await refused(card, { keys: keys() })).toEqual(["mismatch"]);
  });

  test("when two trusted keys have the name it gives: neither is guessed", async () => {
    const twin = await makeKey("es", "ES256");
    const codes = await refused(await sign(CARD, es256), { keys: [es256.publicJwk, twin.publicJwk] });
    expect(codes).toEqual(["unknown_key", "unknown_key"]);
  });

  test("with a reason for each signature that shows what it names, cut short", async () => {
    const kid = `"\n${"k".repeat(1000)}`;
    const card = await forge({ alg: "ES256", kid }, es256.privateKey);
    const error = await verifyCard(card, { keys: keys() }).catch((reason) => reason);
    expect(error.message).toMatch(/: "\\"\\nk+…": no key "\\"\\nk+…" for ES256 is trusted$/);
    expect(error.message.length).toBeLessThan(400);
  });

  test.each<[what: string, keys: () => unknown, message: RegExp]>([
    [
      "private",
      () => [{ ...JSON.parse(es256.jwk), kid: "es" }],
      /the key "es" .* no public JWK for ES256/,
    ],
    ["nothing", () => [null], /must be a list of JWKs/],
    ["a set in no list", () => ({ keys: [es256.publicJwk] }), /must be a list of JWKs/],
    ["cut off", () => [{ ...es256.publicJwk, x: "AAAA" }], /the key "es" .* no public JWK for ES256/],
    [
      "without coordinates",
      () => [{ kty: "EC", crv: "P-256", kid: "es" }],
      /the key "es" .* no public/,
    ],
  ])("with a trusted key that is %s, as a mistake of the caller", async (_what, given, message) => {
    const signed = await sign(CARD, rs256, es256);
    const options = { keys: given() } as VerifyOptions;
    const error = await verifyCard(signed, options).catch((reason) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(JSON.parse(es256.jwk).d);
  });

  test("with no way to find a key, or algorithms that are none, as a mistake of the caller", async () => {
    const signed = await sign(CARD, es256);
    const mistakes: [options: object, message: RegExp][] = [
      [{}, /name the `keys` or the `keySets`/],
      [{ keys: [], keySets: [] }, /name the `keys` or the `keySets`/],
      [{ keys: keys(), algorithms: [] }, /algorithms must be some of/],
      [{ keys: keys(), algorithms: ["ES256", "none"] }, /algorithms must be some of/],
      [{ keys: keys(), algorithms: ["HS256"] }, /algorithms must be some of/],
      [{ keySets: ["http://keys.example"] }, /no https URL/],
      [{ keySets: ["keys.example"] }, /no https URL/],
      [{ keySets: ["https://user:pass@keys.example"] }, /no https URL/],
    ];
    for (const [options, message] of mistakes) {
      const error = await verifyCard(signed, options as VerifyOptions).catch((reason) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toMatch(message);
    }
  });
});

describe("a key set that a signature names", () => {
  let server: Server;
  let origin: string;
  let requests: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(request.url ?? "");
      if (request.url === "/moved.json") response.writeHead(302, { Location: "/keys.json" }).end();
      else if (request.url === "/broken.json") response.end("{");
      else if (request.url?.startsWith("/keys.json")) {
        response.end(JSON.stringify({ keys: [es256.publicJwk, eddsa.publicJwk] }));
      } else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.close();
  });

  afterEach(() => {
    requests = [];
  });

  const withJku = (jku: string, key = es256) =>
    forge({ alg: key.alg, kid: key.kid, jku }, key.privateKey);

  test.each(["the origin", "the set itself"])("is fetched when %s is allowed", async (what) => {
    const jku = `${origin}/keys.json`;
    await verifyCard(await withJku(jku), { keySets: [what === "the origin" ? origin : jku] });
    expect(requests).toEqual(["/keys.json"]);
  });

  test("is fetched once for all signatures, and not at all when the key is known", async () => {
    const jku = `${origin}/keys.json`;
    const { signatures: [one] = [] } = await withJku(jku, rs256);
    const { signatures: [two] = [] } = await withJku(jku);
    const card = { ...CARD, signatures: [one, two] };
    await verifyCard(card, { keySets: [origin] });
    expect(requests).toEqual(["/keys.json"]);
    await verifyCard(card, { keySets: [origin], keys: [rs256.publicJwk] });
    expect(requests).toHaveLength(1);
  });

  test.each<[what: string, allow: (origin: string) => string, jku: (origin: string) => string]>([
    ["of another origin", () => "https://keys.example", (own) => `${own}/keys.json`],
    ["of another port", (own) => own.replace(/:\d+$/, ":1"), (own) => `${own}/keys.json`],
    [
      "with the name of an allowed one before it",
      () => "https://keys.example",
      () => "https://keys.example.evil.example/k",
    ],
    [
      "with an allowed one as the user",
      () => "https://keys.example",
      () => "https://keys.example@evil.example/k",
    ],
    ["beside the one that is allowed", (own) => `${own}/keys.json`, (own) => `${own}/other.json`],
    [
      "with a query beside the one that is allowed",
      (own) => `${own}/keys.json`,
      (own) => `${own}/keys.json?x`,
    ],
    ["over plain http", () => "https://keys.example", () => "http://keys.example/k"],
    ["that is a file", (own) => own, () => "file:///etc/keys.json"],
    ["that holds itself", (own) => own, () => "data:application/json,{}"],
    ["that is no URL", (own) => own, () => "/keys.json"],
  ])("%s is not fetched (C-16)", async (_what, allow, jku) => {
    const fetched = vi.spyOn(globalThis, "fetch");
    const card = await withJku(jku(origin));
    expect(await refused(card, { keySets: [allow(origin)] })).toEqual(["foreign_key_set"]);
    expect(fetched).not.toHaveBeenCalled();
  });

  test("is not fetched when none is allowed (C-16)", async () => {
    const card = await withJku(`${origin}/keys.json`);
    expect(await refused(card, { keys: [eddsa.publicJwk] })).toEqual(["foreign_key_set"]);
    expect(requests).toEqual([]);
  });

  test.each(["/moved.json", "/broken.json", "/none.json"])(
    "at %s leaves no key (C-16)",
    async (path) => {
      const card = await withJku(origin + path);
      expect(await refused(card, { keySets: [origin] })).toEqual(["key_set_unavailable"]);
      expect(requests).toEqual([path]);
    },
  );

  test("that does not answer leaves no key", async () => {
    const card = await withJku("http://127.0.0.1:1/keys.json");
    expect(await refused(card, { keySets: ["http://127.0.0.1:1"] })).toEqual(["key_set_unavailable"]);
  });

  test("that has not the key leaves none", async () => {
    const card = await withJku(`${origin}/keys.json`, rs256);
    expect(await refused(card, { keySets: [origin] })).toEqual(["unknown_key"]);
  });
});

describe("the official SDK", () => {
  const sdkSigned = async (key: TestKey, card: unknown = CARD) => {
    const header = { alg: key.alg, kid: key.kid, typ: "JOSE" };
    return generateAgentCardSignature(key.privateKey, header)(card as SdkCard);
  };
  const sdkVerify = (card: unknown, key: TestKey) =>
    verifyAgentCardSignature(async (kid) => {
      if (kid !== key.kid) throw new Error(`unknown kid ${kid}`);
      return key.publicJwk;
    })(card as SdkCard);

  const CARDS: Record<string, AgentCard> = {
    "with a scheme without scopes": CARD,
    "with empty REQUIRED members": { ...CARD, description: "", skills: [] },
    "with empty optional members": { ...CARD, documentationUrl: "", iconUrl: "" },
    "of the least members": {
      ...CARD,
      securitySchemes: {},
      securityRequirements: [],
      capabilities: {},
    },
    "with empty parameters": {
      ...CARD,
      capabilities: {
        extensions: [{ uri: "u", params: { a: [], b: null, c: { d: "" }, e: 0, f: [null, 1] } }],
      },
    },
  };

  test.each(Object.keys(CARDS))("trusts a card of ours %s (C-13)", async (what) => {
    vi.spyOn(console, "debug").mockImplementation(() => {});
    for (const key of [es256, rs256, eddsa]) {
      await sdkVerify(await sign(CARDS[what] ?? CARD, key), key);
    }
  });

  test.each(Object.keys(CARDS))("signs a card %s that we trust (C-13)", async (what) => {
    const given = CARDS[what] ?? CARD;
    for (const key of [es256, rs256, eddsa]) {
      const card = await verifyCard(await sdkSigned(key, given), { keys: [key.publicJwk] });
      expect(card.supportedInterfaces).toEqual(CARD.supportedInterfaces);
      expect(card.description).toBe(given.description);
    }
  });

  test("refuses a card of ours that was changed, as we refuse one of its own", async () => {
    vi.spyOn(console, "debug").mockImplementation(() => {});
    const changed = { ...(await sign(CARD, es256)), name: "Evil" };
    await expect(sdkVerify(changed, es256)).rejects.toThrow("No valid signatures");
    const theirs = { ...(await sdkSigned(es256)), name: "Evil" };
    expect(await refused(theirs, { keys: [es256.publicJwk] })).toEqual(["mismatch"]);
  });

  test("does not cover what is empty: we give back only what it covers", async () => {
    const added = {
      ...(await sdkSigned(es256)),
      securityRequirements: [{ schemes: {} }],
      documentationUrl: "",
    };
    const card = await verifyCard(added, { keys: [es256.publicJwk] });
    expect(card).not.toHaveProperty("securityRequirements");
    expect(card).not.toHaveProperty("documentationUrl");
    expect(card.securitySchemes).toEqual(CARD.securitySchemes);
  });

  test("reads a card so that who takes our first signature off can leave out what is empty, and no more", async () => {
    const { securityRequirements: _, ...card } = await sign(CARD, es256);
    const stripped = { ...card, signatures: card.signatures?.slice(1), documentationUrl: "" };
    const options = { keys: [es256.publicJwk] };
    const { signatures: __, ...whole } = await verifyCard(await sign(CARD, es256), options);
    const { securityRequirements: ___, ...rest } = whole;
    expect(await verifyCard(stripped, options)).toEqual({ ...rest, signatures: stripped.signatures });
    expect(await refused({ ...stripped, iconUrl: "https://evil.example" }, options)).toEqual([
      "mismatch",
    ]);
  });

  test("as a client hands a parsed card to verifyCard in its own JSON", async () => {
    const parsed = SdkCard.fromJSON(await sign(CARD, es256));
    const card = await verifyCard(SdkCard.toJSON(parsed), { keys: [es256.publicJwk] });
    expect(card.securitySchemes).toEqual(CARD.securitySchemes);
  });
});
