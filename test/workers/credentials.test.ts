/** Who may call: the check of credentials comes first, and a broken secret lets nobody in (CASES.md, C-12). */
import { describe, expect, test } from "vitest";
import { keyed } from "./agents.ts";
import { BINDINGS, exchange, expectRefused, type Operation, operate } from "./bindings.ts";
import { call, message } from "./client.ts";
import { deploy } from "./deployment.ts";

const CHALLENGE = 'ApiKey realm="a2a", header="X-API-Key"';
const REFUSED = {
  "without a key": {},
  "with a wrong key": { "X-API-Key": "carol-key" },
  "with an empty key": { "X-API-Key": "" },
  "with a key in another case": { "X-API-Key": "ALICE-KEY" },
  "with the hash of a key": {
    "X-API-Key": "72ee9d4355ccb9d3a4c9dbf37382e38e75c1b1a225b5bd1f729ee91bbda30c20",
  },
  "with the key in another header": { Authorization: "Bearer alice-key" },
};

const CALLS: Record<Operation, object> = {
  SendMessage: { message: message("hi") },
  SendStreamingMessage: { message: message("hi") },
  GetTask: { id: "x" },
  ListTasks: {},
  CancelTask: { id: "x" },
  SubscribeToTask: { id: "x" },
  CreateTaskPushNotificationConfig: { taskId: "x", url: "https://example.com/" },
  ListTaskPushNotificationConfigs: { taskId: "x" },
  GetTaskPushNotificationConfig: { taskId: "x", id: "x" },
  DeleteTaskPushNotificationConfig: { taskId: "x", id: "x" },
  GetExtendedAgentCard: {},
};
const OPERATIONS = Object.keys(CALLS) as Operation[];

describe.each(BINDINGS)("over %s", (binding) => {
  describe.each(Object.entries(REFUSED))("%s", (_, headers) => {
    test.each(OPERATIONS)(
      "%s is refused with 401 and a challenge, before any stream (C-12)",
      async (operation) => {
        const answer = await operate(binding, operation, CALLS[operation], { agent: "keyed", headers });
        expectRefused(answer, "UNAUTHENTICATED");
        expect(answer.headers.get("WWW-Authenticate")).toBe(CHALLENGE);
      },
    );
  });

  test("the answer to a wrong key is the one to no key", async () => {
    const ask = async (headers: Record<string, string>) => {
      const response = await exchange(binding, "GetTask", { id: "x" }, { agent: "keyed", headers });
      return (await response.text()).replace(/\d{4}-[\dT:.-]+Z/, "");
    };
    expect(await ask(REFUSED["with a wrong key"])).toBe(await ask({}));
  });

  test.each(OPERATIONS)("%s with a key is not refused so", async (operation) => {
    const headers = { "X-API-Key": "alice-key" };
    const response = await exchange(binding, operation, CALLS[operation], { agent: "keyed", headers });
    await response.body?.cancel();
    expect(response.status).not.toBe(401);
    expect(response.headers.has("WWW-Authenticate")).toBe(false);
  });
});

describe("without a key", () => {
  const huge = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":"${"x".repeat(2_000_000)}"}`;
  test.each([
    ["a body that is no JSON", "POST", "/", '{"jsonrpc":', "application/json"],
    ["a body that is no JSON-RPC", "POST", "/", "[]", "application/json"],
    ["a body over the limit", "POST", "/", huge, "application/json"],
    ["an unknown method", "POST", "/", '{"jsonrpc":"2.0","id":1,"method":"No"}', "application/json"],
    ["another media type", "POST", "/", "hi", "text/plain"],
    ["a body that is no JSON", "POST", "/message:send", "{", "application/json"],
    ["a body over the limit", "POST", "/message:stream", huge, "application/json"],
    ["a request without a message", "POST", "/message:stream", "{}", "application/json"],
    ["another media type", "POST", "/message:send", "hi", "text/plain"],
    ["a bad query", "GET", "/tasks?pageSize=abc", undefined, ""],
    ["an unknown path", "GET", "/nothing", undefined, ""],
    ["another verb", "PUT", "/tasks/x", "{}", "application/json"],
  ])("%s is refused with 401 like anything else: %s %s (C-12)", async (_, method, path, body, type) => {
    const response = await call(`/agents/keyed${path}`, {
      method,
      headers: { "A2A-Version": "99.0", ...(body !== undefined && { "Content-Type": type }) },
      ...(body !== undefined && { body }),
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("WWW-Authenticate")).toBe(CHALLENGE);
    expect(await response.json()).toMatchObject({ error: { message: "Authentication required" } });
  });

  test("the public card is served (C-11)", async () => {
    const response = await call("/agents/keyed/.well-known/agent-card.json");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      securitySchemes: { apiKey: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } } },
      securityRequirements: [{ schemes: { apiKey: { list: [] } } }],
    });
  });
});

const ALICE = "72ee9d4355ccb9d3a4c9dbf37382e38e75c1b1a225b5bd1f729ee91bbda30c20";
const BOB = "9b94dc1a51a38769f135edf04033ad7f2f487b6c25929be7a861cfc1ab10cf98";

/** What one call in each binding is answered, with alice's key, by a Worker with this secret. */
async function knock(secret: unknown): Promise<{ codes: (number | undefined)[]; text: string }> {
  const fetch = deploy([keyed], { API_KEYS: secret });
  const headers = { "Content-Type": "application/json", "X-API-Key": "alice-key" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} });
  const responses = [
    await fetch("https://agents.test/", { method: "POST", headers, body }),
    await fetch("https://agents.test/tasks", { headers }),
  ];
  const texts = await Promise.all(responses.map((response) => response.text()));
  const codes = texts.map((text) => (JSON.parse(text) as { error?: { code: number } }).error?.code);
  return { codes, text: texts.join() };
}

describe("the secret with the keys", () => {
  test.each([
    ["names a caller", JSON.stringify({ alice: ALICE })],
    ["has more than one hash for a caller", JSON.stringify({ alice: [BOB, ALICE] })],
    ["has hashes in upper case", JSON.stringify({ bob: BOB, alice: ALICE.toUpperCase() })],
  ])("lets the caller in when it %s", async (_, secret) => {
    expect((await knock(secret)).codes).toEqual([undefined, undefined]);
  });

  test.each([
    ["is missing", undefined],
    ["is empty", ""],
    ["is no JSON", "{"],
    ["is a hash alone", ALICE],
    ["is JSON of a string", JSON.stringify(ALICE)],
    ["is null", "null"],
    ["is a number", "1"],
    ["is no text", { alice: ALICE }],
    ["is a list of hashes without names", JSON.stringify([ALICE])],
    ["names nobody", "{}"],
    ["has the key itself", JSON.stringify({ alice: "alice-key" })],
    ["has a hash that is cut", JSON.stringify({ alice: ALICE.slice(0, -2) })],
    ["has an empty hash", JSON.stringify({ alice: "" })],
    ["has null for a caller", JSON.stringify({ alice: null })],
    ["has no hash for a caller", JSON.stringify({ alice: [] })],
    ["has one hash that is broken, beside a good one", JSON.stringify({ alice: ALICE, bob: "x" })],
    ["has only the hash of another key", JSON.stringify({ alice: BOB })],
  ])("lets nobody in when it %s, and is not shown", async (_, secret) => {
    const { codes, text } = await knock(secret);
    expect([
      [-32000, 401],
      [-32603, 500],
    ]).toContainEqual(codes);
    expect(text).not.toContain("API_KEYS");
    expect(text).not.toContain(ALICE.slice(0, 8));
  });
});
