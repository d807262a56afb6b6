/** The agent card: what it says, and where its URLs lead (§4.4, §8). */
import { type AgentCard, type CardChanges, defineAgent, open } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { keyed, plain, script } from "./agents.ts";
import { call, message, ORIGIN } from "./client.ts";
import { deploy, type Fetch } from "./deployment.ts";

const PATH = "/.well-known/agent-card.json";
const HI = { message: message("hi") };
const JSON_BODY = { "Content-Type": "application/json", "A2A-Version": "1.0" };

afterEach(() => {
  vi.restoreAllMocks();
});

async function cardAt(
  url: string,
  fetch: Fetch,
  headers: Record<string, string> = {},
): Promise<AgentCard> {
  const response = await fetch(url, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("application/json");
  return (await response.json()) as AgentCard;
}

const urlsOf = ({ supportedInterfaces }: AgentCard) => supportedInterfaces.map(({ url }) => url);

/** Calls every interface of a card as a client would, in its own binding; the agents' answers to "hi". */
async function callAll({ supportedInterfaces }: AgentCard, fetch: Fetch): Promise<unknown[]> {
  const calls = supportedInterfaces.map(async ({ url, protocolBinding }) => {
    const isRest = protocolBinding === "HTTP+JSON";
    const body = isRest ? HI : { jsonrpc: "2.0", id: 1, method: "SendMessage", params: HI };
    const target = isRest ? `${url}/message:send` : url;
    const init = { method: "POST", headers: JSON_BODY, body: JSON.stringify(body) };
    const answer = (await (await fetch(target, init)).json()) as { result?: unknown };
    return isRest ? answer : answer.result;
  });
  return Promise.all(calls);
}

const ANSWERED = { task: { artifacts: [{ parts: [{ text: "You said: hi" }] }] } };

describe("the URLs of a card", () => {
  const fetch = deploy([script, plain]);

  test("are those of the request when no PUBLIC_URL is set (C-01)", async () => {
    const card = await cardAt(`https://one.example:8443${PATH}?x=1`, fetch);
    expect(urlsOf(card)).toEqual(["https://one.example:8443", "https://one.example:8443"]);
    expect(urlsOf(await cardAt(`http://localhost:8787${PATH}`, fetch))[0]).toBe(
      "http://localhost:8787",
    );
  });

  test("do not believe forwarded headers (C-01)", async () => {
    const card = await cardAt(`https://one.example${PATH}`, fetch, {
      "X-Forwarded-Host": "evil.example",
      "X-Forwarded-Proto": "http",
      "X-Forwarded-Prefix": "/evil",
      "X-Original-URL": "https://evil.example/",
      Forwarded: "host=evil.example;proto=http",
    });
    expect(JSON.stringify(card)).not.toContain("evil");
    expect(urlsOf(card)).toEqual(["https://one.example", "https://one.example"]);
  });

  test.each<[publicUrl: string, expected: string]>([
    ["https://agents.example.com", "https://agents.example.com"],
    ["https://agents.example.com/", "https://agents.example.com"],
    ["https://agents.example.com/a2a", "https://agents.example.com/a2a"],
    ["https://agents.example.com/a2a/tick/", "https://agents.example.com/a2a/tick"],
    ["http://localhost:8787", "http://localhost:8787"],
    ["", "http://10.0.0.7:3000"],
  ])("are all below a PUBLIC_URL of %j (C-01)", async (PUBLIC_URL, expected) => {
    const inside = deploy([script, plain], { PUBLIC_URL });
    const at = (path: string) => cardAt(`http://10.0.0.7:3000${path}${PATH}`, inside);
    expect(urlsOf(await at(""))).toEqual([expected, expected]);
    expect(urlsOf(await at("/agents/plain"))).toEqual([
      `${expected}/agents/plain`,
      `${expected}/agents/plain`,
    ]);
  });

  test.each([
    "agents.example.com",
    "//agents.example.com",
    "ftp://a.example",
    "https://a.example/?x=1",
  ])(
    "are not made from a PUBLIC_URL of %j: the log says how to write it (C-01)",
    async (PUBLIC_URL) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const response = await deploy([script], { PUBLIC_URL })(`https://one.example${PATH}`);
      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject({ error: { code: 500, status: "INTERNAL" } });
      const error = expect.objectContaining({ message: expect.stringContaining("PUBLIC_URL must be") });
      expect(log.mock.calls).toEqual([[expect.any(String), error]]);
    },
  );
});

describe("the URL of a card, POSTed to,", () => {
  /** What a proxy in front of the Worker does with the path that it is reached at. */
  const rewriting: [title: string, rewrite: (path: string) => string][] = [
    ["keeps the path", (path) => path],
    ["takes its own part of the path off", (path) => path.replace(/^\/a2a\/tick/, "") || "/"],
  ];
  const PUBLIC_URL = "https://public.example/a2a/tick";

  describe.each(rewriting)("through a proxy that %s", (_title, rewrite) => {
    const worker = deploy([script, plain], { PUBLIC_URL });
    const proxy: Fetch = (url, init) => {
      const { pathname, search, origin } = new URL(url);
      if (origin !== "https://public.example" || !/^\/a2a\/tick(\/|$)/.test(pathname)) {
        throw new Error(`${url} does not lead to the proxy`);
      }
      return worker(`http://10.0.0.7:3000${rewrite(pathname)}${search}`, init);
    };

    test.each(["", "/agents/plain"])("reaches the agent at %j (C-02)", async (agent) => {
      const card = await cardAt(PUBLIC_URL + agent + PATH, proxy);
      expect(urlsOf(card)).toEqual([PUBLIC_URL + agent, PUBLIC_URL + agent]);
      const answers = await callAll(card, proxy);
      expect(answers).toEqual([expect.objectContaining({}), expect.objectContaining({})]);
      for (const answer of answers) expect(answer).toMatchObject(ANSWERED);
    });

    test("leads from the old path of the card to the new one (C-05)", async () => {
      const old = `${PUBLIC_URL}/.well-known/agent.json`;
      const response = await proxy(old, { redirect: "manual" });
      expect(response.status).toBe(308);
      const target = new URL(response.headers.get("Location") ?? "", old).href;
      expect(target).toBe(PUBLIC_URL + PATH);
      expect(urlsOf(await cardAt(target, proxy))[0]).toBe(PUBLIC_URL);
    });
  });

  test("reaches no other path that begins alike", async () => {
    const worker = deploy([script], { PUBLIC_URL });
    expect((await worker(`http://10.0.0.7:3000/a2a/ticket${PATH}`)).status).toBe(404);
  });

  test("serves every method of the binding (C-03)", async () => {
    const fetch = deploy([script]);
    const { supportedInterfaces } = await cardAt(ORIGIN + PATH, fetch);
    expect(supportedInterfaces).toEqual([
      { url: ORIGIN, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: ORIGIN, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    ]);
    for (const method of [
      "SendMessage",
      "SendStreamingMessage",
      "GetTask",
      "ListTasks",
      "CancelTask",
    ]) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} });
      const response = await fetch(ORIGIN, { method: "POST", headers: JSON_BODY, body });
      const { error } = (await response.json()) as { error?: { code: number } };
      expect([undefined, -32602]).toContain(error?.code);
    }
  });
});

describe("the old path of the card", () => {
  test.each(["", "/agents/plain"])("leads to the new one, at %j (C-05)", async (agent) => {
    const response = await call(`${agent}/.well-known/agent.json`, { redirect: "manual" });
    expect(response.status).toBe(308);
    const target = new URL(
      response.headers.get("Location") ?? "",
      `${ORIGIN}${agent}/.well-known/agent.json`,
    );
    expect(target.href).toBe(ORIGIN + agent + PATH);
  });
});

describe("a card", () => {
  test("of the least that can be defined has every required list, and nothing that is null (C-07)", async () => {
    const least = defineAgent({
      name: "Least",
      description: "Says the least",
      version: "1.0.0",
      skills: [{ id: "s", name: "S", description: "The skill", tags: ["t"] }],
      auth: open(),
      run: () => undefined,
    });
    expect(await cardAt(ORIGIN + PATH, deploy([least]))).toEqual({
      name: "Least",
      description: "Says the least",
      supportedInterfaces: [
        { url: ORIGIN, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url: ORIGIN, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      ],
      version: "1.0.0",
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [{ id: "s", name: "S", description: "The skill", tags: ["t"] }],
    });
  });

  test("shows only what the protocol knows of a skill and of a provider (C-07)", async () => {
    const { definition } = plain;
    const [skill] = definition.skills;
    const extra = { examples: null, handler: "secret", securityRequirements: undefined };
    const untidy = defineAgent({
      ...definition,
      skills: [{ ...skill, ...extra }] as unknown as typeof definition.skills,
      provider: { organization: "Acme", url: "https://acme.example", contact: null } as never,
    });
    const card = await cardAt(ORIGIN + PATH, deploy([untidy]));
    expect(card.skills).toEqual([skill]);
    expect(card.provider).toEqual({ organization: "Acme", url: "https://acme.example" });
  });

  test("that is extended keeps what it may not lose, and where the agent is (C-07)", async () => {
    const changes = {
      name: undefined,
      version: null,
      supportedInterfaces: [],
      capabilities: null,
      description: "More",
    };
    const fetch = deploy([
      defineAgent({ ...plain.definition, extendedCard: () => changes as never as CardChanges }),
    ]);
    const card = await cardAt(ORIGIN + PATH, fetch);
    const extended = await fetch(`${ORIGIN}/extendedAgentCard`);
    expect(await extended.json()).toEqual({ ...card, description: "More" });
  });

  test("that is extended by an empty list of skills is not served as it is (C-07)", async () => {
    const agent = defineAgent({ ...plain.definition, extendedCard: () => ({ skills: [] }) });
    const response = await deploy([agent])(`${ORIGIN}/extendedAgentCard`);
    expect(response.status).toBe(500);
    expect(await response.json()).toHaveProperty("error.code", 500);
  });

  test("of an agent with keys is public, and says which key is needed and where (C-11)", async () => {
    const card = await cardAt(`${ORIGIN}/agents/keyed${PATH}`, (url) => call(new URL(url).pathname));
    expect(card.securitySchemes).toEqual({
      apiKey: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } },
    });
    expect(card.securityRequirements).toEqual([{ schemes: { apiKey: { list: [] } } }]);
    expect(JSON.stringify(card)).not.toMatch(/72ee9d43|alice/);
  });

  test("of an open agent asks for nothing (C-11)", async () => {
    const card = await cardAt(`${ORIGIN}${PATH}`, (url) => call(new URL(url).pathname));
    expect(card).not.toHaveProperty("securitySchemes");
    expect(card).not.toHaveProperty("securityRequirements");
  });
});

describe("several agents in one Worker", () => {
  const fetch = deploy([script, plain, keyed]);

  test.each<[path: string, name: string]>([
    ["", "Script"],
    ["/agents/script", "Script"],
    ["/agents/plain", "Plain"],
    ["/agents/keyed", "Keyed"],
  ])("have a card each: at %j it is %s (C-20)", async (path, name) => {
    const card = await cardAt(ORIGIN + path + PATH, fetch);
    expect(card.name).toBe(name);
    expect(urlsOf(card)).toEqual([ORIGIN + path, ORIGIN + path]);
  });

  test("answer each at the URLs of its own card (C-20)", async () => {
    for (const path of ["", "/agents/script", "/agents/plain"]) {
      for (const answer of await callAll(await cardAt(ORIGIN + path + PATH, fetch), fetch)) {
        expect(answer).toMatchObject(ANSWERED);
      }
    }
  });

  test("do not see each other's tasks, although both are open to anyone (C-20)", async () => {
    const [made] = await callAll(await cardAt(`${ORIGIN}/agents/plain${PATH}`, fetch), fetch);
    const { id } = (made as { task: { id: string } }).task;
    const status = async (agent: string) => (await fetch(`${ORIGIN}${agent}/tasks/${id}`)).status;
    expect(await status("/agents/plain")).toBe(200);
    expect(await status("/agents/script")).toBe(404);
    expect(await status("")).toBe(404);
  });

  test("of one id are refused when the Worker is built (C-20)", () => {
    expect(() => deploy([script, plain, script])).toThrow(/same id/);
  });
});
