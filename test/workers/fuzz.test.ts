/**
 * Twenty thousand requests that nobody would write: never a 5xx, never a hang, never a task from a refusal. They are
 * the same in every run; another SEED looks elsewhere, and a failure prints the request that shows it.
 */
import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { allOf, anyOf, apiKey, basic, bearerJwt, defineAgent } from "durable-a2a";
import fc from "fast-check";
import { exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { plain, shared } from "./agents.ts";
import { send } from "./bindings.ts";
import { type Json, message, ORIGIN } from "./client.ts";
import { deploy, type Fetch } from "./deployment.ts";

const SEED = 5;
/** Requests that are on their way at once. */
const AT_ONCE = 50;
const PATIENCE_MS = 10_000;

beforeEach(() => {
  for (const method of ["log", "warn"] as const) vi.spyOn(console, method).mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface Request {
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

/** Ids of the tasks that answers have shown; none of a refusal. */
async function ask(fetch: Fetch, { path, method, headers, body }: Request): Promise<string[]> {
  const init = {
    method,
    headers,
    ...(body !== undefined && !["GET", "HEAD"].includes(method) && { body }),
  };
  const answer = fetch(ORIGIN + path, init).then(async (response) => ({
    status: response.status,
    type: response.headers.get("Content-Type") ?? "",
    text: await response.text(),
  }));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), PATIENCE_MS);
  });
  const { status, type, text } = await Promise.race([answer, late]);
  if (timer) clearTimeout(timer);
  if (status >= 500) throw new Error(`${status}: ${text}`);
  if (text !== "" && !/^(application\/(a2a\+)?json|text\/event-stream)/.test(type)) {
    throw new Error(`an answer of type ${type}`);
  }
  if (type.startsWith("text/event-stream")) return [firstTask(text.split("\ndata: ")[1] ?? text)];
  if (!type.includes("json") || text === "") return [];
  const json = JSON.parse(text) as Json;
  const shown = (json.result ?? json) as Json;
  return shown.task ? [(shown.task as { id: string }).id] : [];
}

function firstTask(event: string): string {
  return /"task":\{"id":"([0-9a-f]{64})"/.exec(event)?.[1] ?? "no task";
}

/** Values that stand where others are expected. */
const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.constantFrom<unknown>(
    ...[
      "",
      " ",
      "\u0000",
      "\ud800",
      "null",
      "__proto__",
      "constructor",
      "ROLE_AGENT",
      "TASK_STATE_WORKING",
    ],
    ...[null, true, false, 0, -0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, [], {}, [[]], [null], { "": "" }],
    ...["2026-11-30T12:00:00Z", "x".repeat(257), "../..", "%00", "*/*"],
  ),
);

const UNKNOWN = "0123456789abcdef".repeat(4);
let ended = "";

/** A request of each operation that is well-formed, and is about a task that takes no more; or, if `fresh`, makes one. */
function wellFormed(fresh = false): Record<string, Json> {
  const task = fresh ? {} : { taskId: ended };
  const sent = message("hi", { ...task, metadata: { a: 1 }, referenceTaskIds: [UNKNOWN] });
  const configuration = {
    historyLength: 1,
    returnImmediately: true,
    acceptedOutputModes: ["text/plain"],
    taskPushNotificationConfig: { url: "https://example.com/", authentication: { scheme: "Bearer" } },
  };
  const { taskPushNotificationConfig: _, ...bare } = configuration;
  const hook = { taskId: ended, id: "h", url: "https://example.com/", token: "t" };
  return {
    SendMessage: { message: sent, configuration: bare, metadata: {} },
    SendStreamingMessage: { message: sent, configuration },
    GetTask: { id: ended, historyLength: 1 },
    ListTasks: { contextId: "c", status: "TASK_STATE_WORKING", pageSize: 1, includeArtifacts: true },
    CancelTask: { id: UNKNOWN, metadata: {} },
    SubscribeToTask: { id: ended },
    CreateTaskPushNotificationConfig: hook,
    GetTaskPushNotificationConfig: { taskId: ended, id: "h" },
    ListTaskPushNotificationConfigs: { taskId: ended, pageSize: 1, pageToken: "" },
    DeleteTaskPushNotificationConfig: { taskId: ended, id: "h" },
    GetExtendedAgentCard: { tenant: "alpha" },
  };
}
const OPERATIONS = Object.keys(wellFormed());

/** A change at one place of a value: another value there, nothing, or one more member. */
interface Change {
  at: number;
  how: "replace" | "remove" | "add" | "nest";
  with: unknown;
}
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom("replace", "replace", "remove", "add", "nest"),
  with: junk,
});

function places(value: unknown, found: [Json, string][] = []): [Json, string][] {
  if (typeof value !== "object" || value === null) return found;
  for (const key of Object.keys(value)) {
    found.push([value as Json, key]);
    places((value as Json)[key], found);
  }
  return found;
}

function changed(value: Json, changes: readonly Change[]): Json {
  const copy = structuredClone(value);
  for (const { at, how, with: other } of changes) {
    const all = places(copy);
    const [parent, key] = all[at % Math.max(1, all.length)] ?? [];
    if (!parent || key === undefined) continue;
    if (how === "remove") delete parent[key];
    else if (how === "nest") parent[key] = { [key]: [parent[key]] };
    else parent[how === "add" ? `${key}x` : key] = structuredClone(other);
  }
  return copy;
}

const rarely = fc.nat(6).map((chance) => chance === 0);
const request = fc
  .tuple(fc.constantFrom(...OPERATIONS), fc.array(change, { maxLength: 2 }), rarely)
  .map(([operation, changes, fresh]) => ({
    operation,
    params: changed(wellFormed(fresh)[operation] ?? {}, changes),
  }));

/** Text that is a little off: cut, doubled, or with another character in it. */
const spoiled = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      text,
      fc.nat(),
      fc.constantFrom("cut", "put", "double"),
      fc.string({ unit: "binary", maxLength: 3 }),
    )
    .map(([whole, at, how, other]) => {
      const place = at % (whole.length + 1);
      if (how === "cut") return whole.slice(0, place);
      if (how === "double") return whole + whole.slice(place);
      return whole.slice(0, place) + other + whole.slice(place + 1);
    });

const envelope = fc.oneof(
  {
    weight: 4,
    arbitrary: request.map(({ operation, params }) => ({
      jsonrpc: "2.0",
      id: 1,
      method: operation,
      params,
    })),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        jsonrpc: fc.oneof(fc.constant("2.0"), junk),
        id: junk,
        method: fc.oneof(fc.constantFrom(...OPERATIONS), junk),
        params: junk,
      },
      { requiredKeys: [] },
    ),
  },
);
const rpcBody = fc.oneof(
  { weight: 6, arbitrary: envelope.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: spoiled(envelope.map((value) => JSON.stringify(value))) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
  { weight: 1, arbitrary: fc.nat(5_000).map((depth) => "[".repeat(depth)) },
);
const rpcRequest: fc.Arbitrary<Request> = rpcBody.map((body) => ({
  path: "/",
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body,
}));

const ROUTES: [operation: string, verb: string, path: string][] = [
  ["SendMessage", "POST", "/message:send"],
  ["SendStreamingMessage", "POST", "/message:stream"],
  ["ListTasks", "GET", "/tasks"],
  ["GetTask", "GET", "/tasks/ID"],
  ["CancelTask", "POST", "/tasks/ID:cancel"],
  ["SubscribeToTask", "GET", "/tasks/ID:subscribe"],
  ["CreateTaskPushNotificationConfig", "POST", "/tasks/ID/pushNotificationConfigs"],
  ["ListTaskPushNotificationConfigs", "GET", "/tasks/ID/pushNotificationConfigs"],
  ["DeleteTaskPushNotificationConfig", "DELETE", "/tasks/ID/pushNotificationConfigs/h"],
  ["GetExtendedAgentCard", "GET", "/extendedAgentCard"],
  ["ListTasks", "GET", "/.well-known/agent-card.json"],
];
const segment = fc.oneof(
  fc.constantFrom(
    UNKNOWN,
    "tasks",
    "alpha",
    "a%2Fb",
    "%",
    "%zz",
    "%00",
    "..",
    "%2e%2e",
    ":",
    "x:cancel",
    "agents",
    "~",
  ),
  fc
    .string({ unit: "binary", maxLength: 20 })
    .filter((text) => text.isWellFormed())
    .map(encodeURIComponent),
  fc.string({ maxLength: 10 }),
);
const query = fc.array(
  fc.tuple(
    fc.constantFrom(
      "tenant",
      "pageSize",
      "pageToken",
      "status",
      "historyLength",
      "id",
      "A2A-Version",
      "x",
    ),
    fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom("1.0", "alpha", "true", "9".repeat(20), "TASK_STATE_WORKING"),
    ),
  ),
  { maxLength: 3 },
);
/** Mostly what is expected, sometimes something else. */
function mostly<T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

const restRequest: fc.Arbitrary<Request> = fc
  .record({
    route: fc.constantFrom(...ROUTES),
    verb: mostly<string | null>(
      null,
      fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"),
    ),
    tenant: mostly<string | null>(null, segment),
    id: segment,
    query,
    changes: fc.array(change, { maxLength: 2 }),
    fresh: rarely,
    body: mostly<string | null>(
      null,
      fc.oneof(spoiled(request.map(({ params }) => JSON.stringify(params))), fc.json()),
    ),
    type: mostly(
      "application/json",
      fc.constantFrom("application/a2a+json", "application/json; charset=utf-8", "text/plain", ""),
    ),
  })
  .map(
    ({
      route: [operation, verb, template],
      verb: other,
      tenant,
      id,
      query: pairs,
      changes,
      fresh,
      body,
      type,
    }) => {
      const path = (tenant === null ? "" : `/${tenant}`) + template.replace("ID", () => id);
      const search = new URLSearchParams(pairs).toString();
      return {
        path: search === "" ? path : `${path}?${search}`,
        method: other ?? verb,
        headers: type === "" ? {} : { "Content-Type": type },
        body: body ?? JSON.stringify(changed(wellFormed(fresh)[operation] ?? {}, changes)),
      };
    },
  );

const headerValue = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.constantFrom(
    "",
    "1.0",
    "0.3",
    "99.0",
    "*/*",
    "text/event-stream",
    "application/a2a+json",
    "Bearer",
    "Bearer a.b.c",
    "Basic",
    "Basic Og==",
    "alice-key",
    "Basic =",
    "0",
    "-1",
    "9".repeat(400),
    "https://a.test, https://b.test",
    "a=b; a=c; =",
    'W/"x", *',
    "chunked",
  ),
  fc
    .array(fc.constantFrom("https://x.test/e", ",", ";", "=", '"', " ", "~"), { maxLength: 80 })
    .map((words) => words.join("")),
  fc.base64String({ maxLength: 100 }).map((text) => `Bearer ${text}.${text}.${text}`),
  fc
    .string({ unit: "binary", maxLength: 20 })
    .filter((text) => text.isWellFormed())
    .map((text) => `Basic ${btoa(unescape(encodeURIComponent(text)))}`),
);
const HEADERS = [
  "A2A-Version",
  "A2A-Extensions",
  "Content-Type",
  "Accept",
  "Authorization",
  "X-API-Key",
  "X-Partner-Key",
  "Cookie",
  "Origin",
  "Last-Event-ID",
  "Idempotency-Key",
  "If-None-Match",
  "If-Modified-Since",
  "traceparent",
  "Access-Control-Request-Headers",
  "X-Forwarded-Host",
  "Range",
];
const headers = fc
  .array(fc.tuple(fc.constantFrom(...HEADERS), headerValue), { minLength: 1, maxLength: 4 })
  .map((pairs) => Object.fromEntries(pairs.filter(([name, value]) => isHeader(name, value))));

/** Whether HTTP could carry it at all. */
function isHeader(name: string, value: string): boolean {
  try {
    new Headers({ [name]: value });
    return true;
  } catch {
    return false;
  }
}

/** Asks `count` times; gives the tasks that were made. */
async function fuzz(
  fetch: Fetch,
  requests: fc.Arbitrary<Request>,
  count: number,
): Promise<Set<string>> {
  const made = new Set<string>();
  const batch = fc.array(requests, { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(batch, async (all) => {
    const shown = await Promise.all(
      all.map((one) =>
        ask(fetch, one).catch((error: unknown) => {
          throw new Error(`${error} for ${JSON.stringify(one)}`);
        }),
      ),
    );
    for (const id of shown.flat()) made.add(id);
  });
  await fc.assert(property, { seed: SEED, numRuns: count / AT_ONCE, endOnFailure: true });
  return made;
}

/** Holds that there are as many new tasks as were shown. */
async function makingNoMore(limit: number, work: () => Promise<Set<string>>): Promise<void> {
  const before = new Set((await listDurableObjectIds(env.TASK_OBJECT)).map(String));
  const made = await work();
  const after = (await listDurableObjectIds(env.TASK_OBJECT)).map(String);
  // What was asked for by a legal id was looked for, and is an object without content.
  const unexplained = after.filter((id) => !before.has(id) && !made.has(id) && id !== UNKNOWN);
  expect(unexplained).toEqual([]);
  expect(made.size).toBeGreaterThan(0);
  expect(made.size).toBeLessThanOrEqual(limit);
}

const KEYS = { "X-API-Key": "alice-key" };
const keyed = (requests: fc.Arbitrary<Request>) =>
  requests.map((one) => ({ ...one, headers: { ...KEYS, ...one.headers } }));

describe("requests that nobody would write", () => {
  const fetch = deploy([shared]);
  const endTask = async () => {
    ended = (await send("rest", "hi", {}, { agent: "shared", headers: KEYS })).id;
  };

  test("over JSON-RPC: 8,000", { timeout: 60_000 }, async () => {
    await endTask();
    await makingNoMore(400, () => fuzz(fetch, keyed(rpcRequest), 8_000));
  });

  test("over REST: 8,000", { timeout: 60_000 }, async () => {
    await endTask();
    await makingNoMore(300, () => fuzz(fetch, keyed(restRequest), 8_000));
  });

  test("with headers of all kinds: 4,000", { timeout: 60_000 }, async () => {
    const { publicKey } = await generateKeyPair("ES256", { extractable: true });
    const key = (await exportJWK(publicKey)) as JsonWebKey;
    const token = { issuer: "https://login.test", audience: "a", algorithms: ["ES256" as const], key };
    const cookie = apiKey({ location: "cookie", scheme: "cookie" });
    const guarded = defineAgent({
      ...shared.definition,
      auth: anyOf(
        apiKey(),
        bearerJwt(token),
        allOf(cookie, bearerJwt({ ...token, scheme: "both" })),
        basic(),
      ),
    });
    const secret = "pbkdf2$1$c2FsdHNhbHQ=$ZHNCz5WXycrHxm1SjBaPGY6u7hPZxY2q64LhP7s56Qk=";
    const both = [
      deploy([guarded], { BASIC_USERS: JSON.stringify({ alice: secret }) }),
      deploy([plain]),
    ];
    const requests = fc
      .tuple(fc.oneof(rpcRequest, restRequest), headers)
      .map(([one, more]) => ({ ...one, headers: { ...one.headers, ...more } }));
    await makingNoMore(300, async () => {
      const made = await Promise.all(both.map((each) => fuzz(each, requests, 2_000)));
      return new Set(made.flatMap((ids) => [...ids]));
    });
  });
});
