/** The errors of §5.4 on the wire, in both bindings, and what an agent's own errors become. */
import { env } from "cloudflare:workers";
import { A2AError, defineAgent, type Task } from "durable-a2a";
import { afterEach, describe, expect, test, vi } from "vitest";
import { plain, REQUIRED_EXTENSION } from "./agents.ts";
import { BINDINGS, type Binding, exchange, operate, send } from "./bindings.ts";
import { type CallOptions, type Json, message, script } from "./client.ts";
import { deploy } from "./deployment.ts";
import { EventStream } from "./event-stream.ts";
import { type Refused, refusal, wire } from "./refusals.ts";

const NO_PARTS = { artifactUpdate: { artifact: { artifactId: "x", parts: [] } } };
const UNKNOWN = { id: "nope" };
const HI = { message: message("hi") };
const BINARY = { message: message([{ raw: "aGk=", mediaType: "application/x-foo" }]) };

type Call = [operation: Parameters<typeof exchange>[1], params: object, options?: CallOptions];

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(BINDINGS)("over %s, the error", (binding) => {
  const done = async () => ({ id: (await send(binding, "hi")).id });

  const calls: [reason: Refused, title: string, call: () => Promise<Call>, fields?: string[]][] = [
    ["TASK_NOT_FOUND", "an unknown task", async () => ["GetTask", UNKNOWN]],
    ["TASK_NOT_CANCELABLE", "canceling what is done", async () => ["CancelTask", await done()]],
    [
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
      "a webhook where none are called",
      async () => ["ListTaskPushNotificationConfigs", { taskId: "t" }, { agent: "plain" }],
    ],
    [
      "UNSUPPORTED_OPERATION",
      "subscribing to what is done",
      async () => ["SubscribeToTask", await done()],
    ],
    [
      "CONTENT_TYPE_NOT_SUPPORTED",
      "a part of a type the agent does not read",
      async () => ["SendMessage", BINARY, { agent: "plain" }],
      ["message.parts[0].mediaType"],
    ],
    [
      "INVALID_AGENT_RESPONSE",
      "an artifact without parts",
      async () => ["SendMessage", { message: message(script({ do: "publish", event: NO_PARTS })) }],
      ["artifactUpdate.artifact.parts"],
    ],
    [
      "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
      "an extended card that is declared and missing",
      async () => [
        "GetExtendedAgentCard",
        {},
        { agent: "strict", headers: { "A2A-Extensions": REQUIRED_EXTENSION } },
      ],
    ],
    [
      "EXTENSION_SUPPORT_REQUIRED",
      "a call without a required extension",
      async () => ["SendMessage", HI, { agent: "strict" }],
    ],
    [
      "VERSION_NOT_SUPPORTED",
      "a version that is not served",
      async () => ["SendMessage", HI, { headers: { "A2A-Version": "99.0" } }],
    ],
  ];
  test.each(calls)("%s answers %s (P-05, P-06, P-07)", async (reason, _title, call, fields = []) => {
    const answer = await wire(exchange(binding, ...(await call())));
    expect(answer).toEqual(refusal(binding, reason, { fields }));
  });
});

/** Sends this script, which the answer does not repeat; `plain` runs it unless another agent is named. */
function scripted(
  binding: Binding,
  steps: Parameters<typeof script>,
  agent = "plain",
): Promise<Response> {
  const params = { message: message(script(...steps)), configuration: { historyLength: 0 } };
  return exchange(binding, "SendMessage", params, { agent });
}

describe.each(BINDINGS)("over %s, a refusal of the task's object", (binding) => {
  test("keeps its code where no task was made of the id (P-08)", async () => {
    const id = env.TASK_OBJECT.newUniqueId().toString();
    for (const operation of ["GetTask", "CancelTask", "SubscribeToTask"] as const) {
      expect(await wire(exchange(binding, operation, { id }))).toEqual(
        refusal(binding, "TASK_NOT_FOUND"),
      );
    }
  });

  test("keeps its code, its text and what it tells, for a task that has ended (P-08)", async () => {
    const { id } = await send(binding, "hi");
    const message = expect.stringContaining("TASK_STATE_COMPLETED");
    expect(await wire(exchange(binding, "CancelTask", { id }))).toEqual(
      refusal(binding, "TASK_NOT_CANCELABLE", { message, metadata: { taskId: id } }),
    );
    expect(await wire(exchange(binding, "SubscribeToTask", { id }))).toEqual(
      refusal(binding, "UNSUPPORTED_OPERATION", { message, metadata: { taskId: id } }),
    );
  });

  test("keeps its code and the field, for a message of another context (P-08)", async () => {
    const { id } = await send(binding, script({ do: "input" }));
    const params = { message: message("more", { taskId: id, contextId: "another" }) };
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      expect(await wire(exchange(binding, operation, params))).toEqual(
        refusal(binding, "INVALID_PARAMS", { fields: ["message.contextId"] }),
      );
    }
  });
});

describe.each(BINDINGS)("over %s, an agent that publishes", (binding) => {
  const emptyMessage = { messageId: "x", role: "ROLE_AGENT", parts: [] };
  const illegal: [title: string, event: object, field: string][] = [
    ["an artifact", NO_PARTS, "artifactUpdate.artifact.parts"],
    [
      "a status message",
      { statusUpdate: { status: { state: "TASK_STATE_WORKING", message: emptyMessage } } },
      "statusUpdate.status.message.parts",
    ],
    ["a message", { message: emptyMessage }, "message.parts"],
    [
      "a task with an artifact",
      {
        task: {
          status: { state: "TASK_STATE_WORKING" },
          artifacts: [NO_PARTS.artifactUpdate.artifact],
        },
      },
      "task.artifacts[0].parts",
    ],
  ];

  test.each(illegal)(
    "%s without parts is at fault, and the task fails (P-20)",
    async (_title, event, field) => {
      const answer = await wire(scripted(binding, [{ do: "publish", event }], "script"));
      expect(answer).toEqual(refusal(binding, "INVALID_AGENT_RESPONSE", { fields: [field] }));
    },
  );

  test("nothing legal fails the task that the error names (P-05)", async () => {
    const { body } = await wire(scripted(binding, [{ do: "publish", event: NO_PARTS }]));
    const { error } = body as { error: { data?: Json[]; details?: Json[] } };
    const [info = {}] = error.data ?? error.details ?? [];
    const { taskId } = info.metadata as { taskId: string };
    const { value } = await operate(binding, "GetTask", { id: taskId }, { agent: "plain" });
    expect(value).toMatchObject({
      id: taskId,
      status: {
        state: "TASK_STATE_FAILED",
        message: { role: "ROLE_AGENT", parts: [{ text: expect.stringContaining("artifact.parts") }] },
      },
      artifacts: [],
    });
  });

  test.each(illegal)("%s without parts never shows it in a stream (P-20)", async (_title, event) => {
    const params = { message: message(script({ do: "publish", event })) };
    const response = await exchange(binding, "SendStreamingMessage", params);
    const [first, ...events] = await new EventStream(binding, response).rest();
    expect(first?.event.task).toMatchObject({ status: { state: "TASK_STATE_WORKING" }, artifacts: [] });
    expect(JSON.stringify(events)).not.toContain('"parts":[]');
    expect(events.at(-1)?.event).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_FAILED", message: { parts: [{}] } } },
    });
  });

  test("a message where only tasks are declared is at fault (P-20)", async () => {
    const answer = await wire(scripted(binding, [{ do: "reply", parts: [{ text: "hey" }] }]));
    expect(answer).toEqual(refusal(binding, "INVALID_AGENT_RESPONSE"));
  });
});

describe.each(BINDINGS)("over %s, an agent that throws", (binding) => {
  test("an error of its own fails the task, which shows the id of the request and not the text", async () => {
    const { status, body } = await wire(scripted(binding, [{ do: "throw", message: "secret 4711" }]));
    expect(status).toBe(200);
    const { task } = ((body as Json).result ?? body) as { task: Task };
    expect(task.status).toMatchObject({
      state: "TASK_STATE_FAILED",
      message: {
        parts: [{ text: expect.stringMatching(/^Internal error \(request [0-9a-f-]{36}\)$/) }],
      },
    });
    expect(JSON.stringify(body)).not.toContain("4711");
  });

  test.each<Refused>(["CONTENT_TYPE_NOT_SUPPORTED", "UNSUPPORTED_OPERATION", "TASK_NOT_FOUND"])(
    "an A2AError of %s answers with its code and its text (P-08)",
    async (reason) => {
      const text = "Only pictures of cats are read";
      const answer = await wire(
        scripted(binding, [{ do: "throw", reason: reason as "INTERNAL", message: text }]),
      );
      expect(answer).toEqual(
        refusal(binding, reason, { message: text, metadata: { taskId: expect.any(String) } }),
      );
    },
  );

  test("an A2AError fails the task of a stream with its text (P-08)", async () => {
    const text = "Only pictures of cats are read";
    const steps = script({ do: "throw", reason: "CONTENT_TYPE_NOT_SUPPORTED", message: text });
    const response = await exchange(binding, "SendStreamingMessage", { message: message(steps) });
    const events = await new EventStream(binding, response).rest();
    expect(events.at(-1)?.event).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_FAILED", message: { parts: [{ text }] } } },
    });
  });
});

/** The answer of GetExtendedAgentCard when it throws this: code of the agent that runs in the Worker itself. */
function cardOf(binding: Binding, error: () => unknown): Promise<Response> {
  const agent = defineAgent({
    ...plain.definition,
    extendedCard: () => {
      throw error();
    },
  });
  const fetch = deploy([agent]);
  const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
  if (binding === "rest") return fetch("https://agents.test/extendedAgentCard", { headers });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard" });
  return fetch("https://agents.test/", { method: "POST", headers, body });
}

/** The class of a second copy of the library, as two versions in one bundle would have it. */
async function secondCopy(): Promise<typeof A2AError> {
  const specifier = "../../src/protocol/errors.ts?second-copy";
  const copy = (await import(/* @vite-ignore */ specifier)) as { A2AError: typeof A2AError };
  expect(copy.A2AError).not.toBe(A2AError);
  return copy.A2AError;
}

describe.each(BINDINGS)("over %s, an extended card that throws", (binding) => {
  const told = { message: "Cards are for members", metadata: { scope: "cards" } };

  test.each(["PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "TASK_NOT_FOUND"] as const)(
    "an A2AError of %s keeps its code, its text and what it tells (P-08)",
    async (reason) => {
      const answer = await wire(cardOf(binding, () => new A2AError(reason, told)));
      expect(answer).toEqual(refusal(binding, reason, told));
    },
  );

  test("an A2AError of a second copy of the library keeps its code (P-08)", async () => {
    const SecondA2AError = await secondCopy();
    const answer = await wire(cardOf(binding, () => new SecondA2AError("PERMISSION_DENIED", told)));
    expect(answer).toEqual(refusal(binding, "PERMISSION_DENIED", told));
  });

  test.each<[title: string, error: () => unknown]>([
    ["an error", () => new Error("secret 4711")],
    ["a string", () => "secret 4711"],
    ["an object that names a reason", () => ({ reason: "TASK_NOT_FOUND", message: "secret 4711" })],
    [
      "an error that names an unknown reason",
      () => Object.assign(new Error("secret 4711"), { reason: "X" }),
    ],
    ["nothing", () => undefined],
  ])(
    "%s is logged once, and is an internal error that tells the id of the request alone",
    async (_title, error) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const answer = await wire(cardOf(binding, error));
      const message = expect.stringMatching(/^Internal error \(request [0-9a-f-]{36}\)$/);
      expect(answer).toEqual(refusal(binding, "INTERNAL", { message }));
      expect(log.mock.calls).toEqual([[expect.stringMatching(/^request [0-9a-f-]{36}:$/), error()]]);
    },
  );
});
