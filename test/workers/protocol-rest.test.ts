/** The REST binding: routes, path and query parameters (§11.3, §11.5). */
import { describe, expect, test } from "vitest";
import { operate, send } from "./bindings.ts";
import { call, type Json, message, rest, script, sse } from "./client.ts";
import { type Refused, refusal, wire } from "./refusals.ts";

const waiting = async () => (await send("rest", script({ do: "input" }))).id;

function request(route: string, headers: Record<string, string> = {}): Promise<Response> {
  const [method = "", path = ""] = route.split(" ");
  return call(path, { method, headers });
}

async function refused(route: string, reason: Refused, ...fields: string[]): Promise<void> {
  expect(await wire(request(route)), route).toEqual(refusal("rest", reason, { fields }));
}

describe("routes", () => {
  test.each(["GET", "POST"])(
    "%s /tasks/{id}:subscribe gives the stream of the task (P-24)",
    async (verb) => {
      const id = await waiting();
      const response = await request(`${verb} /tasks/${id}:subscribe`);
      expect(response.headers.get("Content-Type")).toBe("text/event-stream");
      const events = sse(response);
      const { value } = await events.next();
      expect(value?.data).toMatchObject({
        task: { id, status: { state: "TASK_STATE_INPUT_REQUIRED" } },
      });
      await events.return(undefined);
    },
  );

  test.each(["GET", "POST"])(
    "%s /tasks/{id}:subscribe of an unknown task is JSON (P-24)",
    async (verb) => {
      await refused(`${verb} /tasks/nope:subscribe`, "TASK_NOT_FOUND");
    },
  );

  test.each([
    "POST /v1/message:send",
    "GET /v1/tasks",
    "GET /v1/card",
    "GET /message",
    "POST /message:",
    "POST /message:sendx",
    "POST /message:send/x",
    "POST /Message:send",
    "GET /task",
    "GET /tasks/a/b",
    "GET /tasks/a/pushNotificationConfigs/b/c",
    "GET /.well-known/agent.jsonx",
    "GET /agents/nobody/tasks",
    "POST /agents/nobody",
    "GET /agents",
  ])("%s is no route (P-28)", async (route) => {
    await refused(route, "METHOD_NOT_FOUND");
  });

  test.each<[route: string, allow: string[]]>([
    ["GET /", ["POST"]],
    ["DELETE /agents/plain", ["POST"]],
    ["GET /message:send", ["POST"]],
    ["PUT /message:stream", ["POST"]],
    ["DELETE /tasks/t", ["GET"]],
    ["POST /tasks/t", ["GET"]],
    ["POST /tasks", ["GET"]],
    ["GET /tasks/t:cancel", ["POST"]],
    ["DELETE /tasks/t:subscribe", ["POST", "GET"]],
    ["PATCH /tasks/t/pushNotificationConfigs", ["POST", "GET"]],
    ["POST /tasks/t/pushNotificationConfigs/c", ["GET", "DELETE"]],
    ["POST /extendedAgentCard", ["GET"]],
  ])("%s is the wrong verb, and the right ones are named: %j", async (route, allow) => {
    const response = await request(route);
    expect(response.headers.get("Allow")?.split(", ").sort()).toEqual(allow.sort());
    expect(await wire(response)).toEqual(refusal("rest", "METHOD_NOT_ALLOWED"));
  });
});

describe("ids in a path", () => {
  test("with a colon are ids, whatever stands behind it (P-26)", async () => {
    for (const id of ["a:b", "a:cancel:b", ":a", "a:", "a:subscribed"]) {
      await refused(`GET /tasks/${id}`, "TASK_NOT_FOUND");
      await refused(`POST /tasks/${id}:cancel`, "TASK_NOT_FOUND");
    }
  });

  test.each(["nope%3Acancel", "nope%3Asubscribe", "%3Acancel"])(
    "with an encoded colon end with no verb: %s (P-26)",
    async (id) => {
      await refused(`GET /tasks/${id}`, "TASK_NOT_FOUND");
      await refused(`POST /tasks/${id}:cancel`, "TASK_NOT_FOUND");
    },
  );

  test.each(["%", "%zz", "%E0%A4%A", "%00", "%FF", "a%2Fb", "%25", "%F0%9F%98%80", "x".repeat(256)])(
    "may be any text: %s (P-26)",
    async (id) => {
      await refused(`GET /tasks/${id}`, "TASK_NOT_FOUND");
    },
  );

  test("of more than 256 characters are refused", async () => {
    await refused(`GET /tasks/${"x".repeat(257)}`, "INVALID_PARAMS", "id");
  });

  test("name the task with any character of them encoded (P-26)", async () => {
    const id = await waiting();
    const encoded = `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;
    expect((await rest("GET", `/tasks/${encoded}`)).body).toMatchObject({ id });
    expect((await rest("POST", `/tasks/${encoded}:cancel`)).body).toMatchObject({ id });
  });

  test("of another case name no task", async () => {
    const id = await waiting();
    await refused(`GET /tasks/${id.toUpperCase()}`, "TASK_NOT_FOUND");
  });

  test.each(["a:b", "a%3Ab", "a/b", "a b", "ü", "%", "a+b", "a?b#c", ":cancel", "..."])(
    "of a webhook are kept as they are: %j (P-26)",
    async (id) => {
      const path = `/tasks/${await waiting()}/pushNotificationConfigs`;
      const { body: made } = await rest("POST", path, { id, url: "https://example.com/hook" });
      expect(made?.id).toBe(id);
      expect((await rest("GET", `${path}/${encodeURIComponent(id)}`)).body).toEqual(made);
      expect((await rest("DELETE", `${path}/${encodeURIComponent(id)}`)).status).toBe(204);
      expect((await rest("GET", path)).body).toEqual({ configs: [], nextPageToken: "" });
    },
  );

  test("may be repeated in the body, and are refused when they differ there", async () => {
    const id = await waiting();
    const answer = await wire(
      call(`/tasks/${id}:cancel`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ id: "another" }),
      }),
    );
    expect(answer).toEqual(refusal("rest", "INVALID_PARAMS", { fields: ["id"] }));
    expect((await rest("POST", `/tasks/${id}:cancel`, { id })).body).toMatchObject({ id });
  });
});

describe("a query", () => {
  test.each<[query: string, field: string]>([
    ["pageSize=abc", "pageSize"],
    ["pageSize=1.5", "pageSize"],
    ["pageSize=0x10", "pageSize"],
    ["pageSize=1e1", "pageSize"],
    ["pageSize=%2010", "pageSize"],
    ["pageSize=", "pageSize"],
    ["pageSize=0", "pageSize"],
    ["pageSize=101", "pageSize"],
    ["pageSize=-1", "pageSize"],
    ["includeArtifacts=TRUE", "includeArtifacts"],
    ["includeArtifacts=1", "includeArtifacts"],
    ["includeArtifacts=", "includeArtifacts"],
    ["status=3", "status"],
    ["status=working", "status"],
    ["status=task_state_working", "status"],
    ["historyLength=", "historyLength"],
    ["historyLength=-1", "historyLength"],
    ["historyLength=2147483648", "historyLength"],
    ["statusTimestampAfter=yesterday", "statusTimestampAfter"],
    ["statusTimestampAfter=2026-02-30T00:00:00Z", "statusTimestampAfter"],
    ["pageToken=x", "pageToken"],
  ])("of %s is refused by the field (P-27)", async (query, field) => {
    await refused(`GET /tasks?${query}`, "INVALID_PARAMS", field);
  });

  test("with several faults is refused with all of them (P-27)", async () => {
    const query = "pageSize=abc&includeArtifacts=TRUE&status=3";
    await refused(`GET /tasks?${query}`, "INVALID_PARAMS", "status", "pageSize", "includeArtifacts");
  });

  test("of decimal numbers, enum names and lower-case booleans is read (P-27)", async () => {
    const contextId = `a b&c=ü+${crypto.randomUUID()}`;
    const sent = message("hi", { contextId });
    await operate("rest", "SendMessage", { message: sent });
    const list = async (fields: Record<string, string>) => {
      const query = new URLSearchParams({ contextId, ...fields });
      return (await rest("GET", `/tasks?${query}`)).body as { tasks: Json[]; totalSize: number };
    };
    const all = { pageSize: "1", historyLength: "0001", includeArtifacts: "true" };
    const after = { statusTimestampAfter: "2026-01-01T01:00:00+01:00" };
    const { tasks } = await list({ ...all, ...after, status: "TASK_STATE_COMPLETED" });
    expect(tasks).toMatchObject([{ history: [{ messageId: sent.messageId }], artifacts: [{}] }]);
    expect(await list({ status: "TASK_STATE_WORKING" })).toMatchObject({ tasks: [], totalSize: 0 });
    expect((await list({ status: "TASK_STATE_UNSPECIFIED" })).totalSize).toBe(1);
    expect((await list({ includeArtifacts: "false" })).tasks[0]).not.toHaveProperty("artifacts");
  });

  test("of unknown parameters is read without them (P-12)", async () => {
    const { status, body } = await rest("GET", "/tasks?tag=a&tag=b&pageToken=&contextId=none&x[y]=1");
    expect(status).toBe(200);
    expect(body).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  });

  test("says how much history a task shows (P-27)", async () => {
    const id = await waiting();
    expect((await rest("GET", `/tasks/${id}?historyLength=1`)).body?.history).toHaveLength(1);
    expect((await rest("GET", `/tasks/${id}?historyLength=0`)).body).not.toHaveProperty("history");
    await refused(`GET /tasks/${id}?historyLength=x`, "INVALID_PARAMS", "historyLength");
  });
});
