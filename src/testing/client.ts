/** Calls an agent over JSON-RPC, as a client does, without a network. */
import { A2AError, ERRORS, type FieldViolation, type Reason } from "../protocol/errors.ts";
import type { OperationName } from "../protocol/operations.ts";
import { PROTOCOL_VERSION, VERSION_HEADER } from "../protocol/version.ts";

export type Fetch = (request: Request) => Promise<Response>;

interface ErrorDetail {
  reason?: string;
  metadata?: Record<string, string>;
  fieldViolations?: FieldViolation[];
}

export interface Answer {
  result?: unknown;
  error?: { code: number; message: string; data?: ErrorDetail[] };
}

/** The answer of an operation as HTTP has it. */
export function post(
  fetch: Fetch,
  operation: OperationName,
  params: object,
  headers: Record<string, string | undefined> = {},
): Promise<Response> {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
  return fetch(
    new Request("https://agent.test/", {
      method: "POST",
      headers: [["Content-Type", "application/json"], [VERSION_HEADER, PROTOCOL_VERSION], ...given],
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: operation, params }),
    }),
  );
}

/** What an operation gave; throws the A2AError that it was refused with. */
export function resultOf({ result, error }: Answer): unknown {
  if (!error) return result;
  const details = error.data ?? [];
  const named = details.find(({ reason }) => reason !== undefined && reason in ERRORS);
  throw new A2AError((named?.reason as Reason | undefined) ?? reasonOf(error.code), {
    message: error.message,
    fields: details.flatMap(({ fieldViolations = [] }) => fieldViolations),
    metadata: named?.metadata ?? {},
  });
}

/** The first reason with this code: those that share one name their reason. */
function reasonOf(code: number): Reason {
  const found = Object.entries(ERRORS).find(([, row]) => row.code === code);
  return (found?.[0] as Reason | undefined) ?? "INTERNAL";
}
