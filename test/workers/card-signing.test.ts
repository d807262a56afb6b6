/** Signed cards as they are served (§8.4): for the URL that clients use, and never unsigned when signing is declared. */
import { AgentCard as SdkCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { ClientFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { type Agent, type AgentCard, type CardKey, defineAgent, signWith } from "durable-a2a";
import { verifyCard } from "durable-a2a/card";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { CARD, makeKey, type TestKey } from "../unit/card-keys.ts";
import { keyed, plain } from "./agents.ts";
import { ORIGIN } from "./client.ts";
import { deploy, type Fetch } from "./deployment.ts";

const PATH = "/.well-known/agent-card.json";
const ALICE = { "X-API-Key": "alice-key" };
const KEY: CardKey = { kid: "es", alg: "ES256", secret: "CARD_KEY" };

let es256: TestKey;
let eddsa: TestKey;
let rs256: TestKey;

beforeAll(async () => {
  [es256, eddsa, rs256] = await Promise.all([
    makeKey("es", "ES256"),
    makeKey("ed", "EdDSA"),
    makeKey("rs", "RS256"),
  ]);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Of any of the keys; each agent has a memory of its own. */
function signing(agent: Agent, ...keys: CardKey[]): Agent {
  const [first = KEY, ...more] = keys;
  return defineAgent({ ...agent.definition, signing: signWith(first, ...more) });
}

async function cardAt(fetch: Fetch, url = ORIGIN + PATH, headers = {}): Promise<AgentCard> {
  const response = await fetch(url, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as AgentCard;
}

const urlsOf = ({ supportedInterfaces }: AgentCard) => supportedInterfaces.map(({ url }) => url);

describe("a signed card", () => {
  test("says what the unsigned one does, and holds with the key alone", async () => {
    const unsigned = await cardAt(deploy([plain]));
    const card = await cardAt(deploy([signing(plain)], { CARD_KEY: es256.jwk }));
    expect(card).toEqual({ ...unsigned, signatures: [expect.anything()] });
    expect(await verifyCard(card, { keys: [es256.publicJwk] })).toEqual(card);
  });

  test.each(["jwk", "pem", "pem on one line"])("is made with a key as %s", async (form) => {
    for (const key of [es256, eddsa, rs256]) {
      const agent = signing(plain, { kid: key.kid, alg: key.alg, secret: "CARD_KEY" });
      const pem = form === "pem" ? key.pem : key.pem.trim().replaceAll("\n", "\\n");
      const fetch = deploy([agent], { CARD_KEY: form === "jwk" ? key.jwk : pem });
      await verifyCard(await cardAt(fetch), { keys: [key.publicJwk], algorithms: [key.alg] });
    }
  });

  test("is one for the URL that clients use, not for that of the request (C-15)", async () => {
    const vars = { CARD_KEY: es256.jwk, PUBLIC_URL: "https://public.example/a2a" };
    const fetch = deploy([signing(plain), keyed], vars);
    for (const url of [
      "http://10.0.0.7:3000",
      "https://other.example/a2a",
      "https://public.example/a2a",
    ]) {
      const card = await verifyCard(await cardAt(fetch, url + PATH), { keys: [es256.publicJwk] });
      expect(urlsOf(card)).toEqual(["https://public.example/a2a", "https://public.example/a2a"]);
    }
    const below = await cardAt(fetch, `http://10.0.0.7:3000/agents/plain${PATH}`);
    const [url] = urlsOf(await verifyCard(below, { keys: [es256.publicJwk] }));
    expect(url).toBe("https://public.example/a2a/agents/plain");
  });

  test("of a tenant is signed with the tenant in it (C-15)", async () => {
    const agent = defineAgent({ ...signing(plain).definition, tenants: ["acme", "globex"] });
    const card = await cardAt(deploy([agent], { CARD_KEY: es256.jwk }), `${ORIGIN}/acme${PATH}`);
    const { supportedInterfaces } = await verifyCard(card, { keys: [es256.publicJwk] });
    expect(supportedInterfaces.map(({ tenant }) => tenant)).toEqual(["acme", "acme"]);
    const moved = JSON.stringify(card).replaceAll("acme", "globex");
    await expect(verifyCard(JSON.parse(moved), { keys: [es256.publicJwk] })).rejects.toThrow();
  });

  test("holds no more when a proxy rewrites its URLs (C-15)", async () => {
    const card = await cardAt(deploy([signing(plain)], { CARD_KEY: es256.jwk }));
    const text = JSON.stringify(card).replaceAll(ORIGIN, "https://proxy.example");
    await expect(verifyCard(JSON.parse(text), { keys: [es256.publicJwk] })).rejects.toThrow(
      "it is not a signature of this card",
    );
  });

  test("of an agent with keys is trusted by the official SDK, and the extended one too (C-13)", async () => {
    const fetch = deploy([signing(keyed)], { CARD_KEY: es256.jwk });
    const verify = verifyAgentCardSignature(async () => es256.publicJwk);
    vi.spyOn(console, "debug").mockImplementation(() => {});
    const extended = await cardAt(fetch, `${ORIGIN}/extendedAgentCard`, ALICE);
    for (const card of [await cardAt(fetch), extended]) {
      await verify(card as unknown as SdkCard);
      await verifyCard(card, { keys: [es256.publicJwk] });
    }
  });

  test("that is extended is signed for its caller, in both bindings", async () => {
    const fetch = deploy([signing(keyed)], { CARD_KEY: es256.jwk });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard", params: {} });
    const headers = { ...ALICE, "Content-Type": "application/json", "A2A-Version": "1.0" };
    const response = await fetch(ORIGIN, { method: "POST", headers, body });
    const { result } = (await response.json()) as { result: AgentCard };
    for (const card of [result, await cardAt(fetch, `${ORIGIN}/extendedAgentCard`, ALICE)]) {
      const { description } = await verifyCard(card, { keys: [es256.publicJwk] });
      expect(description).toBe("For alice");
    }
  });

  test("in rotation has a signature of each key, and names where the key is", async () => {
    const jku = "https://keys.example/card.json";
    const old: CardKey = { kid: "ed", alg: "EdDSA", secret: "OLD_CARD_KEY" };
    const vars = { CARD_KEY: es256.jwk, OLD_CARD_KEY: eddsa.pem };
    const card = await cardAt(deploy([signing(plain, { ...KEY, jku }, old)], vars));
    const headers = card.signatures?.map((signature) => JSON.parse(atob(signature.protected)));
    expect(headers).toEqual([
      { alg: "ES256", typ: "JOSE", kid: "es", jku },
      { alg: "EdDSA", typ: "JOSE", kid: "ed" },
    ]);
    for (const key of [es256, eddsa]) await verifyCard(card, { keys: [key.publicJwk] });
  });

  test("that does not hold does not take the place of the one an SDK client had (C-17)", async () => {
    const fetch = deploy([signing(keyed)], { CARD_KEY: es256.jwk });
    let forged = true;
    const fetchImpl = async (url: string, init?: RequestInit) => {
      const text = await (
        await fetch(url, { ...init, headers: { ...init?.headers, ...ALICE } })
      ).text();
      return new Response(forged ? text.replace("For alice", "For Eve") : text, {
        headers: { "Content-Type": "application/json" },
      });
    };
    const transports = [new RestTransportFactory({ fetchImpl: fetchImpl as typeof globalThis.fetch })];
    const before = SdkCard.fromJSON(await cardAt(fetch));
    const client = await new ClientFactory({ transports }).createFromAgentCard(before);
    const check = async (card: SdkCard) => {
      await verifyCard(SdkCard.toJSON(card), { keys: [es256.publicJwk] });
    };
    await expect(client.getAgentCard({}, check)).rejects.toThrow("not to be trusted");
    expect(client).toHaveProperty("agentCard.description", before.description);
    forged = false;
    expect(await client.getAgentCard({}, check)).toHaveProperty("description", "For alice");
  });
});

describe("the tag of a signed card", () => {
  const tagOf = async (fetch: Fetch) => (await fetch(ORIGIN + PATH)).headers.get("ETag") ?? "";

  test("is the same from every isolate, although their signatures differ", async () => {
    const isolate = () => deploy([signing(plain)], { CARD_KEY: es256.jwk });
    const isolates: [Fetch, Fetch] = [isolate(), isolate()];
    const cards = await Promise.all(isolates.map((fetch) => cardAt(fetch)));
    expect(cards[0]?.signatures).not.toEqual(cards[1]?.signatures);
    const [one = "", two = ""] = await Promise.all(isolates.map(tagOf));
    expect(one).toMatch(/^W\/"[0-9a-f]{32}"$/);
    expect(two).toBe(one);
    for (const tag of [one, one.slice(2), `"x", ${one}`]) {
      const response = await isolates[1](ORIGIN + PATH, { headers: { "If-None-Match": tag } });
      expect(response.status).toBe(304);
    }
  });

  test("and its body are the same from request to request", async () => {
    const fetch = deploy([signing(plain)], { CARD_KEY: es256.jwk });
    expect(await cardAt(fetch)).toEqual(await cardAt(fetch));
    expect(await tagOf(fetch)).toBe(await tagOf(fetch));
  });

  test("is another one for another card, another key, or none", async () => {
    const vars = { CARD_KEY: es256.jwk, OTHER: eddsa.jwk };
    const other: CardKey = { kid: "ed", alg: "EdDSA", secret: "OTHER" };
    const unsigned = deploy([plain]);
    const tags = await Promise.all([
      tagOf(unsigned),
      tagOf(deploy([signing(plain)], vars)),
      tagOf(deploy([signing(plain, other)], vars)),
      tagOf(deploy([signing(plain, KEY, other)], vars)),
      tagOf(deploy([signing(keyed)], vars)),
    ]);
    expect(new Set(tags.map((tag) => tag.replace("W/", ""))).size).toBe(tags.length);
  });
});

describe("the memory of signatures", () => {
  const card = (version: number) => ({ ...CARD, version: String(version) });

  test("keeps 100 cards, and forgets them for the next", async () => {
    const { sign } = signWith(KEY);
    const env = { CARD_KEY: es256.jwk };
    const first = [];
    for (let version = 0; version < 100; version += 1) first.push(await sign(card(version), env));
    for (const version of [0, 1, 99]) {
      expect(await sign(card(version), env)).toEqual(first[version]);
    }
    await sign(card(100), env);
    expect(await sign(card(0), env)).not.toEqual(first[0]);
  });

  test("is of one environment: another key signs anew", async () => {
    const { sign } = signWith(KEY);
    await sign(CARD, { CARD_KEY: es256.jwk });
    const other = await makeKey("es", "ES256");
    const card = await sign(CARD, { CARD_KEY: other.jwk });
    await verifyCard(card, { keys: [other.publicJwk] });
  });
});

describe("a key that cannot be used", () => {
  const secrets: [what: string, secret: () => unknown, problem: string][] = [
    ["is missing", () => undefined, "is missing"],
    ["is empty", () => " ", "is missing"],
    ["is no text", () => ({ kty: "EC" }), "is missing"],
    ["is broken JSON", () => es256.jwk.slice(0, -5), "is not JSON"],
    ["is no key", () => "{}", "is no JWK for ES256"],
    ["is a public JWK", () => JSON.stringify({ ...es256.publicJwk }), "is a public key"],
    ["is a shared secret", () => JSON.stringify({ kty: "oct", k: "c2VjcmV0" }), "is no JWK for ES256"],
    ["is for another algorithm", () => eddsa.jwk, "is no JWK for ES256"],
    [
      "says another algorithm",
      () => JSON.stringify({ ...JSON.parse(es256.jwk), alg: "ES384" }),
      "another `alg`",
    ],
    [
      "says another name",
      () => JSON.stringify({ ...JSON.parse(es256.jwk), kid: "x" }),
      "another `kid`",
    ],
    ["is a PEM for another algorithm", () => rs256.pem, "is no PEM in PKCS #8"],
    [
      "is a PEM of another kind",
      () => es256.pem.replaceAll("PRIVATE", "EC PRIVATE"),
      "is no PEM in PKCS #8",
    ],
    ["is any text", () => "hunter2", "is no PEM in PKCS #8"],
  ];

  test.each(secrets)(
    "because it %s lets no card out, and the log names the secret",
    async (_, secret, problem) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const CARD_KEY = secret();
      const fetch = deploy([signing(keyed)], { CARD_KEY });
      for (const path of [PATH, "/extendedAgentCard"]) {
        const response = await fetch(ORIGIN + path, { headers: ALICE });
        expect(response.status).toBe(500);
        const text = await response.text();
        expect(text).not.toContain("supportedInterfaces");
        expect(text).not.toContain("CARD_KEY");
      }
      expect(log).toHaveBeenCalledTimes(2);
      const message = String(log.mock.calls[0]?.[1]);
      expect(message).toContain('the key "es": the secret CARD_KEY ');
      expect(message).toContain(problem);
      expect(message).toContain("wrangler secret put CARD_KEY");
      const { d } = JSON.parse(es256.jwk) as { d: string };
      for (const part of [d.slice(0, 8), "hunter2", "kty"]) expect(message).not.toContain(part);
    },
  );

  test("lets no card out when another one could be", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const other: CardKey = { kid: "ed", alg: "EdDSA", secret: "NOWHERE" };
    const fetch = deploy([signing(plain, KEY, other)], { CARD_KEY: es256.jwk });
    expect((await fetch(ORIGIN + PATH)).status).toBe(500);
  });

  test("because it is an RSA key that is too short lets no card out", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const algorithm = {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: 1024,
      publicExponent: new Uint8Array([1, 0, 1]),
      hash: "SHA-256",
    };
    const { privateKey } = (await crypto.subtle.generateKey(algorithm, true, [
      "sign",
      "verify",
    ])) as CryptoKeyPair;
    const CARD_KEY = JSON.stringify(await crypto.subtle.exportKey("jwk", privateKey));
    const fetch = deploy([signing(plain, { ...KEY, alg: "RS256" })], { CARD_KEY });
    expect((await fetch(ORIGIN + PATH)).status).toBe(500);
    expect(log.mock.calls[0]?.[1]).toMatchObject({
      message: expect.stringContaining("fewer than 2048 bits"),
    });
  });

  test("does not keep the agent from its work", async () => {
    const fetch = deploy([signing(plain)]);
    const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
    const body = JSON.stringify({
      message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "hi" }] },
    });
    expect((await fetch(`${ORIGIN}/message:send`, { method: "POST", headers, body })).status).toBe(200);
  });

  test.each<[what: string, keys: unknown[], problem: RegExp]>([
    ["there is none", [], /name a key/],
    ["it has no name", [{ ...KEY, kid: "" }], /needs a `kid`/],
    [
      "its algorithm is none",
      [{ ...KEY, alg: "none" }],
      /`alg` of "es" must be one of ES256, RS256, EdDSA/,
    ],
    ["its algorithm has a shared secret", [{ ...KEY, alg: "HS256" }], /must be one of/],
    ["no secret is named", [{ ...KEY, secret: "" }], /name of a `secret`/],
    [
      "its set is not on https",
      [{ ...KEY, jku: "http://keys.example/a" }],
      /`jku` of "es" must be an https URL/,
    ],
    ["another has its name", [KEY, { ...KEY, secret: "OTHER" }], /two keys have the same `kid`/],
  ])("is refused in the definition when %s", (_what, keys, problem) => {
    expect(() => signWith(...(keys as [CardKey]))).toThrow(problem);
  });

  test("is refused in the definition when it was not made by signWith", () => {
    const signing = { kid: "es" } as never;
    expect(() => defineAgent({ ...plain.definition, signing })).toThrow("signing: must be signWith");
  });
});
