/** What the card declares is what is served: who may call, the extended card, the capabilities (§3.3.4, §7.4, §13.3). */
import type { AgentCard } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { OPTIONAL_EXTENSION, REQUIRED_EXTENSION } from "./agents.ts";
import { BINDINGS, type Binding, exchange, operate } from "./bindings.ts";
import { call, message } from "./client.ts";
import { type Refused, refusal, wire } from "./refusals.ts";

type Operation = Parameters<typeof exchange>[1];

const PATH = "/.well-known/agent-card.json";
const HOOK = { taskId: "t", id: "c", url: "https://example.com/hook" };
const HI = { message: message("hi") };

const PARAMS: Record<Operation, object> = {
  SendMessage: HI,
  SendStreamingMessage: HI,
  GetTask: { id: "nope" },
  ListTasks: {},
  CancelTask: { id: "nope" },
  SubscribeToTask: { id: "nope" },
  CreateTaskPushNotificationConfig: HOOK,
  ListTaskPushNotificationConfigs: { taskId: "t" },
  GetTaskPushNotificationConfig: { taskId: "t", id: "c" },
  DeleteTaskPushNotificationConfig: { taskId: "t", id: "c" },
  GetExtendedAgentCard: {},
};
const OPERATIONS = Object.keys(PARAMS) as Operation[];

async function cardOf(agent: string): Promise<AgentCard> {
  return (await call(`/agents/${agent}${PATH}`)).json();
}

describe.each(BINDINGS)("over %s, without a good key", (binding) => {
  const attempts: [title: string, headers: Record<string, string>][] = [
    ["no key", {}],
    ["a wrong key", { "X-API-Key": "alice-kez" }],
    ["an empty key", { "X-API-Key": "" }],
    ["two keys at once", { "X-API-Key": "alice-key, bob-key" }],
    [
      "the hash of a key",
      { "X-API-Key": "72ee9d4355ccb9d3a4c9dbf37382e38e75c1b1a225b5bd1f729ee91bbda30c20" },
    ],
    ["the key in another header", { Authorization: "Bearer alice-key" }],
    ["the name of a caller", { "X-API-Key": "alice" }],
  ];

  describe.each(attempts)("but with %s,", (_title, headers) => {
    test.each(OPERATIONS)("%s is 401 with a challenge (C-10, C-12)", async (operation) => {
      const response = await exchange(binding, operation, PARAMS[operation], {
        agent: "keyed",
        headers,
      });
      expect(response.headers.get("WWW-Authenticate")).toBe('ApiKey realm="a2a", header="X-API-Key"');
      const told = { id: null, metadata: { scheme: "apiKey" } };
      expect(await wire(response)).toEqual(refusal(binding, "UNAUTHENTICATED", told));
    });
  });

  test("a body is not even read: what cannot be parsed is 401 (C-12)", async () => {
    const path = binding === "rest" ? "/agents/keyed/message:send" : "/agents/keyed";
    const answer = await wire(call(path, { method: "POST", body: "{" }));
    expect(answer).toEqual(refusal(binding, "UNAUTHENTICATED", { id: null }));
  });

  test("a good key lets in, whatever the case of the header's name", async () => {
    const options = { agent: "keyed", headers: { "x-api-KEY": "alice-key" } };
    const { value } = await operate(binding, "SendMessage", HI, options);
    expect(value).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });
});

test("what is no route of an agent with keys is 401 too, and tells nothing (C-12)", async () => {
  const answer = await wire(call("/agents/keyed/nowhere"));
  expect(answer).toEqual(refusal("rest", "UNAUTHENTICATED"));
});

describe.each(BINDINGS)("over %s, the extended card", (binding) => {
  const extended = (agent: string, headers: Record<string, string> = {}) =>
    exchange(binding, "GetExtendedAgentCard", {}, { agent, headers });

  test("that is not declared is an unsupported operation (C-09)", async () => {
    expect((await cardOf("plain")).capabilities.extendedAgentCard).toBe(false);
    expect(await wire(extended("plain"))).toEqual(refusal(binding, "UNSUPPORTED_OPERATION"));
  });

  test("that is declared and not there is not configured (C-09)", async () => {
    expect((await cardOf("strict")).capabilities.extendedAgentCard).toBe(true);
    const answer = await wire(extended("strict", { "A2A-Extensions": REQUIRED_EXTENSION }));
    expect(answer).toEqual(refusal(binding, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"));
  });

  test.each(["alice", "bob"])("is the whole card, as %s is to see it (C-10)", async (caller) => {
    const options = { agent: "keyed", headers: { "X-API-Key": `${caller}-key` } };
    const { value } = await operate(binding, "GetExtendedAgentCard", {}, options);
    expect(value).toEqual({ ...(await cardOf("keyed")), description: `For ${caller}` });
  });

  test("of an agent that is open to anyone is given to anyone (C-10)", async () => {
    const { value } = await operate(binding, "GetExtendedAgentCard", {}, { agent: "script" });
    expect(value).toEqual({ ...(await cardOf("script")), description: "The extended card" });
  });
});

describe.each(BINDINGS)("over %s, a capability that the card does not declare", (binding) => {
  /** The operations, each refused, whether or not what they ask for is legal. */
  async function allRefused(agent: string, reason: Refused, operations: Operation[]): Promise<void> {
    for (const operation of operations) {
      const answers = [PARAMS[operation], { ...PARAMS[operation], tenant: 5, url: "" }].map((params) =>
        wire(exchange(binding, operation, params, { agent })),
      );
      for (const answer of await Promise.all(answers)) {
        expect(answer, operation).toEqual(refusal(binding, reason));
      }
    }
  }

  test("is not streamed: both streams are unsupported, and SendMessage is served (§3.3.4)", async () => {
    expect((await cardOf("still")).capabilities.streaming).toBe(false);
    await allRefused("still", "UNSUPPORTED_OPERATION", ["SendStreamingMessage", "SubscribeToTask"]);
    const { value } = await operate(binding, "SendMessage", HI, { agent: "still" });
    expect(value).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  test("is not pushed: all four operations on webhooks are refused (§3.3.4)", async () => {
    expect((await cardOf("plain")).capabilities.pushNotifications).toBe(false);
    await allRefused("plain", "PUSH_NOTIFICATION_NOT_SUPPORTED", [
      "CreateTaskPushNotificationConfig",
      "ListTaskPushNotificationConfigs",
      "GetTaskPushNotificationConfig",
      "DeleteTaskPushNotificationConfig",
    ]);
  });

  test.each<Operation>(["SendMessage", "SendStreamingMessage"])(
    "is not pushed: a webhook inside %s is refused, and nothing runs (§3.3.4)",
    async (operation) => {
      // `mirror` lists its tasks and calls no webhooks.
      const options = { agent: "mirror", headers: { "X-API-Key": "alice-key" } };
      const contextId = crypto.randomUUID();
      const configuration = { taskPushNotificationConfig: { url: "https://example.com/hook" } };
      const params = { message: message("hi", { contextId }), configuration };
      const answer = await wire(exchange(binding, operation, params, options));
      expect(answer).toEqual(refusal(binding, "PUSH_NOTIFICATION_NOT_SUPPORTED"));
      const { value } = await operate(binding, "ListTasks", { contextId }, options);
      expect(value).toMatchObject({ totalSize: 0 });
    },
  );

  test("is not listed: an open agent refuses to list, unless it says so (§3.3.4)", async () => {
    const answer = await wire(exchange(binding, "ListTasks", {}, { agent: "plain" }));
    expect(answer).toEqual(refusal(binding, "UNSUPPORTED_OPERATION"));
  });
});

describe.each(BINDINGS)("over %s, extensions", (binding: Binding) => {
  const ask = (extensions?: string, operation: Operation = "SendMessage", agent = "strict") =>
    exchange(binding, operation, PARAMS[operation], {
      agent,
      headers: extensions === undefined ? {} : { "A2A-Extensions": extensions },
    });
  const echoed = (response: Response) => response.headers.get("A2A-Extensions");

  test.each(OPERATIONS.filter((name) => !name.includes("PushNotification")))(
    "that the card requires are required of %s (C-18)",
    async (operation) => {
      const { capabilities } = await cardOf("strict");
      expect(capabilities.extensions).toEqual([
        { uri: REQUIRED_EXTENSION, required: true },
        { uri: OPTIONAL_EXTENSION },
      ]);
      for (const named of [
        undefined,
        "",
        OPTIONAL_EXTENSION,
        `${REQUIRED_EXTENSION}x`,
        REQUIRED_EXTENSION.toUpperCase(),
      ]) {
        const answer = await wire(ask(named, operation));
        const metadata = { extensions: REQUIRED_EXTENSION };
        expect(answer, named).toEqual(refusal(binding, "EXTENSION_SUPPORT_REQUIRED", { metadata }));
      }
    },
  );

  test.each<[named: string, active: string]>([
    [REQUIRED_EXTENSION, REQUIRED_EXTENSION],
    [`${OPTIONAL_EXTENSION},${REQUIRED_EXTENSION}`, `${OPTIONAL_EXTENSION}, ${REQUIRED_EXTENSION}`],
    [` ${REQUIRED_EXTENSION} ,, https://unknown.example/x`, REQUIRED_EXTENSION],
    [`${REQUIRED_EXTENSION}, ${REQUIRED_EXTENSION}`, REQUIRED_EXTENSION],
  ])("named as %j are served, and the active ones echoed (C-18)", async (named, active) => {
    const response = await ask(named);
    expect(echoed(response)).toBe(active);
    expect((await wire(response)).status).toBe(200);
  });

  test("are echoed with a stream, and with a refusal (C-18)", async () => {
    const stream = await ask(REQUIRED_EXTENSION, "SendStreamingMessage");
    expect(stream.headers.get("Content-Type")).toBe("text/event-stream");
    expect(echoed(stream)).toBe(REQUIRED_EXTENSION);
    await stream.text();
    const refused = await ask(REQUIRED_EXTENSION, "GetTask");
    expect(echoed(refused)).toBe(REQUIRED_EXTENSION);
    expect(await wire(refused)).toEqual(refusal(binding, "TASK_NOT_FOUND"));
  });

  test("on two header lines are one list (C-18)", async () => {
    const headers = new Headers({ "Content-Type": "application/json", "A2A-Version": "1.0" });
    headers.append("A2A-Extensions", OPTIONAL_EXTENSION);
    headers.append("A2A-Extensions", REQUIRED_EXTENSION);
    const isRest = binding === "rest";
    const body = isRest ? HI : { jsonrpc: "2.0", id: 1, method: "SendMessage", params: HI };
    const path = `/agents/strict${isRest ? "/message:send" : ""}`;
    const response = await call(path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(echoed(response)).toBe(`${OPTIONAL_EXTENSION}, ${REQUIRED_EXTENSION}`);
    expect((await wire(response)).status).toBe(200);
  });

  test("in the header of v0.3 are not named (C-18)", async () => {
    const headers = { "X-A2A-Extensions": REQUIRED_EXTENSION };
    const answer = await wire(exchange(binding, "SendMessage", HI, { agent: "strict", headers }));
    expect(answer).toEqual(refusal(binding, "EXTENSION_SUPPORT_REQUIRED"));
  });

  test("that the agent does not know are ignored, and not echoed (C-18)", async () => {
    const response = await ask("https://unknown.example/x", "SendMessage", "plain");
    expect(echoed(response)).toBeNull();
    expect((await wire(response)).status).toBe(200);
  });
});
