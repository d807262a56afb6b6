/** What callers leave behind and what they get back: audit records, log lines, headers, errors that repeat nothing. */
import { type AgentDefinition, type AuditRecord, defineAgent, open, type Task } from "durable-a2a";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { keyed, plain, shared } from "./agents.ts";
import { BINDINGS, exchange, type Operation, operate, send } from "./bindings.ts";
import { call, type Json, message, ORIGIN, rpc, script } from "./client.ts";
import { deploy, type Fetch } from "./deployment.ts";

const HOOK = "https://example.com/hook";
const JSON_TYPE = { "Content-Type": "application/json" };
const ALICE = { ...JSON_TYPE, "X-API-Key": "alice-key" };

afterEach(() => {
  vi.restoreAllMocks();
});

/** What is printed until the test ends, in order, whole. */
function printed(): string[] {
  const lines: string[] = [];
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => {
      lines.push(
        values.map((value) => (value instanceof Error ? value.stack : String(value))).join(" "),
      );
    });
  }
  return lines;
}

describe.each(BINDINGS)("over %s, audit", (binding) => {
  /** The agent with a sink, and its records. */
  function watched(changes: Partial<AgentDefinition> = {}): { fetch: Fetch; records: AuditRecord[] } {
    const records: AuditRecord[] = [];
    const audit = (record: AuditRecord, env: unknown) => {
      expect(env).toHaveProperty("TASK_OBJECT");
      records.push(record);
    };
    return { fetch: deploy([defineAgent({ ...shared.definition, audit, ...changes })]), records };
  }

  async function ask(
    fetch: Fetch,
    name: Operation,
    params: Json,
    headers: object = {},
  ): Promise<Response> {
    const { id, taskId, tenant } = params as { id?: string; taskId?: string; tenant?: string };
    const prefix = tenant === undefined ? "" : `/${tenant}`;
    const [verb = "", path = ""] = {
      SendMessage: ["POST", "/message:send"],
      SendStreamingMessage: ["POST", "/message:stream"],
      CancelTask: ["POST", `/tasks/${id}:cancel`],
      CreateTaskPushNotificationConfig: ["POST", `/tasks/${taskId}/pushNotificationConfigs`],
      DeleteTaskPushNotificationConfig: ["DELETE", `/tasks/${taskId}/pushNotificationConfigs/${id}`],
      GetTask: ["GET", `/tasks/${id}`],
      ListTasks: ["GET", "/tasks"],
    }[name as "SendMessage"] ?? ["GET", "/"];
    const sent = { ...ALICE, ...headers } as Record<string, string>;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params });
    const response =
      binding === "jsonrpc"
        ? await fetch(ORIGIN, { method: "POST", headers: sent, body })
        : await fetch(`${ORIGIN}${prefix}${path}`, {
            method: verb,
            headers: sent,
            ...(verb === "POST" && { body: JSON.stringify(params) }),
          });
    return new Response(await response.text(), response);
  }

  test("has one record for each call that changes state, and none for those that read", async () => {
    const { fetch, records } = watched();
    const waits = { message: message(script({ do: "input" })), tenant: "alpha" };
    const first = (await (await ask(fetch, "SendMessage", waits)).json()) as {
      result?: { task: Task };
      task?: Task;
    };
    const task = (first.result?.task ?? first.task)?.id ?? "";
    const named = { id: task, tenant: "alpha" };
    await ask(fetch, "GetTask", named);
    await ask(fetch, "ListTasks", { tenant: "alpha" });
    await ask(fetch, "SendStreamingMessage", {
      ...waits,
      message: message(script({ do: "input" }), { taskId: task }),
    });
    await ask(fetch, "CreateTaskPushNotificationConfig", {
      taskId: task,
      id: "h",
      url: HOOK,
      tenant: "alpha",
    });
    await ask(fetch, "DeleteTaskPushNotificationConfig", { taskId: task, id: "h", tenant: "alpha" });
    await ask(fetch, "CancelTask", named);
    const who = {
      agent: "shared",
      tenant: "alpha",
      scheme: "apiKey",
      principal: "alice",
      outcome: "OK",
      task,
    };
    const of = (operation: string, state?: string) => ({
      ...who,
      operation,
      ...(state !== undefined && { state }),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(records).toEqual([
      of("SendMessage", "TASK_STATE_INPUT_REQUIRED"),
      of("SendStreamingMessage", "TASK_STATE_WORKING"),
      of("CreateTaskPushNotificationConfig"),
      of("DeleteTaskPushNotificationConfig"),
      of("CancelTask", "TASK_STATE_CANCELED"),
    ]);
  });

  test("says why a call was refused, and names no task that may be none", async () => {
    const { fetch, records } = watched();
    const hi = message("hi");
    await ask(fetch, "CancelTask", { id: "my secret" });
    await ask(fetch, "SendMessage", { message: { ...hi, parts: [] } });
    await ask(fetch, "SendMessage", { message: hi, tenant: "gamma" });
    await ask(fetch, "SendStreamingMessage", { message: { ...hi, taskId: "0".repeat(64) } });
    expect(records.map(({ outcome }) => outcome)).toEqual([
      "TASK_NOT_FOUND",
      "INVALID_PARAMS",
      "PERMISSION_DENIED",
      "TASK_NOT_FOUND",
    ]);
    for (const record of records) {
      expect(record).not.toHaveProperty("task");
      expect(record.tenant).toBe("");
    }
    await ask(fetch, "SendMessage", { message: hi }, { "X-API-Key": "carol-key" });
    expect(records).toHaveLength(4);
  });

  test("names the task that was refused once it is certain to be one", async () => {
    const { fetch, records } = watched();
    const task = await send(
      "rest",
      "hi",
      {},
      { agent: "shared", headers: { "X-API-Key": "alice-key" } },
    );
    await ask(fetch, "CancelTask", { id: task.id });
    expect(records).toMatchObject([{ outcome: "TASK_NOT_CANCELABLE", task: task.id }]);
  });

  test("knows the trace that the request belongs to", async () => {
    const { fetch, records } = watched();
    const id = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (const traceparent of [
      `00-${id}-00f067aa0ba902b7-01`,
      `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
      `00-${id.toUpperCase()}-00f067aa0ba902b7-01`,
      "none",
    ]) {
      await ask(fetch, "CancelTask", { id: "nope" }, { traceparent });
    }
    expect(records.map(({ traceId }) => traceId)).toEqual([id, undefined, undefined, undefined]);
  });

  test("that fails changes nothing of the answer", async () => {
    const lines = printed();
    for (const audit of [
      () => {
        throw new Error("the sink is full");
      },
      () => Promise.reject(new Error("the sink is full")),
    ]) {
      const { fetch } = watched({ audit });
      const response = await ask(fetch, "SendMessage", { message: message("hi") });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain("TASK_STATE_COMPLETED");
    }
    expect(lines.filter((line) => line.includes("the sink is full"))).toHaveLength(2);
  });

  test("is a line of JSON on the console unless it is said otherwise, without content and credentials", async () => {
    const lines = printed();
    const metadata = { note: "MARKER" };
    await send(
      binding,
      "MARKER",
      { metadata, messageId: "MARKER" },
      { agent: "keyed", headers: { "X-API-Key": "alice-key" }, metadata },
    );
    const records = lines.flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
    expect(records).toMatchObject([
      { audit: { agent: "keyed", principal: "alice", operation: "SendMessage", outcome: "OK" } },
    ]);
    expect(lines.join()).not.toMatch(/MARKER|alice-key/);
  });
});

describe("the log", () => {
  test("has no credentials, whatever the scheme and wherever they are", async () => {
    const lines = printed();
    const token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJNQVJLRVIifQ.c2lnbmF0dXJl";
    const secrets = ["alice-key", "carol-key", token, "TUFSS0VS", "MARKER"];
    for (const path of ["/agents/keyed/tasks", "/agents/shared/tasks", "/tasks"]) {
      for (const secret of secrets) {
        await call(`${path}?api_key=${secret}&access_token=${secret}`, {
          headers: {
            "X-API-Key": secret,
            Authorization: `Bearer ${secret}`,
            Cookie: `api_key=${secret}`,
          },
        });
      }
    }
    expect(lines.length).toBeGreaterThanOrEqual(15);
    for (const secret of secrets) expect(lines.join("\n")).not.toContain(secret);
  });

  test("has no id of a task where the id is the key to it, but its beginning", async () => {
    const lines = printed();
    const { id } = await send("jsonrpc", "hi", {}, { agent: "plain" });
    await operate("rest", "GetTask", { id }, { agent: "plain" });
    await operate("rest", "CancelTask", { id }, { agent: "plain" });
    const log = lines.join("\n");
    expect(log).not.toContain(id);
    expect(lines.filter((line) => line.includes(`${id.slice(0, 8)}…`)).length).toBeGreaterThanOrEqual(
      4,
    );
  });

  test("has no text of a caller's: ids that are none, methods, paths", async () => {
    const lines = printed();
    await operate("rest", "GetTask", { id: "MARKER" });
    await operate("jsonrpc", "CancelTask", { id: "MARKER\n{}" });
    await rpc("MARKER", {});
    await call("/MARKER/MARKER?MARKER=MARKER");
    expect(lines.length).toBeGreaterThanOrEqual(4);
    expect(lines.join("\n")).not.toContain("MARKER");
  });
});

describe("pages of other origins", () => {
  const only = (origins: string[]) =>
    deploy([defineAgent({ ...plain.definition, auth: open({ list: true }), origins })]);
  const allowed = (headers: Headers) => headers.get("Access-Control-Allow-Origin");

  async function visit(fetch: Fetch, origin: string): Promise<(string | null)[]> {
    const headers = { Origin: origin };
    const preflight = await fetch(`${ORIGIN}/message:send`, {
      method: "OPTIONS",
      headers: { ...headers, "Access-Control-Request-Method": "POST" },
    });
    const answers = [
      await fetch(`${ORIGIN}/tasks`, { headers }),
      await fetch(`${ORIGIN}/tasks/nope`, { headers }),
      await fetch(`${ORIGIN}/.well-known/agent-card.json`, { headers }),
    ];
    for (const { headers: given } of [preflight, ...answers]) {
      expect(given.get("Access-Control-Allow-Credentials")).toBeNull();
      expect(given.get("Vary")).toContain("Origin");
    }
    return [preflight, ...answers].map((answer) => allowed(answer.headers));
  }

  test("may call when the definition names them, and no others", async () => {
    const fetch = only(["https://app.example", "http://localhost:3000"]);
    for (const origin of ["https://app.example", "http://localhost:3000"]) {
      expect(await visit(fetch, origin)).toEqual([origin, origin, origin, origin]);
    }
    for (const origin of [
      "https://evil.example",
      "https://app.example.evil.example",
      "http://app.example",
      "https://app.example:8443",
      "https://sub.app.example",
      "null",
      "",
    ]) {
      expect(await visit(fetch, origin), origin).toEqual([null, null, null, null]);
    }
  });

  test("may not call at all when the definition names none", async () => {
    expect(await visit(only([]), "https://app.example")).toEqual([null, null, null, null]);
  });

  test.each([
    "https://app.example/",
    "app.example",
    "*",
    "https://*.example",
    "https://app.example/x",
    "",
  ])("%j is no origin, and refused where it is written", (origin) => {
    expect(() => only([origin])).toThrow("defineAgent: origins[0]");
  });
});

describe("what an agent publishes", () => {
  test.each(BINDINGS)("over %s, is never served as a page, whatever it says it is", async (binding) => {
    const html = "<script>alert(1)</script>";
    const parts = [
      { text: html, mediaType: "text/html" },
      { raw: btoa(html), mediaType: "text/html", filename: "index.html" },
    ];
    const params = {
      message: message(script({ do: "artifact", parts }, { do: "complete", text: html })),
    };
    const headers = { Accept: "text/html" };
    const { id } = await send(binding, "hi", {}, { headers });
    const answers = [
      await exchange(binding, "SendMessage", params, { headers }),
      await exchange(binding, "GetTask", { id }, { headers }),
      await exchange(binding, "ListTasks", { includeArtifacts: true }, { headers }),
      await exchange(binding, "SendStreamingMessage", params, { headers }),
      await exchange(binding, "GetTask", { id: html }, { headers }),
      await call(`/${encodeURIComponent(html)}`, { headers }),
      await call("/.well-known/agent-card.json", { headers }),
    ];
    for (const answer of answers) {
      await answer.arrayBuffer();
      expect(answer.headers.get("Content-Type")).toMatch(
        /^(application\/(a2a\+)?json|text\/event-stream)/,
      );
      expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
    }
  });
});

describe.each(BINDINGS)("over %s, an error repeats nothing of the request", (binding) => {
  const MARK = "mArKeR";
  const wrong: [operation: Operation, params: object][] = [
    ["GetTask", { id: MARK }],
    ["GetTask", { id: "x", historyLength: MARK }],
    ["GetTask", { id: MARK.repeat(100) }],
    ["CancelTask", { id: MARK, metadata: MARK }],
    ["CancelTask", { id: MARK, metadata: { [MARK]: MARK } }],
    ["SubscribeToTask", { id: MARK }],
    ["ListTasks", { status: MARK }],
    ["ListTasks", { pageToken: MARK }],
    ["ListTasks", { pageSize: MARK, statusTimestampAfter: MARK, includeArtifacts: MARK }],
    ["SendMessage", { message: MARK }],
    ["SendMessage", { message: { ...message("x"), role: MARK } }],
    ["SendMessage", { message: { ...message("x"), taskId: MARK } }],
    ["SendMessage", { message: { ...message("x"), [MARK]: MARK, parts: [] } }],
    ["SendMessage", { message: { ...message("x"), parts: [{ raw: `${MARK}!` }] } }],
    ["SendMessage", { message: { ...message("x"), parts: [{ [MARK]: MARK }] } }],
    ["SendMessage", { message: { ...message("x"), parts: [{ text: MARK, url: MARK }] } }],
    ["SendMessage", { message: { ...message("x"), parts: [{ text: "x", mediaType: `${MARK}/x` }] } }],
    ["SendMessage", { message: { ...message("x"), extensions: MARK } }],
    ["SendMessage", { message: message("x"), configuration: { historyLength: MARK } }],
    [
      "SendMessage",
      {
        message: message("x"),
        configuration: { taskPushNotificationConfig: { url: `ftp://${MARK}` } },
      },
    ],
    [
      "SendMessage",
      {
        message: message("x"),
        configuration: { taskPushNotificationConfig: { url: HOOK, tenant: MARK } },
      },
    ],
    ["SendStreamingMessage", { message: { ...message("x"), contextId: MARK, taskId: MARK } }],
    ["CreateTaskPushNotificationConfig", { taskId: MARK, url: `https://${MARK}.test/` }],
    ["CreateTaskPushNotificationConfig", { taskId: MARK, url: HOOK, token: `${MARK}\n` }],
    ["GetTaskPushNotificationConfig", { taskId: MARK, id: MARK }],
    ["ListTaskPushNotificationConfigs", { taskId: MARK, pageSize: MARK, pageToken: MARK }],
    ["DeleteTaskPushNotificationConfig", { taskId: MARK, id: MARK }],
    ["GetExtendedAgentCard", { tenant: MARK }],
    ["ListTasks", { tenant: `${MARK}<script>` }],
  ];

  test.each(wrong)("%s with %j", async (operation, params) => {
    const agent =
      operation === "SendMessage" && JSON.stringify(params).includes("/x") ? "keyed" : "shared";
    const options = { agent, headers: { "X-API-Key": "alice-key", "A2A-Extensions": MARK } };
    const response = await exchange(binding, operation, params, options);
    const text = await response.text();
    expect(text).toContain('"error"');
    expect(text.toLowerCase()).not.toContain(MARK.toLowerCase());
    expect(JSON.stringify([...response.headers]).toLowerCase()).not.toContain(MARK.toLowerCase());
  });

  test.each<[title: string, path: string, init: RequestInit]>([
    ["a body that is no JSON", "/", { method: "POST", headers: JSON_TYPE, body: `{"${MARK}` }],
    ["a media type", "/", { method: "POST", headers: { "Content-Type": `text/${MARK}` }, body: MARK }],
    [
      "a media type of REST",
      "/message:send",
      { method: "POST", headers: { "Content-Type": `text/${MARK}` }, body: MARK },
    ],
    ["a version", "/tasks", { headers: { "A2A-Version": MARK } }],
    ["a path", `/${MARK}/${MARK}`, {}],
    ["a query", `/tasks?pageSize=${MARK}&${MARK}=1`, {}],
    [
      "a credential",
      "/agents/keyed/tasks",
      { headers: { "X-API-Key": MARK, Authorization: `Bearer ${MARK}` } },
    ],
    [
      "a method of JSON-RPC",
      "/",
      {
        method: "POST",
        headers: JSON_TYPE,
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: MARK }),
      },
    ],
  ])("%s", async (_title, path, init) => {
    const response = await call(path, init);
    const text = await response.text();
    expect(text).toContain('"error"');
    expect(text + JSON.stringify([...response.headers])).not.toContain(MARK);
  });
});

test("an agent that throws tells its caller a request id, and no more", async () => {
  printed();
  const fetch = deploy([
    defineAgent({
      ...keyed.definition,
      extendedCard: () => {
        throw new Error("MARKER in the stack");
      },
    }),
  ]);
  onTestFinished(() => void vi.restoreAllMocks());
  const response = await fetch(`${ORIGIN}/extendedAgentCard`, { headers: ALICE });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("MARKER");
});
