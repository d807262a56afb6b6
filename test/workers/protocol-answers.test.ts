/** What answers look like beside their content: media types, events, headers for browsers and caches. */
import { describe, expect, test } from "vitest";
import { BINDINGS, exchange, operate } from "./bindings.ts";
import { call, type Json, message, script, sse } from "./client.ts";

const A2A_JSON = "application/a2a+json";
const JSON_TYPE = "application/json";

describe("the media type of a REST answer", () => {
  const typeOf = async (path: string, headers: Record<string, string>, body?: object) => {
    const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
    const response = await call(path, { ...init, headers });
    await response.arrayBuffer();
    return response.headers.get("Content-Type");
  };
  const hi = { message: message("hi") };

  test.each<[named: Record<string, string>, answer: string, error: string]>([
    [{}, A2A_JSON, JSON_TYPE],
    [{ Accept: "*/*" }, A2A_JSON, JSON_TYPE],
    [{ Accept: "application/*" }, A2A_JSON, JSON_TYPE],
    [{ Accept: "text/html" }, A2A_JSON, JSON_TYPE],
    [{ Accept: "application/json" }, JSON_TYPE, JSON_TYPE],
    [{ Accept: "Application/JSON, */*;q=0.1" }, JSON_TYPE, JSON_TYPE],
    [{ Accept: "application/a2a+json" }, A2A_JSON, A2A_JSON],
    [{ Accept: "application/json, application/a2a+json" }, A2A_JSON, A2A_JSON],
    [{ "Content-Type": "application/json", Accept: "application/a2a+json" }, A2A_JSON, A2A_JSON],
  ])("for a client that names %j is %s, and %s for errors", async (named, answer, error) => {
    expect(await typeOf("/tasks?contextId=none", named)).toBe(answer);
    expect(await typeOf("/tasks/nope", named)).toBe(error);
    expect(await typeOf("/nowhere", named)).toBe(error);
  });

  test.each([
    ["application/json", JSON_TYPE, JSON_TYPE],
    ["application/json; charset=utf-8", JSON_TYPE, JSON_TYPE],
    ["application/a2a+json", A2A_JSON, A2A_JSON],
  ])("for a client that sends %s is %s, and %s for errors", async (sent, answer, error) => {
    expect(await typeOf("/message:send", { "Content-Type": sent }, hi)).toBe(answer);
    expect(await typeOf("/message:send", { "Content-Type": sent }, {})).toBe(error);
    expect(await typeOf("/message:stream", { "Content-Type": sent }, {})).toBe(error);
  });
});

test.each([{}, { Accept: A2A_JSON }, { Accept: "text/event-stream" }])(
  "a JSON-RPC answer to a client that names %j is application/json",
  async (headers) => {
    const { headers: answered } = await operate("jsonrpc", "ListTasks", {}, { headers });
    expect(answered.get("Content-Type")).toBe(JSON_TYPE);
  },
);

describe.each(BINDINGS)("over %s, a stream", (binding) => {
  test("has one JSON document in each event, and each in one line of data (P-30)", async () => {
    const text = 'one\ntwo\r\nthree\rfour\u2028five\u2029six\n\ndata: {"x":1}\n\nid: 7\n\n😀';
    const params = { message: message(script({ do: "artifact", name: "a\nb", parts: [{ text }] })) };
    const response = await exchange(binding, "SendStreamingMessage", params);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream");
    expect(response.headers.get("Cache-Control")).toContain("no-cache");
    const raw = await response.text();
    expect(raw.endsWith("\n\n")).toBe(true);
    const blocks = raw.trimEnd().split(/\r\n\r\n|\n\n|\r\r/);
    const events = blocks.map((block) => {
      const lines = block.split(/\r\n|\n|\r/);
      const data = lines.filter((line) => line.startsWith("data: "));
      expect(data).toHaveLength(1);
      for (const line of lines) expect(line).toMatch(/^(data: \{.*\}|id: \d+)$/s);
      const event = JSON.parse(data[0]?.slice("data: ".length) ?? "") as Json;
      return (binding === "jsonrpc" ? event.result : event) as Json;
    });
    expect(events.map((event) => Object.keys(event))).toEqual([
      ["task"],
      ["artifactUpdate"],
      ["statusUpdate"],
    ]);
    expect(events[1]).toMatchObject({
      artifactUpdate: { artifact: { name: "a\nb", parts: [{ text }] } },
    });
  });

  test("that does not start is answered as JSON, without the headers of a stream", async () => {
    for (const params of [{ message: message("hi", { taskId: "nope" }) }, {}]) {
      const response = await exchange(binding, "SendStreamingMessage", params);
      expect(response.headers.get("Content-Type")).toBe(JSON_TYPE);
      expect(response.headers.get("X-Accel-Buffering")).toBeNull();
      expect(await response.json()).toHaveProperty("error.code");
    }
  });

  test("says which version it is of", async () => {
    const response = await exchange(binding, "SendStreamingMessage", { message: message("hi") });
    for await (const _ of sse(response));
    expect(response.headers.get("A2A-Version")).toBe("1.0");
  });
});

describe("a browser", () => {
  const PREFLIGHT = { Origin: "https://app.example", "Access-Control-Request-Method": "POST" };
  const list = (headers: Headers, name: string) =>
    (headers.get(name) ?? "").split(",").map((item) => item.trim().toLowerCase());

  const ALLOWED = [
    "a2a-version",
    "a2a-extensions",
    "authorization",
    "content-type",
    "idempotency-key",
    "last-event-id",
  ];

  test.each<[path: string, more: string[]]>([
    ["/", []],
    ["/message:stream", []],
    ["/tasks/nope", []],
    ["/.well-known/agent-card.json", []],
    ["/agents/plain", []],
    ["/agents/keyed/", ["x-api-key"]],
    ["/agents/keyed/tasks/nope:cancel", ["x-api-key"]],
  ])("may call %s from anywhere, without credentials of its own", async (path, more) => {
    const { status, headers } = await call(path, { method: "OPTIONS", headers: PREFLIGHT });
    expect(status).toBe(204);
    expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(headers.get("Access-Control-Allow-Credentials")).toBeNull();
    expect(list(headers, "Access-Control-Allow-Methods").sort()).toEqual([
      "delete",
      "get",
      "options",
      "post",
    ]);
    expect(list(headers, "Access-Control-Allow-Headers").sort()).toEqual([...ALLOWED, ...more].sort());
    expect(Number(headers.get("Access-Control-Max-Age"))).toBeGreaterThan(0);
  });

  const EXPOSED = ["a2a-extensions", "a2a-version", "etag", "retry-after", "www-authenticate"];

  test.each<[status: number, path: string, init: RequestInit]>([
    [200, "/.well-known/agent-card.json", {}],
    [200, "/tasks?contextId=none", {}],
    [200, "/", { method: "POST" }],
    [400, "/message:send", { method: "POST" }],
    [401, "/agents/keyed/tasks", {}],
    [404, "/tasks/nope", {}],
    [404, "/nowhere", {}],
    [405, "/", {}],
  ])("can read an answer of %i at %s, and its headers", async (expected, path, init) => {
    const response = await call(path, { ...init, headers: { Origin: "https://app.example" } });
    await response.arrayBuffer();
    const { status, headers } = response;
    expect(status).toBe(expected);
    expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(headers.get("Access-Control-Allow-Credentials")).toBeNull();
    expect(list(headers, "Access-Control-Expose-Headers").sort()).toEqual(EXPOSED);
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
  });
});

describe("a cache", () => {
  // With a key in a header of its own, nothing else tells a shared cache that the answer is one caller's alone.
  test.each(["/tasks", "/extendedAgentCard"])(
    "does not keep what a caller reads at %s (§13.3)",
    async (path) => {
      const headers = { "X-API-Key": "alice-key" };
      const response = await call(`/agents/keyed${path}`, { headers });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      expect(response.headers.get("Cache-Control") ?? "").toMatch(/no-store|private/);
    },
  );
});
