/** Which version a request speaks (§3.6), in both bindings. */
import { describe, expect, test } from "vitest";
import { BINDINGS, type Binding } from "./bindings.ts";
import { call, type Json, message, rpc } from "./client.ts";
import { refusal, wire } from "./refusals.ts";

interface Asked {
  header?: string;
  query?: string;
  /** Of the message that is sent, to find whether it ran. */
  contextId?: string;
}

function send(binding: Binding, { header, query = "", contextId }: Asked, method = "SendMessage") {
  const params = { message: message("hi", contextId === undefined ? {} : { contextId }) };
  const body = binding === "rest" ? params : { jsonrpc: "2.0", id: 1, method, params };
  return call(`${binding === "rest" ? "/message:send" : "/"}${query}`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(header !== undefined && { "A2A-Version": header }),
    },
    body: JSON.stringify(body),
  });
}

/** The version is told by name, so that a client knows what to ask for. */
const told = { metadata: { supported: "1.0" } };

describe.each(BINDINGS)("over %s, a version of", (binding) => {
  test.each<[title: string, asked: Asked]>([
    ["1.0 in the header", { header: "1.0" }],
    ["1.0.0 in the header", { header: "1.0.0" }],
    ["1.0.7 in the header", { header: "1.0.7" }],
    ["1.0 in the query", { query: "?A2A-Version=1.0" }],
    ["1.0.1 in the query, in lower case", { query: "?a2a-version=1.0.1" }],
    ["nothing at all", {}],
    ["nothing in the header", { header: "" }],
    ["nothing in the query", { query: "?A2A-Version=" }],
    ["nothing in the header and 1.0 in the query", { header: "", query: "?A2A-Version=1.0" }],
    [
      "1.0 in the header, which wins over 0.3 in the query",
      { header: "1.0", query: "?A2A-Version=0.3" },
    ],
  ])("%s is served as 1.0, and the answer says so", async (_title, asked) => {
    const response = await send(binding, asked);
    expect(response.headers.get("A2A-Version")).toBe("1.0");
    const { status, body } = await wire(response);
    expect(status).toBe(200);
    expect((body as Json).result ?? body).toMatchObject({
      task: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  test.each<[title: string, asked: Asked]>([
    ["99.0", { header: "99.0" }],
    ["2.0", { header: "2.0" }],
    ["1.7", { header: "1.7" }],
    ["1", { header: "1" }],
    ["0.3", { header: "0.3" }],
    ["0.3.0", { header: "0.3.0" }],
    ["1.0.x", { header: "1.0.x" }],
    ["1.0, twice", { header: "1.0, 1.0" }],
    ["words", { header: "latest" }],
    ["0.3 in the query", { query: "?A2A-Version=0.3" }],
    ["99.0 in the query behind an empty header", { header: "", query: "?A2A-Version=99.0" }],
    [
      "99.0 in the header, which wins over 1.0 in the query",
      { header: "99.0", query: "?A2A-Version=1.0" },
    ],
  ])("%s is not supported, and nothing runs", async (_title, asked) => {
    const contextId = crypto.randomUUID();
    const answer = await wire(send(binding, { ...asked, contextId }));
    expect(answer).toEqual(refusal(binding, "VERSION_NOT_SUPPORTED", told));
    const { body } = await rpc("ListTasks", { contextId });
    expect(body).toMatchObject({ result: { totalSize: 0 } });
  });
});

describe("names of v0.3, which is not served,", () => {
  test.each(["message/send", "message/stream", "tasks/get", "agent/getAuthenticatedExtendedCard"])(
    "ask for a version that is not supported: %s",
    async (method) => {
      expect(await wire(send("jsonrpc", {}, method))).toEqual(
        refusal("jsonrpc", "VERSION_NOT_SUPPORTED", told),
      );
      expect(await wire(send("jsonrpc", { header: "0.3" }, method))).toEqual(
        refusal("jsonrpc", "VERSION_NOT_SUPPORTED", told),
      );
    },
  );

  test.each(["message/send", "tasks/get"])("are unknown under 1.0: %s", async (method) => {
    const answer = await wire(send("jsonrpc", { header: "1.0" }, method));
    expect(answer).toEqual(refusal("jsonrpc", "METHOD_NOT_FOUND"));
  });

  test("that are none of v0.3 either are unknown without a version", async () => {
    const answer = await wire(send("jsonrpc", {}, "messages/send"));
    expect(answer).toEqual(refusal("jsonrpc", "METHOD_NOT_FOUND"));
  });
});

describe("a version that is not supported", () => {
  test("is refused before the method, the parameters and the task are looked at", async () => {
    const headers = { "A2A-Version": "99.0" };
    for (const [method, params] of [
      ["Nope", {}],
      ["SendMessage", {}],
      ["GetTask", { id: "nope" }],
    ] as const) {
      const { body } = await rpc(method, params, { headers });
      expect(body).toMatchObject({ error: { code: -32009 } });
    }
  });

  test.each(["GET /tasks", "GET /tasks/nope", "POST /tasks/nope:subscribe", "GET /extendedAgentCard"])(
    "is refused at %s",
    async (route) => {
      const [method = "", path = ""] = route.split(" ");
      const answer = await wire(call(path, { method, headers: { "A2A-Version": "0.3" } }));
      expect(answer).toEqual(refusal("rest", "VERSION_NOT_SUPPORTED", told));
    },
  );

  test("is refused as JSON where a stream was asked for", async () => {
    const init = { method: "POST", headers: { "A2A-Version": "2.0", Accept: "text/event-stream" } };
    const answer = await wire(call("/message:stream", init));
    expect(answer).toEqual(refusal("rest", "VERSION_NOT_SUPPORTED", told));
  });

  test("does not hide the agent card", async () => {
    const response = await call("/.well-known/agent-card.json", { headers: { "A2A-Version": "0.3" } });
    expect(response.status).toBe(200);
  });
});
