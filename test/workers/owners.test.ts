/** Whose task it is: nobody else can see, change or even notice it (§13.1; CASES.md, L-09, T-32). */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Part, Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import {
  BINDINGS,
  exchange,
  expectRefused,
  getTask,
  type Operation,
  operate,
  send,
} from "./bindings.ts";
import { type CallOptions, message, script } from "./client.ts";

const ALICE = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
const BOB = { agent: "keyed", headers: { "X-API-Key": "bob-key" } };
const HOOK = "https://example.com/hook";

type Asked = [Operation, (id: string) => object, Record<string, string>?];
const ASKED: Asked[] = [
  ["GetTask", (id) => ({ id })],
  ["GetTask", (id) => ({ id, historyLength: 1 })],
  ["CancelTask", (id) => ({ id })],
  ["SendMessage", (taskId) => ({ message: message("hi", { taskId, messageId: "m" }) })],
  ["SendMessage", (taskId) => ({ message: message("hi", { taskId, contextId: "other" }) })],
  [
    "SendMessage",
    (taskId) => ({
      message: message("hi", { taskId }),
      configuration: { taskPushNotificationConfig: { url: HOOK }, returnImmediately: true },
    }),
  ],
  ["SendStreamingMessage", (taskId) => ({ message: message("hi", { taskId }) })],
  ["SubscribeToTask", (id) => ({ id })],
  ["SubscribeToTask", (id) => ({ id }), { "Last-Event-ID": "1" }],
  ["CreateTaskPushNotificationConfig", (taskId) => ({ taskId, url: HOOK })],
  ["CreateTaskPushNotificationConfig", (taskId) => ({ taskId, id: "hook", url: HOOK, token: "t" })],
  ["GetTaskPushNotificationConfig", (taskId) => ({ taskId, id: "hook" })],
  ["GetTaskPushNotificationConfig", (taskId) => ({ taskId, id: "unknown" })],
  ["ListTaskPushNotificationConfigs", (taskId) => ({ taskId })],
  ["ListTaskPushNotificationConfigs", (taskId) => ({ taskId, pageSize: 1 })],
  ["DeleteTaskPushNotificationConfig", (taskId) => ({ taskId, id: "hook" })],
  ["DeleteTaskPushNotificationConfig", (taskId) => ({ taskId, id: "unknown" })],
];

/** A task of alice with a webhook, in the state that the ending leaves. */
async function alicesTask(
  ending: "complete" | "input",
  as: CallOptions = ALICE,
  tenant?: string,
): Promise<Task> {
  const sent = async (content: Part[], taskId?: string) => {
    const params = { tenant, message: message(content, taskId === undefined ? {} : { taskId }) };
    const { value } = await operate("jsonrpc", "SendMessage", params, as);
    return value?.task as Task;
  };
  const task = await sent(script({ do: "input" }));
  const hook = { tenant, taskId: task.id, id: "hook", url: HOOK };
  await operate("jsonrpc", "CreateTaskPushNotificationConfig", hook, as);
  if (ending === "input") return task;
  return sent(script({ do: "complete" }), task.id);
}

/** Everything that the object of a task has stored. */
function stored(id: string): Promise<Record<string, unknown[]>> {
  const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
  return runInDurableObject(stub, (_, { storage: { sql } }) => {
    const names = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    return Object.fromEntries(
      [...names]
        .filter(({ name }) => !name.startsWith("_cf"))
        .map(({ name }) => [name, sql.exec(`SELECT * FROM ${name}`).toArray()]),
    );
  });
}

/** An answer whole, without what differs between any two: times and ids. */
async function faceOf(response: Response, id: string): Promise<object> {
  const body = (await response.text())
    .replaceAll(id, "<id>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}

/** Who is not alice in the tenant alpha, by what tells them from her. */
const STRANGERS: Record<string, Stranger> = {
  "another principal": { tenant: "alpha", headers: { "X-API-Key": "bob-key" } },
  "the same principal in another tenant": { tenant: "beta", headers: { "X-API-Key": "alice-key" } },
  "the same principal in no tenant": { headers: { "X-API-Key": "alice-key" } },
  "a principal of the same name under another scheme": {
    tenant: "alpha",
    headers: { "X-Partner-Key": "alice-key" },
  },
  "the same principal at another agent": { agent: "keyed", headers: { "X-API-Key": "alice-key" } },
  "an anonymous caller at an open agent": { agent: "plain", headers: {} },
  "an anonymous caller": { tenant: "alpha", headers: {}, answer: "UNAUTHENTICATED" },
  "a caller of no tenant of ours": {
    tenant: "gamma",
    headers: { "X-API-Key": "alice-key" },
    answer: "PERMISSION_DENIED",
  },
};

interface Stranger {
  agent?: string;
  tenant?: string;
  headers: Record<string, string>;
  /** What every call is answered with. */
  answer?: string;
}

describe.each(BINDINGS)("over %s", (binding) => {
  describe.each(["input", "complete"] as const)("a task whose turn ended by %s", (ending) => {
    test.each(Object.entries(STRANGERS))(
      "is to %s like an id that never existed, in every operation, and nothing is written (L-09)",
      async (_, { agent = "shared", tenant, headers, answer }) => {
        const { id, contextId } = await alicesTask(ending, { ...ALICE, agent: "shared" }, "alpha");
        const random = env.TASK_OBJECT.newUniqueId().toString();
        const before = await stored(id);
        expect(Object.keys(before).sort()).toEqual(["event", "push"]);
        // An agent without webhooks or lists says so whatever the id.
        const expected =
          answer ?? (agent === "plain" ? "TASK_NOT_FOUND|NOT_SUPPORTED" : "TASK_NOT_FOUND");
        for (const [operation, params, more] of ASKED) {
          const as = { agent, headers: { ...headers, ...more } };
          const ask = async (of: string) =>
            faceOf(await exchange(binding, operation, { tenant, ...params(of) }, as), of);
          const face = await ask(id);
          expect(face, operation).toEqual(await ask(random));
          expect(face).toMatchObject({ body: expect.stringMatching(expected) });
          expect(JSON.stringify(face)).not.toContain("event-stream");
        }
        const list = async (of: string | undefined) =>
          faceOf(
            await exchange(binding, "ListTasks", { tenant, contextId: of }, { agent, headers }),
            String(of),
          );
        expect(await list(contextId)).toEqual(await list(crypto.randomUUID()));
        expect(await stored(id)).toEqual(before);
        expect(await stored(random)).toEqual({});
      },
    );
  });

  test.each(ASKED)(
    "%s %o is answered alike for ids that are no ids of ours (L-09)",
    async (operation, params) => {
      const { id } = await alicesTask("input");
      const as = { ...ALICE };
      const answers = [];
      for (const text of ["nope", id.toUpperCase(), `${id}0`, id.slice(1), "../tasks", "a:b", "%3A"]) {
        const answer = await operate(binding, operation, params(text), as);
        expectRefused(answer, "TASK_NOT_FOUND");
        answers.push(answer.error?.message);
      }
      expect(new Set(answers).size).toBe(1);
    },
  );

  test("the owner's own answer is another one than a stranger's (L-09)", async () => {
    const task = await alicesTask("input");
    expect(await getTask(binding, task.id, ALICE)).toEqual(task);
    const configs = await operate(
      binding,
      "ListTaskPushNotificationConfigs",
      { taskId: task.id },
      ALICE,
    );
    expect(configs.value).toMatchObject({ configs: [{ id: "hook", taskId: task.id }] });
  });

  test.each(["mirror", "plain", undefined])(
    "a task is unknown to agent %s of the same Worker, also with the owner's key (L-09)",
    async (agent) => {
      const { id } = await alicesTask("input");
      const as = { ...(agent !== undefined && { agent }), headers: ALICE.headers };
      for (const operation of ["GetTask", "CancelTask", "SubscribeToTask"] as const) {
        expectRefused(await operate(binding, operation, { id }, as), "TASK_NOT_FOUND");
      }
      const more = { message: message("hi", { taskId: id }) };
      expectRefused(await operate(binding, "SendMessage", more, as), "TASK_NOT_FOUND");
      expect((await getTask(binding, id, ALICE)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    },
  );

  test("a context id of another owner makes a task of one's own, and groups nothing (L-09)", async () => {
    const alices = await send(binding, "hers", {}, ALICE);
    const { contextId } = alices;
    const bobs = await send(binding, "his", { contextId }, BOB);
    expect(bobs).toMatchObject({ contextId, status: { state: "TASK_STATE_COMPLETED" } });
    expect(bobs.id).not.toBe(alices.id);
    const listed = async (as: typeof ALICE) =>
      (await operate(binding, "ListTasks", { contextId }, as)).value;
    expect(await listed(ALICE)).toMatchObject({ totalSize: 1, tasks: [{ id: alices.id }] });
    expect(await listed(BOB)).toMatchObject({ totalSize: 1, tasks: [{ id: bobs.id }] });
    expectRefused(await operate(binding, "GetTask", { id: alices.id }, BOB), "TASK_NOT_FOUND");
  });

  test("an agent sees only its caller's tasks in a context id that another owner uses too (L-09)", async () => {
    const contextId = crypto.randomUUID();
    const mirror = (key: string) => ({ agent: "mirror", headers: { "X-API-Key": key } });
    await send(binding, "hers", { contextId }, mirror("alice-key"));
    const first = await send(binding, "his", { contextId }, mirror("bob-key"));
    const second = await send(binding, "his", { contextId }, mirror("bob-key"));
    expect(first.artifacts?.[0]?.parts[0]?.data).toMatchObject({ context: [] });
    expect(second.artifacts?.[0]?.parts[0]?.data).toMatchObject({ context: [first.id] });
  });

  test("metadata that name another owner change nothing of whose the task is (T-32)", async () => {
    const metadata = {
      resourceId: "bob",
      owner: "bob",
      principal: "bob",
      tenant: "bob",
      caller: "bob",
    };
    const { id } = await send(binding, "hi", { metadata }, { ...ALICE, metadata });
    expect((await getTask(binding, id, ALICE)).id).toBe(id);
    expectRefused(await operate(binding, "GetTask", { id }, BOB), "TASK_NOT_FOUND");
    const { value } = await operate(binding, "ListTasks", { pageSize: 100 }, BOB);
    expect(JSON.stringify(value)).not.toContain(id);
  });
});
