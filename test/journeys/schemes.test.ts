/** The official SDK as a client of agents behind each scheme, with the tokens of an issuer that runs beside them. */
import { createHash, pbkdf2Sync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAuthenticatingFetchWithRetry } from "@a2a-js/sdk/client";
import { OAuth2Server } from "oauth2-mock-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { all, artifactsOf, assemble, BINDINGS, connect, listing, say, taskOf } from "./sdk.ts";
import {
  endServers,
  freePort,
  ROOT,
  type RunningServer,
  startServer,
  temporaryFolder,
} from "./server.ts";

const AUDIENCE = "https://agents.test";
const issuer = new OAuth2Server();
let server: RunningServer;
/** An issuer that nobody runs. */
let away: string;

beforeAll(async () => {
  const port = await freePort();
  issuer.issuer.url = `http://127.0.0.1:${port}`;
  await issuer.issuer.keys.generate("RS256");
  await issuer.start(port, "127.0.0.1");
  issuer.service.on("beforeTokenSigning", (token: { payload: Record<string, unknown> }) => {
    token.payload.sub = "robot";
  });
  away = `http://127.0.0.1:${await freePort()}`;
  server = await startServer("dev", ["--config", configuration()]);
});
afterAll(async () => {
  await endServers();
  await issuer.stop();
});

/** A configuration for this run: the issuer's port is not known before. */
function configuration(): string {
  const sha256 = createHash("sha256").update("alice-key").digest("hex");
  const derived = pbkdf2Sync("open sesame", "saltsaltsalt", 100_000, 32, "sha256").toString("base64");
  const salt = Buffer.from("saltsaltsalt").toString("base64");
  const path = join(temporaryFolder(), "wrangler.toml");
  writeFileSync(
    path,
    `name = "guarded"
main = "${join(ROOT, "test/lab/guarded.ts")}"
compatibility_date = "2026-11-02"
compatibility_flags = ["no_nodejs_compat"]
[alias]
"durable-a2a" = "${join(ROOT, "src/index.ts")}"
[vars]
ISSUER = "${issuer.issuer.url}"
AWAY = "${away}"
API_KEYS = '{"alice":"${sha256}"}'
BASIC_USERS = '{"alice":"pbkdf2$100000$${salt}$${derived}"}'
[[durable_objects.bindings]]
name = "TASK_OBJECT"
class_name = "TaskObject"
[[durable_objects.bindings]]
name = "TASK_INDEX"
class_name = "TaskIndex"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["TaskObject", "TaskIndex"]
`,
  );
  return path;
}

type Headers = Record<string, string>;

/** What a client that wants a token reads of a card. */
interface Card {
  securitySchemes: {
    oauth2: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: string } } } };
  };
  securityRequirements: [{ schemes: { oauth2: { list: string[] } } }];
}

/** A token of the issuer for alice; `changes` are laid over its claims. */
async function bearer(changes: object = {}): Promise<Headers> {
  const token = await issuer.issuer.buildToken({
    scopesOrTransform: (_, payload) => {
      Object.assign(payload, { sub: "alice", aud: AUDIENCE, scope: "a2a", ...changes });
    },
  });
  return { Authorization: `Bearer ${token}` };
}

/** `fetch` with the credentials that these headers are. */
function showing(credentials: () => Promise<Headers>): typeof fetch {
  return createAuthenticatingFetchWithRetry(fetch, {
    headers: credentials,
    shouldRetryWithHeaders: async () => undefined,
  });
}

const key = { "X-API-Key": "alice-key" };
const basic = { Authorization: `Basic ${btoa("alice:open sesame")}` };
const SCHEMES: [
  agent: string,
  who: string,
  good: () => Promise<Headers>,
  bad: () => Promise<Headers>,
][] = [
  ["key", "apiKey alice", async () => key, async () => ({ "X-API-Key": "bob-key" })],
  ["bearer", "bearer alice", bearer, () => bearer({ aud: "https://other.test" })],
  ["oidc", "oidc alice", bearer, () => bearer({ exp: 1 })],
  ["oauth2", "oauth2 alice", bearer, () => bearer({ iss: "https://evil.test" })],
  [
    "basic",
    "basic alice",
    async () => basic,
    async () => ({ Authorization: `Basic ${btoa("alice:sesame")}` }),
  ],
  ["either", "apiKey alice", async () => key, async () => ({})],
  ["either", "oidc alice", bearer, () => bearer({ nbf: 9_999_999_999 })],
  [
    "both",
    'apiKey+oidc ["alice","alice"]',
    async () => ({ ...key, ...(await bearer()) }),
    async () => key,
  ],
];

describe.each(BINDINGS)("over %s", (binding) => {
  test.each(SCHEMES)(
    "the agent %s lets %s in, to all that is theirs, and no others",
    async (agent, who, good, bad) => {
      const url = `${server.url}/agents/${agent}/`;
      const client = await connect(url, binding, showing(good));
      const sent = taskOf(await client.sendMessage(say("who am I?")));
      expect(artifactsOf(sent).map(([, text]) => text)).toEqual([`${who} `]);
      const streamed = assemble(await all(client.sendMessageStream(say("who am I?"))));
      expect(artifactsOf(streamed).map(([, text]) => text)).toEqual([`${who} `]);
      expect(await client.getTask({ tenant: "", id: sent.id })).toEqual(sent);
      const { tasks } = await client.listTasks(listing());
      expect(tasks.map(({ id }) => id)).toEqual(expect.arrayContaining([sent.id, streamed.id]));
      const stranger = await connect(url, binding, showing(bad));
      await expect(stranger.sendMessage(say("let me in"))).rejects.toThrow();
      await expect(all(stranger.sendMessageStream(say("let me in")))).rejects.toThrow();
      await expect(stranger.getTask({ tenant: "", id: sent.id })).rejects.toThrow();
    },
  );

  test("a client finds its way to a token by card and challenge, and comes in with it", async () => {
    let token: Headers = {};
    const asked: string[] = [];
    const finding = createAuthenticatingFetchWithRetry(fetch, {
      headers: async () => token,
      async shouldRetryWithHeaders(_, response) {
        if (response.status !== 401) return undefined;
        asked.push(response.headers.get("WWW-Authenticate") ?? "");
        const card = (await (
          await fetch(`${server.url}/agents/oauth2/.well-known/agent-card.json`)
        ).json()) as Card;
        const { flows } = card.securitySchemes.oauth2.oauth2SecurityScheme;
        const [{ schemes }] = card.securityRequirements;
        const form = new URLSearchParams({
          grant_type: "client_credentials",
          scope: schemes.oauth2.list.join(" "),
          aud: AUDIENCE,
        });
        const granted = await fetch(flows.clientCredentials.tokenUrl, { method: "POST", body: form });
        const { access_token } = (await granted.json()) as { access_token: string };
        token = { Authorization: `Bearer ${access_token}` };
        return token;
      },
    });
    const client = await connect(`${server.url}/agents/oauth2/`, binding, finding);
    const task = taskOf(await client.sendMessage(say("who am I?")));
    expect(artifactsOf(task)).toMatchObject([[expect.anything(), "oauth2 robot "]]);
    expect(asked).toEqual(['Bearer realm="a2a", scope="a2a"']);
    expect(taskOf(await client.sendMessage(say("again"))).id).not.toBe(task.id);
    expect(asked).toHaveLength(1);
  });

  test("a tenant's card makes the client name the tenant", async () => {
    const client = await connect(
      `${server.url}/agents/key/acme/`,
      binding,
      showing(async () => key),
    );
    const task = taskOf(await client.sendMessage(say("where am I?")));
    expect(artifactsOf(task).map(([, text]) => text)).toEqual(["apiKey alice acme"]);
    expect(await client.getTask({ tenant: "", id: task.id })).toEqual(task);
    const outside = await connect(
      `${server.url}/agents/key/`,
      binding,
      showing(async () => key),
    );
    await expect(outside.getTask({ tenant: "", id: task.id })).rejects.toThrow();
    expect((await client.getAgentCard()).description).toBe("For alice");
  });
});

test("a missing scope is 403, an issuer that is away 503: over real HTTP too", async () => {
  const ask = async (agent: string, headers: Headers) => {
    const response = await fetch(`${server.url}/agents/${agent}/tasks`, { headers });
    return [
      response.status,
      response.headers.get("WWW-Authenticate"),
      response.headers.get("Retry-After"),
    ];
  };
  expect(await ask("oauth2", await bearer({ scope: "other" }))).toEqual([
    403,
    'Bearer realm="a2a", error="insufficient_scope", scope="a2a"',
    null,
  ]);
  expect(await ask("away", await bearer({ iss: away }))).toEqual([503, null, "10"]);
});
