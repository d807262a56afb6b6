/** The JSON-RPC binding (§9): one route for every operation. */
import { perform } from "../operations/table.ts";
import { A2AError, ERRORS, errorDetails } from "../protocol/errors.ts";
import { isOperationName, type OperationName } from "../protocol/operations.ts";
import { checkVersion, isVersion03Method, versionNotSupported } from "../protocol/version.ts";
import { parseJson, readText } from "./body.ts";
import { type Exchange, noteOutcome, queryOf, toA2AError } from "./exchange.ts";
import { SSE_HEADERS, sseBody } from "./sse.ts";

type Id = string | number | null;

/** HTTP statuses that are about the request as such; every other error is a JSON-RPC answer like any (200). */
const HTTP_STATUSES: ReadonlySet<number> = new Set([401, 403, 413, 429, 503]);

/** Serves one call; what goes wrong is answered with the id of the call, as far as it could be read. */
export async function serveJsonRpc(c: Exchange): Promise<Response> {
  let id: Id = null;
  try {
    checkMediaType(c.req.header("Content-Type"));
    const { limits } = c.get("ports").agent;
    const body = parseJson(await readText(c.req.raw, limits), limits);
    id = legalId(body);
    const { method, params } = readCall(body, id, c);
    c.get("facts").operation = method;
    const outcome = await perform(method, c.get("caller"), params, c.get("ports"));
    noteOutcome(c, outcome);
    const before = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
    if ("stream" in outcome) {
      const body = sseBody(outcome.stream.frames, { before, after: "}" });
      return new Response(body, { headers: SSE_HEADERS });
    }
    const headers = { "Content-Type": "application/json" };
    return new Response(`${before}${outcome.json}}`, { headers });
  } catch (error) {
    return jsonRpcError(toA2AError(c, error), id);
  }
}

/** An error as a JSON-RPC answer (§9.5). */
export function jsonRpcError(error: A2AError, id: Id): Response {
  const { code, http } = ERRORS[error.reason];
  return Response.json(
    { jsonrpc: "2.0", id, error: { code, message: error.message, data: errorDetails(error) } },
    { status: HTTP_STATUSES.has(http) ? http : 200 },
  );
}

function checkMediaType(contentType: string | undefined): void {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "application/json") return;
  throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", {
    message: "Content type not supported: JSON-RPC requests are application/json",
  });
}

function legalId(body: unknown): Id {
  if (typeof body !== "object" || body === null || !("id" in body)) return null;
  const { id } = body;
  // A number that JavaScript cannot hold could not be echoed as it is.
  const exact =
    typeof id === "number" && Number.isFinite(id) && (Number.isSafeInteger(id) || id % 1 !== 0);
  return typeof id === "string" || exact ? (id as string | number) : null;
}

function readCall(body: unknown, id: Id, c: Exchange): { method: OperationName; params: unknown } {
  if (Array.isArray(body)) throw invalidRequest("batches are not served");
  if (typeof body !== "object" || body === null) throw invalidRequest("the body must be an object");
  const { jsonrpc, method, params } = body as Record<string, unknown>;
  if (jsonrpc !== "2.0") throw invalidRequest('jsonrpc must be "2.0"');
  if (id === null) throw invalidRequest("id must be a string or a number of at most 53 bits");
  if (typeof method !== "string") throw invalidRequest("method must be a string");
  const version = checkVersion(c.req.raw.headers, queryOf(c));
  if (!isOperationName(method)) {
    if (version === undefined && isVersion03Method(method)) throw versionNotSupported();
    throw new A2AError("METHOD_NOT_FOUND");
  }
  return { method, params: readParams(params) };
}

function readParams(params: unknown): object {
  if (params === undefined || params === null) return {};
  if (typeof params === "object" && !Array.isArray(params)) return params;
  throw A2AError.field("params", "must be an object");
}

function invalidRequest(why: string): A2AError {
  return new A2AError("INVALID_REQUEST", { message: `Request payload validation error: ${why}` });
}
