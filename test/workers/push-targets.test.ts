/** Which webhooks a client may register, on a task and inside a message: hostile ones leave nothing behind (W-01, W-18). */
import { defineAgent } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ALLOWED, HOSTILE_HEADERS, HOSTILE_URLS } from "../hostile-webhooks.ts";
import { script as agent } from "./agents.ts";
import {
  type Answer,
  BINDINGS,
  type Binding,
  expectRefused,
  operate,
  send,
  start,
} from "./bindings.ts";
import { type Json, message, ORIGIN, script } from "./client.ts";
import { deploy } from "./deployment.ts";
import { refusal, wire } from "./refusals.ts";

const HOOK = "https://example.com/hook";
const INLINE = "configuration.taskPushNotificationConfig.";
const INPUT = script({ do: "input" });

afterEach(() => {
  vi.restoreAllMocks();
});

async function configsOf(binding: Binding, taskId: string): Promise<Json[]> {
  const { value } = await operate(binding, "ListTaskPushNotificationConfigs", { taskId });
  return value?.configs as Json[];
}

/** The tasks of a context: none when its messages were refused. */
async function tasksOf(binding: Binding, contextId: string): Promise<Json[]> {
  const { value } = await operate(binding, "ListTasks", { contextId });
  return value?.tasks as Json[];
}

function sendWith(
  binding: Binding,
  config: object,
  fields: object = {},
  operation: "SendMessage" | "SendStreamingMessage" = "SendMessage",
): Promise<Answer> {
  return operate(binding, operation, {
    message: message(INPUT, fields),
    configuration: { taskPushNotificationConfig: config, returnImmediately: true },
  });
}

/** Holds every config to be refused for its field, on a task and inside a message, and nothing to come of it. */
async function expectAllRefused(
  binding: Binding,
  hostile: readonly [field: string, config: object][],
): Promise<void> {
  const { id: taskId } = await start(binding, INPUT);
  const contextId = crypto.randomUUID();
  for (const [field, config] of hostile) {
    const create = { taskId, ...config };
    expectRefused(
      await operate(binding, "CreateTaskPushNotificationConfig", create),
      "INVALID_PARAMS",
      field,
    );
    expectRefused(await sendWith(binding, config, { contextId }), "INVALID_PARAMS", INLINE + field);
  }
  expect(await configsOf(binding, taskId)).toEqual([]);
  expect(await tasksOf(binding, contextId)).toEqual([]);
  await sendWith(binding, { url: HOOK }, { contextId });
  expect(await tasksOf(binding, contextId)).toHaveLength(1);
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("the tables are about what this agent allows, and long enough", () => {
    expect(agent.push?.allow).toEqual(ALLOWED);
    expect(HOSTILE_URLS.length).toBeGreaterThan(60);
  });

  test("hostile URLs are refused", async () => {
    await expectAllRefused(
      binding,
      HOSTILE_URLS.map(([url]) => ["url", { url }]),
    );
  });

  test("headers that could inject are refused", async () => {
    await expectAllRefused(
      binding,
      HOSTILE_HEADERS.map(([field, headers]) => [field, { url: HOOK, ...headers }]),
    );
  });

  test("a refused URL changes neither a config that is there nor the task it is sent to", async () => {
    const { id: taskId } = await start(binding, INPUT);
    const kept = { taskId, id: "hook", url: HOOK };
    await operate(binding, "CreateTaskPushNotificationConfig", kept);
    const put = { ...kept, url: "https://169.254.169.254/" };
    const refused = await operate(binding, "CreateTaskPushNotificationConfig", put);
    expectRefused(refused, "INVALID_PARAMS", "url");
    const sent = await sendWith(binding, { id: "hook", url: "https://evil.com/" }, { taskId });
    expectRefused(sent, "INVALID_PARAMS", `${INLINE}url`);
    expect(await configsOf(binding, taskId)).toEqual([expect.objectContaining(kept)]);
    const { value } = await operate(binding, "GetTask", { id: taskId });
    expect(value?.history).toHaveLength(1);
  });

  test("a stream is refused before it starts", async () => {
    const contextId = crypto.randomUUID();
    for (const url of ["https://127.0.0.1/", "https://evil.com/", "http://example.com/"]) {
      const refused = await sendWith(binding, { url }, { contextId }, "SendStreamingMessage");
      expectRefused(refused, "INVALID_PARAMS", `${INLINE}url`);
    }
    expect(await tasksOf(binding, contextId)).toEqual([]);
  });

  test("what is allowed is stored as it was written", async () => {
    const { id: taskId } = await start(binding, INPUT);
    const allowed = [
      { url: "https://EXAMPLE.com:443/hook?to=https://evil.com/../x" },
      {
        url: "https://a.b.hooks.example.com",
        token: "a".repeat(8_192),
        authentication: { scheme: "Bearer", credentials: "a".repeat(8_192) },
      },
      {
        url: `https://example.com/${"a".repeat(2_028)}`,
        token: '!"#~a b',
        authentication: { scheme: "x!#$%&'*+-.^_`|~1" },
      },
    ];
    for (const [index, config] of allowed.entries()) {
      const create = { taskId, id: `hook-${index}`, ...config };
      const { error } = await operate(binding, "CreateTaskPushNotificationConfig", create);
      expect(error).toBeUndefined();
      const configuration = { taskPushNotificationConfig: config, returnImmediately: true };
      const inline = await configsOf(binding, (await send(binding, INPUT, {}, { configuration })).id);
      expect(inline.map(({ url }) => url)).toEqual([config.url]);
    }
    const stored = await configsOf(binding, taskId);
    expect(stored.map(({ url }) => url)).toEqual(allowed.map(({ url }) => url));
  });

  test("an agent without webhooks takes none, whatever the URL (W-18)", async () => {
    const options = { agent: "plain" };
    for (const url of [HOOK, "https://127.0.0.1/"]) {
      const params = { message: message("hi"), configuration: { taskPushNotificationConfig: { url } } };
      const { error } = await operate(binding, "SendMessage", params, options);
      expect(error?.details[0]).toMatchObject({ reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" });
      const create = { taskId: "t", url };
      const refused = await operate(binding, "CreateTaskPushNotificationConfig", create, options);
      expect(refused.error?.details[0]).toMatchObject({ reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" });
    }
  });
});

describe.each(BINDINGS)("over %s, an agent with a resolver", (binding) => {
  /** Creates or sends `url`, while the resolver answers with `address`; and the questions it was asked. */
  async function register(way: "create" | "inline", url: string, address: string | number) {
    const { id: taskId } = await start(binding, INPUT);
    const asked: string[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
      asked.push(String(input));
      if (typeof address === "number") return new Response("no", { status: address });
      return Response.json({ Status: 0, Answer: [{ type: 1, data: address }] });
    });
    const push = { allow: ALLOWED, resolver: "https://dns.test/dns-query" };
    const resolving = deploy([defineAgent({ ...agent.definition, push })]);
    const [method, path, params] =
      way === "create"
        ? [
            "CreateTaskPushNotificationConfig",
            `/tasks/${taskId}/pushNotificationConfigs`,
            { taskId, url },
          ]
        : [
            "SendMessage",
            "/message:send",
            {
              message: message("hi", { taskId }),
              configuration: { taskPushNotificationConfig: { url }, returnImmediately: true },
            },
          ];
    const body = binding === "rest" ? params : { jsonrpc: "2.0", id: 1, method, params };
    const response = await resolving(ORIGIN + (binding === "rest" ? path : "/"), {
      method: "POST",
      headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
      body: JSON.stringify(body),
    });
    const answer = await wire(response);
    vi.restoreAllMocks();
    return { answer, asked, configs: await configsOf(binding, taskId) };
  }

  test.each(["create", "inline"] as const)("looks names up (%s)", async (way) => {
    const field = way === "create" ? "url" : `${INLINE}url`;
    for (const [address, why] of [
      ["10.0.0.1", "resolves to a private address"],
      [502, "could not be looked up"],
    ] as const) {
      const { answer, configs, asked } = await register(way, HOOK, address);
      const text = `Invalid parameters: ${field}: ${why}`;
      expect(answer).toEqual(refusal(binding, "INVALID_PARAMS", { fields: [field], message: text }));
      expect(configs).toEqual([]);
      expect(asked).toEqual([
        "https://dns.test/dns-query?name=example.com&type=A",
        "https://dns.test/dns-query?name=example.com&type=AAAA",
      ]);
    }
    const { answer, configs } = await register(way, HOOK, "1.1.1.1");
    expect(answer.status).toBe(200);
    expect(configs).toEqual([expect.objectContaining({ url: HOOK })]);
  });

  test("does not look up what is refused anyway", async () => {
    const { answer, asked } = await register("create", "https://evil.com/", "1.1.1.1");
    expect(answer).toEqual(refusal(binding, "INVALID_PARAMS", { fields: ["url"] }));
    expect(asked).toEqual([]);
  });
});
