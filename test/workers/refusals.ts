/** What refusals look like on the wire, whole, in either binding (§5.4, §9.5, §11.6). */
import { expect } from "vitest";
import type { Binding } from "./bindings.ts";

/** The JSON-RPC code, the HTTP status of the REST binding, and its name. */
const ROWS = {
  TASK_NOT_FOUND: [-32001, 404, "NOT_FOUND"],
  TASK_NOT_CANCELABLE: [-32002, 400, "FAILED_PRECONDITION"],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, "FAILED_PRECONDITION"],
  UNSUPPORTED_OPERATION: [-32004, 400, "FAILED_PRECONDITION"],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, "INVALID_ARGUMENT"],
  INVALID_AGENT_RESPONSE: [-32006, 500, "INTERNAL"],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [-32007, 400, "FAILED_PRECONDITION"],
  EXTENSION_SUPPORT_REQUIRED: [-32008, 400, "FAILED_PRECONDITION"],
  VERSION_NOT_SUPPORTED: [-32009, 400, "FAILED_PRECONDITION"],
  UNAUTHENTICATED: [-32000, 401, "UNAUTHENTICATED"],
  PERMISSION_DENIED: [-32000, 403, "PERMISSION_DENIED"],
  RESOURCE_EXHAUSTED: [-32000, 429, "RESOURCE_EXHAUSTED"],
  UNAVAILABLE: [-32000, 503, "UNAVAILABLE"],
  PARSE_ERROR: [-32700, 400, "INVALID_ARGUMENT"],
  INVALID_REQUEST: [-32600, 400, "INVALID_ARGUMENT"],
  METHOD_NOT_FOUND: [-32601, 404, "NOT_FOUND"],
  METHOD_NOT_ALLOWED: [-32601, 405, "UNIMPLEMENTED"],
  INVALID_PARAMS: [-32602, 400, "INVALID_ARGUMENT"],
  PAYLOAD_TOO_LARGE: [-32600, 413, "OUT_OF_RANGE"],
  INTERNAL: [-32603, 500, "INTERNAL"],
} as const;
export type Refused = keyof typeof ROWS;

/** What JSON-RPC answers with an HTTP status of its own; everything else is 200. */
const HTTP_REFUSALS: readonly number[] = [401, 403, 413, 429, 503];

export interface Wire {
  status: number;
  body: unknown;
}

/** Status and body of an answer; a body that is not JSON is an error. */
export async function wire(answer: Response | Promise<Response>): Promise<Wire> {
  const response = await answer;
  expect(response.headers.get("Content-Type")).toMatch(/^application\/(a2a\+)?json/);
  return { status: response.status, body: await response.json() };
}

interface Details {
  /** The fields that a BadRequest names, in order. */
  fields?: string[];
  /** What the ErrorInfo tells beside the time. */
  metadata?: Record<string, unknown>;
  message?: unknown;
  /** The id that a JSON-RPC answer echoes. */
  id?: string | number | null;
}

/** The refusal as it must be answered: no member less, none more. */
export function refusal(binding: Binding, reason: Refused, told: Details = {}): Wire {
  const [code, http, status] = ROWS[reason];
  const { message = expect.stringMatching(/\S/), id = 1 } = told;
  const details = detailsOf(reason, told);
  if (binding === "rest") {
    return { status: http, body: { error: { code: http, status, message, details } } };
  }
  return {
    status: HTTP_REFUSALS.includes(http) ? http : 200,
    body: { jsonrpc: "2.0", id, error: { code, message, data: details } },
  };
}

function detailsOf(reason: Refused, { fields = [], metadata = {} }: Details): object[] {
  const [code] = ROWS[reason];
  const details: object[] = [];
  if (code <= -32000 && code > -32100) {
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    details.push({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason,
      domain: "a2a-protocol.org",
      metadata: expect.objectContaining({ ...metadata, timestamp }),
    });
  }
  if (fields.length > 0) {
    const description = expect.stringMatching(/\S/);
    details.push({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: fields.map((field) => ({ field, description })),
    });
  }
  if (reason === "INTERNAL") {
    const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    details.push({ "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId });
  }
  return details;
}
