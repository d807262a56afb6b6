/** The HTTP+JSON binding (§11): the routes are made from the operations table. */
import { Hono } from "hono";
import { perform } from "../operations/table.ts";
import { A2AError, ERRORS, errorDetails } from "../protocol/errors.ts";
import { OPERATIONS, type OperationName, type OperationRow } from "../protocol/operations.ts";
import { checkVersion } from "../protocol/version.ts";
import { parseJson, readText } from "./body.ts";
import { type Exchange, type ExchangeEnv, noteOutcome, queryOf, toA2AError } from "./exchange.ts";
import { SSE_HEADERS, sseBody } from "./sse.ts";

const A2A_JSON = "application/a2a+json";
const JSON_TYPE = "application/json";

/** The boolean among the query parameters (§11.5). */
const BOOLEAN_PARAMETER = "includeArtifacts";

/** The routes of every operation; with `tenants` also below `/{tenant}` (the additional bindings of the proto). */
export function restRoutes({ tenants }: { tenants: boolean }): Hono<ExchangeEnv> {
  const routes = new Hono<ExchangeEnv>();
  addRoutes(routes, "");
  if (tenants) addRoutes(routes, "/{tenant}");
  return routes;
}

function addRoutes(routes: Hono<ExchangeEnv>, prefix: string): void {
  const rows = Object.entries(OPERATIONS) as [OperationName, OperationRow][];
  for (const path of new Set(rows.map(([, row]) => row.path))) {
    const pattern = honoPattern(prefix + path);
    const here = rows.filter(([, row]) => row.path === path);
    for (const [name, { verbs }] of here) {
      routes.on([...verbs], pattern, (c) => serve(c, name, prefix + path));
    }
    const allow = here.flatMap(([, { verbs }]) => verbs).join(", ");
    routes.all(pattern, (c) => methodNotAllowed(c, allow));
  }
}

/** `/tasks/{id}:cancel` as `/tasks/:id{[^/]+:cancel}`, the one form in which Hono keeps the suffix apart. */
function honoPattern(path: string): string {
  return path.replace(/\{(\w+)\}(:\w+)?/g, (_, name: string, suffix?: string) =>
    suffix ? `:${name}{[^/]+${suffix}}` : `:${name}`,
  );
}

async function serve(c: Exchange, name: OperationName, path: string): Promise<Response> {
  c.get("facts").operation = name;
  try {
    // Hono serves HEAD as GET; a stream that nobody reads would stay open.
    if (c.req.raw.method === "HEAD" && OPERATIONS[name].reply === "stream") {
      throw new A2AError("METHOD_NOT_ALLOWED");
    }
    checkVersion(c.req.raw.headers, queryOf(c));
    const params = await readParams(c, path);
    const outcome = await perform(name, c.get("caller"), params, c.get("ports"));
    noteOutcome(c, outcome);
    if ("stream" in outcome) {
      return new Response(sseBody(outcome.stream.frames, { before: "", after: "" }), {
        headers: SSE_HEADERS,
      });
    }
    if (c.req.method === "DELETE") return new Response(null, { status: 204 });
    const type = named(c) === JSON_TYPE ? JSON_TYPE : A2A_JSON;
    return new Response(outcome.json, { headers: { "Content-Type": type } });
  } catch (error) {
    return restError(c, toA2AError(c, error));
  }
}

/** An error as an HTTP answer (§11.6); `application/json` unless the client names A2A's own type. */
export function restError(c: Exchange, error: A2AError): Response {
  const { http, status } = ERRORS[error.reason];
  const body = { error: { code: http, status, message: error.message, details: errorDetails(error) } };
  const type = named(c) === A2A_JSON ? A2A_JSON : JSON_TYPE;
  return new Response(JSON.stringify(body), { status: http, headers: { "Content-Type": type } });
}

/** The answer to a verb that a path does not have; `allow` names those that it has. */
export function methodNotAllowed(c: Exchange, allow: string, message?: string): Response {
  const response = restError(c, new A2AError("METHOD_NOT_ALLOWED", message ? { message } : {}));
  response.headers.set("Allow", allow);
  return response;
}

/** The media type that the client sends or asks for, when it names one of the two. */
function named(c: Exchange): string | undefined {
  const words = `${c.req.header("Accept") ?? ""},${c.req.header("Content-Type") ?? ""}`.toLowerCase();
  return [A2A_JSON, JSON_TYPE].find((type) => words.includes(type));
}

/** The request as one object: its body or query, and what the path names. */
async function readParams(c: Exchange, path: string): Promise<object> {
  const fields = c.req.method === "POST" ? await readBody(c) : readQuery(c);
  const named = readPath(c, path);
  for (const [name, value] of Object.entries(named)) {
    const given = (fields as Record<string, unknown>)[name];
    if (given !== undefined && given !== null && given !== "" && given !== value) {
      throw A2AError.field(name, "differs from the one in the path");
    }
  }
  return { ...fields, ...named };
}

function readPath(c: Exchange, path: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [, name = "", suffix = ""] of path.matchAll(/\{(\w+)\}(:\w+)?/g)) {
    const value = c.req.param(name) ?? "";
    values[name] = suffix === "" ? value : value.slice(0, -suffix.length);
  }
  return values;
}

function readQuery(c: Exchange): object {
  const query: Record<string, unknown> = c.req.query();
  const flag = query[BOOLEAN_PARAMETER];
  if (flag === "true" || flag === "false") query[BOOLEAN_PARAMETER] = flag === "true";
  return query;
}

/** A POST without a body is one of an empty message. */
async function readBody(c: Exchange): Promise<object> {
  const { limits } = c.get("ports").agent;
  const text = await readText(c.req.raw, limits);
  if (text === "") return {};
  const type = c.req.header("Content-Type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== JSON_TYPE && type !== A2A_JSON) {
    throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", {
      message: `Content type not supported: requests are ${A2A_JSON} or ${JSON_TYPE}`,
    });
  }
  const body = parseJson(text, limits);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  throw new A2AError("INVALID_PARAMS", { message: "Invalid parameters: the body must be an object" });
}
