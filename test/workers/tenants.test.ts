/** Tenants in both bindings, several agents in one Worker and their catalogue (CASES.md, L-09, L-11, C-03, C-20). */
import { type AgentCard, defineAgent, type Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { keyed, plain, script as scripted, shared } from "./agents.ts";
import {
  BINDINGS,
  type Binding,
  exchange,
  expectRefused,
  getTask,
  type Operation,
  operate,
} from "./bindings.ts";
import { call, message, ORIGIN, rest, rpc, script } from "./client.ts";
import { deploy } from "./deployment.ts";
import * as stream from "./event-stream.ts";

const ALICE = { agent: "shared", headers: { "X-API-Key": "alice-key" } };
const HOOK = "https://example.com/hook";

async function send(binding: Binding, tenant: string | undefined, fields: object = {}): Promise<Task> {
  const params = { tenant, message: message(script({ do: "input" }), fields) };
  const { value, error } = await operate(binding, "SendMessage", params, ALICE);
  if (!value?.task) throw new Error(`no task: ${JSON.stringify(error)}`);
  return value.task as Task;
}

describe.each(BINDINGS)("over %s, a tenant", (binding) => {
  test.each(["alpha", "a/b"])("named %j is served by every operation (L-11)", async (tenant) => {
    const { id, contextId } = await send(binding, tenant);
    const ask = async (operation: Operation, params: object) => {
      const { value, error } = await operate(binding, operation, { tenant, ...params }, ALICE);
      expect(error, operation).toBeUndefined();
      return value;
    };
    expect(await ask("GetTask", { id })).toMatchObject({ id });
    expect(await ask("ListTasks", { contextId })).toMatchObject({ totalSize: 1, tasks: [{ id }] });
    expect(
      await ask("CreateTaskPushNotificationConfig", { taskId: id, id: "hook", url: HOOK }),
    ).toMatchObject({ id: "hook", taskId: id });
    expect(await ask("ListTaskPushNotificationConfigs", { taskId: id })).toMatchObject({
      configs: [{ id: "hook" }],
    });
    expect(await ask("GetTaskPushNotificationConfig", { taskId: id, id: "hook" })).toMatchObject({
      url: HOOK,
    });
    await ask("DeleteTaskPushNotificationConfig", { taskId: id, id: "hook" });
    expect(await ask("GetExtendedAgentCard", {})).toMatchObject({
      description: "For alice",
      supportedInterfaces: [{ tenant }, { tenant }],
    });
    const more = { tenant, message: message(script({ do: "input" }), { taskId: id }) };
    const streamed = await stream.open(binding, "SendStreamingMessage", more, ALICE);
    expect((await streamed.rest()).at(-1)?.event).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_INPUT_REQUIRED" } },
    });
    const subscribed = await stream.open(binding, "SubscribeToTask", { tenant, id }, ALICE);
    expect((await subscribed.next())?.event).toMatchObject({ task: { id } });
    expect(await ask("CancelTask", { id })).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
    await subscribed.rest();
  });

  test("has tasks and contexts of its own, also for the same caller (L-09)", async () => {
    const contextId = crypto.randomUUID();
    const tasks = new Map<string | undefined, string>();
    for (const tenant of ["alpha", "beta", undefined]) {
      tasks.set(tenant, (await send(binding, tenant, { contextId })).id);
    }
    for (const [tenant, id] of tasks) {
      const list = await operate(binding, "ListTasks", { tenant, contextId }, ALICE);
      expect(list.value).toMatchObject({ totalSize: 1, tasks: [{ id }] });
      for (const other of tasks.keys()) {
        const answer = await operate(binding, "GetTask", { tenant: other, id }, ALICE);
        if (other === tenant) expect(answer.value).toMatchObject({ id });
        else expectRefused(answer, "TASK_NOT_FOUND");
      }
    }
  });

  test("that is nobody's is refused by the field, before anything is looked up", async () => {
    const { id } = await send(binding, "alpha");
    for (const tenant of ["gamma", "Alpha", "alpha ", "alpha\u0000", "*"]) {
      expectRefused(
        await operate(binding, "GetTask", { tenant, id }, ALICE),
        "PERMISSION_DENIED",
        "tenant",
      );
    }
    const sent = { tenant: "gamma", message: message("hi") };
    expectRefused(await operate(binding, "SendMessage", sent, ALICE), "PERMISSION_DENIED", "tenant");
  });

  test("of a caller is what the definition says for this caller; anything else is denied", async () => {
    const definition = { ...shared.definition, tenants: tenantsOf };
    const fetch = deploy([defineAgent(definition)]);
    const ask = async (tenant: string, key: string) => {
      const params = { tenant };
      const body = { jsonrpc: "2.0", id: 1, method: "ListTasks", params };
      const headers = { "Content-Type": "application/json", "X-API-Key": key };
      const response =
        binding === "rest"
          ? await fetch(`${ORIGIN}/${tenant}/tasks`, { headers })
          : await fetch(ORIGIN, { method: "POST", headers, body: JSON.stringify(body) });
      return [response.status, (await response.text()).replace(/\d{4}-[\dT:.-]+Z/, "")] as const;
    };
    expect((await ask("of-alice", "alice-key"))[0]).toBe(200);
    const foreign = await ask("of-alice", "bob-key");
    expect(foreign[0]).toBe(403);
    expect(await ask("of-nobody", "bob-key")).toEqual(foreign);
  });

  test("of another name inside a webhook is refused by the field", async () => {
    const taskPushNotificationConfig = { tenant: "beta", url: HOOK };
    const params = {
      tenant: "alpha",
      message: message("hi"),
      configuration: { taskPushNotificationConfig },
    };
    const field = "configuration.taskPushNotificationConfig.tenant";
    expectRefused(await operate(binding, "SendMessage", params, ALICE), "INVALID_PARAMS", field);
  });
});

async function tenantsOf({ principal }: { principal: string }): Promise<string[]> {
  return [`of-${principal}`];
}

describe("a tenant in the path and another in the request", () => {
  test.each<[title: string, verb: string, path: string, body?: object]>([
    ["in the body", "POST", "/alpha/message:send", { tenant: "beta", message: message("hi") }],
    ["in the query", "GET", "/alpha/tasks?tenant=beta"],
  ])("%s are refused by the field (L-11)", async (_, verb, path, body) => {
    const answer = await rest(verb, path, body, ALICE);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      error: { details: [{ fieldViolations: [{ field: "tenant" }] }] },
    });
  });

  test("are served when they are the same, or the one is empty", async () => {
    for (const path of ["/alpha/tasks?tenant=alpha", "/alpha/tasks?tenant=", "/tasks?tenant=alpha"]) {
      expect((await rest("GET", path, undefined, ALICE)).status, path).toBe(200);
    }
  });
});

describe("names of our own routes", () => {
  test.each([
    "tasks",
    "agents",
    "_console",
    ".well-known",
    "message:send",
    "message:stream",
    "extendedAgentCard",
    ".",
    "..",
    "",
    "x".repeat(257),
  ])("%j are no tenants in a definition", (name) => {
    const definition = { ...shared.definition, tenants: ["alpha", name] };
    expect(() => defineAgent(definition)).toThrow("defineAgent: tenants[1]: ");
  });

  test("are no tenants in a request, whatever the definition's function says", async () => {
    const agent = defineAgent({ ...shared.definition, tenants: () => ["tasks", "agents"] });
    const fetch = deploy([agent]);
    for (const tenant of ["tasks", "agents"]) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { tenant } });
      const headers = { "Content-Type": "application/json", "X-API-Key": "alice-key" };
      const answer = await (await fetch(ORIGIN, { method: "POST", headers, body })).json();
      expect(answer).toMatchObject({ error: { code: -32602 } });
    }
  });

  test.each<[definition: object, field: string]>([
    [{ tenants: [] }, "tenants"],
    [{ tenants: "alpha" }, "tenants"],
    [{ tenants: [1] }, "tenants"],
  ])("%o is no list of tenants", (changes, field) => {
    const definition = { ...shared.definition, ...changes } as typeof shared.definition;
    expect(() => defineAgent(definition)).toThrow(`defineAgent: ${field}`);
  });
});

describe("an agent without tenants", () => {
  test("refuses a tenant by the field, and has no paths for one", async () => {
    const options = { ...ALICE, agent: "keyed" };
    const { body } = await rpc("ListTasks", { tenant: "alpha" }, options);
    expect(body).toMatchObject({
      error: { code: -32602, data: [{ fieldViolations: [{ field: "tenant" }] }] },
    });
    expect((await rest("GET", "/tasks?tenant=alpha", undefined, options)).status).toBe(400);
    expect((await rest("GET", "/alpha/tasks", undefined, options)).status).toBe(404);
    expect((await call("/agents/keyed/alpha/.well-known/agent-card.json")).status).not.toBe(200);
  });
});

describe("the card of a tenant", () => {
  const PATH = ".well-known/agent-card.json";

  test("is the agent's, with the tenant that clients must send (§8.3.2)", async () => {
    const card = async (path: string) =>
      (await call(`/agents/shared/${path}${PATH}`)).json() as Promise<AgentCard>;
    const [own, alpha, slashed] = [await card(""), await card("alpha/"), await card("a%2Fb/")];
    expect(own.supportedInterfaces.map(({ tenant }) => tenant)).toEqual([undefined, undefined]);
    expect(alpha.supportedInterfaces.map(({ tenant }) => tenant)).toEqual(["alpha", "alpha"]);
    expect(slashed.supportedInterfaces[0]?.tenant).toBe("a/b");
    const { supportedInterfaces: _, ...rest } = own;
    expect(alpha).toMatchObject(rest);
    expect(JSON.stringify(own)).not.toContain("alpha");
  });

  test("is not there for a name that the definition does not list", async () => {
    for (const name of ["gamma", "tasks", "_console"]) {
      expect((await call(`/agents/shared/${name}/${PATH}`)).status).toBe(404);
    }
  });

  test("is there for any name when tenants depend on the caller, and so tells of none", async () => {
    const fetch = deploy([defineAgent({ ...shared.definition, tenants: tenantsOf })]);
    for (const name of ["of-alice", "of-nobody"]) {
      const card: AgentCard = await (await fetch(`${ORIGIN}/${name}/${PATH}`)).json();
      expect(card.supportedInterfaces[0]).toMatchObject({ url: ORIGIN, tenant: name });
    }
    expect((await fetch(`${ORIGIN}/tasks/${PATH}`)).status).toBe(404);
  });
});

describe("the catalogue of a Worker's agents (C-20)", () => {
  const PATH = "/.well-known/agents.json";

  test("names each agent and where its card is, below the PUBLIC_URL", async () => {
    const fetch = deploy([scripted, plain, keyed], { PUBLIC_URL: "https://public.test/a2a" });
    const response = await fetch(`${ORIGIN}${PATH}`);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(response.headers.get("Cache-Control")).toBe("public, max-age=300");
    const entry = (id: string, name: string) => ({
      id,
      name,
      description: "Does what the script in its message says",
      version: "1.0.0",
      url: `https://public.test/a2a/agents/${id}`,
      card: `https://public.test/a2a/agents/${id}/.well-known/agent-card.json`,
    });
    expect(await response.json()).toEqual({
      agents: [entry("script", "Script"), entry("plain", "Plain"), entry("keyed", "Keyed")],
    });
  });

  test("leads to cards whose interfaces are those agents' own (C-03, C-20)", async () => {
    const { agents } = (await (await call(PATH)).json()) as { agents: { url: string; card: string }[] };
    expect(agents.length).toBeGreaterThan(5);
    for (const { url, card } of agents) {
      const { supportedInterfaces } = (await (await call(new URL(card).pathname)).json()) as AgentCard;
      expect(supportedInterfaces.map((each) => each.url)).toEqual([url, url]);
    }
  });
});

test("a stream of another tenant's task is refused before it begins (L-09)", async () => {
  const { id } = await send("rest", "alpha");
  for (const binding of BINDINGS) {
    const response = await exchange(binding, "SubscribeToTask", { tenant: "beta", id }, ALICE);
    expect(response.headers.get("Content-Type")).toMatch(/json/);
    expect(await response.text()).toContain("TASK_NOT_FOUND");
  }
  expect((await operate("rest", "GetTask", { tenant: "alpha", id }, ALICE)).value).toMatchObject({
    id,
  });
  await expect(getTask("rest", id, ALICE)).rejects.toThrow("TASK_NOT_FOUND");
});
