/** What a caller who was let in may do: scopes of skills, and the agent's own word (§7.5, §13.1). */
import {
  A2AError,
  type AgentCard,
  type AgentDefinition,
  type AuthorizeRequest,
  allOf,
  anyOf,
  bearerJwt,
  defineAgent,
  mtls,
  oauth2,
  open,
  SKILL_EXTENSION,
} from "durable-a2a";
import { describe, expect, test, vi } from "vitest";
import { skilled } from "./agents.ts";
import { BINDINGS, type Binding } from "./bindings.ts";
import { type Json, message, ORIGIN } from "./client.ts";
import { deploy, type Fetch } from "./deployment.ts";

const HASH = {
  alice: "72ee9d4355ccb9d3a4c9dbf37382e38e75c1b1a225b5bd1f729ee91bbda30c20",
  bob: "9b94dc1a51a38769f135edf04033ad7f2f487b6c25929be7a861cfc1ab10cf98",
};
/** Alice may do everything, bob may write. */
const API_KEYS = JSON.stringify({
  alice: { hash: HASH.alice, scopes: ["write", "erase"] },
  bob: { hash: HASH.bob, scopes: ["write"] },
});

function agentWith(changes: Partial<AgentDefinition> = {}): Fetch {
  return deploy([defineAgent({ ...skilled.definition, id: "skilled", ...changes })], { API_KEYS });
}

interface Answer {
  status: number;
  value: Json | undefined;
  error: { message: string; details: Json[] } | undefined;
  text: string;
}

async function ask(
  fetch: Fetch,
  binding: Binding,
  key: string,
  params: object,
  [operation, verb, path]: [string, string, string] = ["SendMessage", "POST", "/message:send"],
): Promise<Answer> {
  const headers = { "Content-Type": "application/json", "X-API-Key": `${key}-key` };
  const body = verb === "POST" ? { body: JSON.stringify(params) } : {};
  const call = { jsonrpc: "2.0", id: 1, method: operation, params };
  const response =
    binding === "rest"
      ? await fetch(ORIGIN + path, { method: verb, headers, ...body })
      : await fetch(ORIGIN, { method: "POST", headers, body: JSON.stringify(call) });
  const text = await response.text();
  if (response.headers.get("Content-Type") === "text/event-stream" || text === "") {
    return { status: response.status, value: {}, error: undefined, text };
  }
  const answer = JSON.parse(text) as Json;
  const error = answer.error as { message: string; data?: Json[]; details?: Json[] } | undefined;
  return {
    status: response.status,
    value: error ? undefined : ((answer.result ?? answer) as Json),
    error: error && { message: error.message, details: error.data ?? error.details ?? [] },
    text,
  };
}

/** Id of the task that the answer has. */
function idOf({ value, text }: Answer): string {
  const task = value?.task as { id: string } | undefined;
  if (!task) throw new Error(`no task: ${text}`);
  return task.id;
}

const TEXT = { task: { artifacts: [{ parts: [{ text: "" }] }] } };
const said = (text: string) => {
  const expected = structuredClone(TEXT);
  const [artifact] = expected.task.artifacts;
  if (artifact) artifact.parts = [{ text }];
  return expected;
};

const inExtension = (skill: unknown) => ({
  message: message("hi", { metadata: { [SKILL_EXTENSION]: { skill } } }),
});

describe.each(BINDINGS)("over %s, a skill with scopes", (binding) => {
  const fetch = agentWith();

  test.each<[caller: string, skill: string]>([
    ["alice", "read"],
    ["alice", "write"],
    ["alice", "erase"],
    ["bob", "read"],
    ["bob", "write"],
  ])("is %s's who has them: %s", async (caller, skill) => {
    const messages = [
      inExtension(skill),
      { message: message("hi", { metadata: { skill } }) },
      { message: message("hi"), metadata: { skill } },
    ];
    for (const params of messages) {
      expect((await ask(fetch, binding, caller, params)).value).toMatchObject(said(skill));
    }
  });

  test("is refused to a caller without one, which is named; nothing runs", async () => {
    for (const operation of [
      ["SendMessage", "POST", "/message:send"],
      ["SendStreamingMessage", "POST", "/message:stream"],
    ] as [string, string, string][]) {
      const { status, error } = await ask(fetch, binding, "bob", inExtension("erase"), operation);
      expect(status).toBe(403);
      expect(error?.message).toBe("Permission denied: the skill erase needs the scope erase");
      expect(error?.details).toMatchObject([
        { reason: "PERMISSION_DENIED", metadata: { scopes: "erase" } },
      ]);
    }
  });

  test("is refused to a message that names none: it may be about any", async () => {
    const unnamed = { message: message("hi") };
    const bobs = await ask(fetch, binding, "bob", unnamed);
    expect(bobs.error?.message).toBe(
      "Permission denied: a message that names no skill needs the scope erase",
    );
    expect((await ask(fetch, binding, "alice", unnamed)).value).toMatchObject(said("none"));
    const unknown = { message: message("hi", { metadata: { skill: "no skill of this agent" } }) };
    expect((await ask(fetch, binding, "bob", unknown)).status).toBe(403);
  });

  test("is not had by naming another one elsewhere: what is checked is what the turn is told", async () => {
    const metadata = { [SKILL_EXTENSION]: { skill: "read" }, skill: "erase" };
    const params = { message: message("hi", { metadata }), metadata: { skill: "erase" } };
    expect((await ask(fetch, binding, "bob", params)).value).toMatchObject(said("read"));
    const reverse = {
      message: message("hi", { metadata: { [SKILL_EXTENSION]: { skill: "erase" }, skill: "read" } }),
    };
    expect((await ask(fetch, binding, "bob", reverse)).status).toBe(403);
  });

  test.each([["eraser"], [""], [1], [null], [["erase"]], [undefined]])(
    "named %j by the extension is none of the agent's, and refused by the field",
    async (skill) => {
      const { status, error } = await ask(fetch, binding, "alice", inExtension(skill));
      expect(status).toBe(binding === "rest" ? 400 : 200);
      expect(error?.details).toMatchObject([
        { fieldViolations: [{ field: `message.metadata.${SKILL_EXTENSION}.skill` }] },
      ]);
    },
  );

  test("is checked again for each further message of a task", async () => {
    const first = await ask(fetch, binding, "bob", {
      message: message("ask", { metadata: { skill: "write" } }),
    });
    const id = idOf(first);
    const more = (skill: string) => ({ message: message("more", { taskId: id, metadata: { skill } }) });
    expect((await ask(fetch, binding, "bob", more("erase"))).status).toBe(403);
    expect((await ask(fetch, binding, "bob", more("write"))).value).toMatchObject({
      task: { id, status: { state: "TASK_STATE_COMPLETED" } },
    });
  });
});

describe("the card of an agent whose skills have scopes", () => {
  const cardOf = async (changes: Partial<AgentDefinition>) =>
    (await agentWith(changes)(`${ORIGIN}/.well-known/agent-card.json`)).json<AgentCard>();
  const tokens = {
    issuer: "https://login.test",
    audience: "a",
    algorithms: ["RS256" as const],
    jwksUrl: "https://login.test/jwks",
  };
  const flow = { clientCredentials: { tokenUrl: "https://login.test/token", scopes: {} } };

  test("says what each needs, and how a message names one", async () => {
    const card = await cardOf({});
    expect(card.skills.map((skill) => skill.securityRequirements)).toEqual([
      undefined,
      [{ schemes: { apiKey: { list: ["write"] } } }],
      [{ schemes: { apiKey: { list: ["write", "erase"] } } }],
    ]);
    expect(card.skills[1]).not.toHaveProperty("scopes");
    expect(card.capabilities.extensions).toEqual([
      { uri: SKILL_EXTENSION, description: "A message names its skill in its metadata" },
    ]);
  });

  test("says it of each way to be let in, of tokens where there are any", async () => {
    const auth = anyOf(
      allOf(mtls(), oauth2({ ...tokens, flow, scopes: ["a2a", "write"] })),
      bearerJwt(tokens),
    );
    const card = await cardOf({ auth });
    expect(card.skills[1]?.securityRequirements).toEqual([
      { schemes: { mtls: { list: [] }, oauth2: { list: ["a2a", "write"] } } },
      { schemes: { bearer: { list: ["write"] } } },
    ]);
  });

  test("says it in an extended card too", async () => {
    const skills = [{ id: "x", name: "X", description: "X", tags: ["x"], scopes: ["deep"] }];
    const { value } = await ask(agentWith({ extendedCard: () => ({ skills }) }), "jsonrpc", "bob", {}, [
      "GetExtendedAgentCard",
      "GET",
      "/extendedAgentCard",
    ]);
    expect(value).toMatchObject({
      skills: [{ id: "x", securityRequirements: [{ schemes: { apiKey: { list: ["deep"] } } }] }],
    });
    expect(JSON.stringify(value)).not.toContain('"scopes"');
  });

  test("does not declare the extension twice, nor without need", async () => {
    const declared = [{ uri: SKILL_EXTENSION, required: true }];
    expect((await cardOf({ extensions: declared })).capabilities.extensions).toEqual(declared);
    const [read] = skilled.definition.skills;
    if (!read) throw new Error("no skill");
    expect((await cardOf({ skills: [read] })).capabilities).not.toHaveProperty("extensions");
  });

  test.each<[field: string, changes: object]>([
    ["skills[0].scopes[0]", { scopes: ["two words"] }],
    ["skills[0].scopes", { scopes: "write" }],
    ["skills[0].securityRequirements", { securityRequirements: [] }],
  ])("%s of %o is refused where it is written", (field, changes) => {
    const [skill] = skilled.definition.skills;
    const skills = [{ ...skill, ...changes }] as typeof skilled.definition.skills;
    expect(() => defineAgent({ ...skilled.definition, skills })).toThrow(`defineAgent: ${field}`);
  });

  test("an agent that is open to anyone has no scopes to ask for", () => {
    const definition = { ...skilled.definition, auth: open() };
    expect(() => defineAgent(definition)).toThrow("defineAgent: skills[1].scopes");
  });
});

/** Every operation on a task with an id, over REST and by name. */
const ON_TASK: [name: string, verb: string, path: string, params: (id: string) => object][] = [
  ["GetTask", "GET", "/tasks/ID", (id) => ({ id })],
  ["CancelTask", "POST", "/tasks/ID:cancel", (id) => ({ id })],
  ["SubscribeToTask", "POST", "/tasks/ID:subscribe", (id) => ({ id })],
  [
    "SendMessage",
    "POST",
    "/message:send",
    (taskId) => ({ message: message("hi", { taskId, metadata: { skill: "read" } }) }),
  ],
  [
    "SendStreamingMessage",
    "POST",
    "/message:stream",
    (taskId) => ({ message: message("hi", { taskId, metadata: { skill: "read" } }) }),
  ],
  [
    "CreateTaskPushNotificationConfig",
    "POST",
    "/tasks/ID/pushNotificationConfigs",
    (taskId) => ({ taskId, url: "https://example.com/h" }),
  ],
  [
    "GetTaskPushNotificationConfig",
    "GET",
    "/tasks/ID/pushNotificationConfigs/h",
    (taskId) => ({ taskId, id: "h" }),
  ],
  [
    "ListTaskPushNotificationConfigs",
    "GET",
    "/tasks/ID/pushNotificationConfigs",
    (taskId) => ({ taskId }),
  ],
  [
    "DeleteTaskPushNotificationConfig",
    "DELETE",
    "/tasks/ID/pushNotificationConfigs/h",
    (taskId) => ({ taskId, id: "h" }),
  ],
];
const WITHOUT_TASK: typeof ON_TASK = [
  ["ListTasks", "GET", "/tasks", () => ({})],
  ["GetExtendedAgentCard", "GET", "/extendedAgentCard", () => ({})],
  [
    "SendMessage",
    "POST",
    "/message:send",
    () => ({ message: message("hi", { metadata: { skill: "write" } }) }),
  ],
  [
    "SendStreamingMessage",
    "POST",
    "/message:stream",
    () => ({ message: message("hi", { metadata: { skill: "write" } }) }),
  ],
];

async function waiting(): Promise<string> {
  const params = { message: message("ask", { metadata: { skill: "read" } }) };
  return idOf(await ask(agentWith(), "rest", "alice", params));
}

describe.each(BINDINGS)("over %s, authorize", (binding) => {
  const asked: AuthorizeRequest[] = [];
  const watch = (answer: () => unknown) =>
    agentWith({
      authorize(request) {
        asked.push(request);
        return answer() as boolean;
      },
    });

  test.each(ON_TASK)("is asked about %s, with the task", async (name, verb, path, params) => {
    const id = await waiting();
    asked.length = 0;
    const sent = params(id) as { message?: object };
    const { status } = await ask(
      watch(() => false),
      binding,
      "alice",
      sent,
      [name, verb, path.replace("ID", id)],
    );
    expect(status).toBe(403);
    expect(asked).toMatchObject([
      {
        caller: { principal: "alice" },
        operation: name,
        task: { id, status: { state: "TASK_STATE_INPUT_REQUIRED" } },
      },
    ]);
    expect(asked[0]?.message).toEqual(sent.message);
    expect(asked[0]?.skill).toBe(sent.message ? "read" : undefined);
    // Denied, it changed nothing.
    const task = await ask(agentWith(), binding, "alice", { id }, ["GetTask", "GET", `/tasks/${id}`]);
    expect(task.value).toMatchObject({ status: { state: "TASK_STATE_INPUT_REQUIRED" } });
  });

  test.each(WITHOUT_TASK)(
    "is asked about %s, which names no task",
    async (name, verb, path, params) => {
      asked.length = 0;
      const sent = params("") as { message?: object };
      const { status } = await ask(
        watch(() => false),
        binding,
        "alice",
        sent,
        [name, verb, path],
      );
      expect(status).toBe(403);
      expect(asked).toMatchObject([{ operation: name, task: undefined }]);
      expect(asked[0]?.message).toEqual(sent.message);
    },
  );

  test.each<[title: string, answer: () => unknown]>([
    ["false", () => false],
    ["nothing", () => undefined],
    ["null", () => null],
    ["1", () => 1],
    ['"true"', () => "true"],
    ["an object", () => ({})],
    ["a promise of false", () => Promise.resolve(false)],
    ["a promise of nothing", () => Promise.resolve()],
    [
      "an error",
      () => {
        throw new Error("secret reason");
      },
    ],
    ["a promise that fails", () => Promise.reject(new Error("secret reason"))],
    [
      "an error of another kind",
      () => {
        throw new A2AError("TASK_NOT_FOUND");
      },
    ],
  ])("denies by %s", async (_, answer) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { status, error, text } = await ask(watch(answer), binding, "alice", {}, [
      "ListTasks",
      "GET",
      "/tasks",
    ]);
    expect(status).toBe(403);
    expect(error?.details).toMatchObject([{ reason: "PERMISSION_DENIED" }]);
    expect(text).not.toContain("secret");
    vi.restoreAllMocks();
  });

  test("may say why it denies", async () => {
    const why = () => {
      throw new A2AError("PERMISSION_DENIED", { message: "Not on Sundays" });
    };
    const { status, error } = await ask(watch(why), binding, "alice", {}, [
      "ListTasks",
      "GET",
      "/tasks",
    ]);
    expect([status, error?.message]).toEqual([403, "Not on Sundays"]);
  });

  test("lets through by true, and by a promise of it", async () => {
    for (const answer of [() => true, () => Promise.resolve(true)]) {
      const { status } = await ask(watch(answer), binding, "alice", {}, ["ListTasks", "GET", "/tasks"]);
      expect(status).toBe(200);
    }
  });

  test.each(ON_TASK)(
    "widens nothing: %s of another's task is as of none, and it is not asked",
    async (name, verb, path, params) => {
      const id = await waiting();
      asked.length = 0;
      const fetch = watch(() => true);
      const answers = [];
      for (const of of [id, "0".repeat(64)]) {
        const { status, text } = await ask(fetch, binding, "bob", params(of), [
          name,
          verb,
          path.replace("ID", of),
        ]);
        answers.push([status, text.replaceAll(of, "ID").replace(/\d{4}-[\dT:.-]+Z/, "")]);
        expect(text).toContain("TASK_NOT_FOUND");
      }
      expect(answers[0]).toEqual(answers[1]);
      expect(asked).toEqual([]);
    },
  );

  test("widens no scopes", async () => {
    expect(
      (
        await ask(
          watch(() => true),
          binding,
          "bob",
          inExtension("erase"),
        )
      ).status,
    ).toBe(403);
  });
});
