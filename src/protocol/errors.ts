/**
 * The errors an A2A server gives (§5.4, §9.5, §11.6): one table, one class.
 *
 * Only an A2AError shows its text to a client. Anything else that is thrown becomes INTERNAL with a
 * request id, and goes to the log.
 */
import type * as z from "zod";

interface ErrorRow {
  readonly code: number;
  readonly http: number;
  readonly status: string;
  readonly title: string;
  /** Described to the client by a `google.rpc.ErrorInfo` with the reason. */
  readonly info: boolean;
}

function row(code: number, http: number, status: string, title: string, info: boolean): ErrorRow {
  return { code, http, status, title, info };
}

export const ERRORS = {
  TASK_NOT_FOUND: row(-32001, 404, "NOT_FOUND", "Task not found", true),
  TASK_NOT_CANCELABLE: row(-32002, 400, "FAILED_PRECONDITION", "Task cannot be canceled", true),
  PUSH_NOTIFICATION_NOT_SUPPORTED: row(
    -32003,
    400,
    "FAILED_PRECONDITION",
    "This agent does not send push notifications",
    true,
  ),
  UNSUPPORTED_OPERATION: row(-32004, 400, "FAILED_PRECONDITION", "Operation not supported", true),
  CONTENT_TYPE_NOT_SUPPORTED: row(-32005, 400, "INVALID_ARGUMENT", "Content type not supported", true),
  INVALID_AGENT_RESPONSE: row(-32006, 500, "INTERNAL", "Invalid agent response", true),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: row(
    -32007,
    400,
    "FAILED_PRECONDITION",
    "No extended agent card is configured",
    true,
  ),
  EXTENSION_SUPPORT_REQUIRED: row(
    -32008,
    400,
    "FAILED_PRECONDITION",
    "Extension support required",
    true,
  ),
  VERSION_NOT_SUPPORTED: row(
    -32009,
    400,
    "FAILED_PRECONDITION",
    "Protocol version not supported",
    true,
  ),
  PARSE_ERROR: row(-32700, 400, "INVALID_ARGUMENT", "Invalid JSON payload", false),
  INVALID_REQUEST: row(-32600, 400, "INVALID_ARGUMENT", "Request payload validation error", false),
  METHOD_NOT_FOUND: row(-32601, 404, "NOT_FOUND", "Method not found", false),
  METHOD_NOT_ALLOWED: row(-32601, 405, "UNIMPLEMENTED", "Method not allowed", false),
  INVALID_PARAMS: row(-32602, 400, "INVALID_ARGUMENT", "Invalid parameters", false),
  PAYLOAD_TOO_LARGE: row(-32600, 413, "OUT_OF_RANGE", "Request body too large", false),
  UNAUTHENTICATED: row(-32000, 401, "UNAUTHENTICATED", "Authentication required", true),
  PERMISSION_DENIED: row(-32000, 403, "PERMISSION_DENIED", "Permission denied", true),
  RESOURCE_EXHAUSTED: row(-32000, 429, "RESOURCE_EXHAUSTED", "Too many requests", true),
  UNAVAILABLE: row(-32000, 503, "UNAVAILABLE", "Temporarily unavailable", true),
  INTERNAL: row(-32603, 500, "INTERNAL", "Internal error", false),
} as const satisfies Record<string, ErrorRow>;

export type Reason = keyof typeof ERRORS;

export interface FieldViolation {
  /** Path of the field as JSON names it, such as `message.parts[0]`. */
  field: string;
  description: string;
}

/** An error as a plain value: what crosses the boundary of an object, where classes are lost. */
export interface Refusal {
  reason: Reason;
  message?: string;
  fields?: FieldViolation[];
  metadata?: Record<string, string>;
}

export type Refused = { ok: false; refusal: Refusal };
export type Result<T> = { ok: true; value: T } | Refused;

export function refuse(reason: Reason, details: Omit<Refusal, "reason"> = {}): Refused {
  return { ok: false, refusal: { reason, ...details } };
}

/** An error meant for the client; switch on `reason`. */
export class A2AError extends Error {
  override readonly name = "A2AError";
  readonly reason: Reason;
  readonly fields: FieldViolation[];
  readonly metadata: Record<string, string>;

  constructor(reason: Reason, details: Omit<Refusal, "reason"> = {}) {
    super(details.message ?? ERRORS[reason].title);
    this.reason = reason;
    this.fields = details.fields ?? [];
    this.metadata = details.metadata ?? {};
  }

  /** Whether it is one, of this copy of the library or another: `instanceof` fails between bundles. */
  static is(error: unknown): error is A2AError {
    return (
      error instanceof Error &&
      error.name === "A2AError" &&
      Object.hasOwn(ERRORS, (error as { reason?: PropertyKey }).reason ?? "")
    );
  }

  static from({ reason, ...details }: Refusal): A2AError {
    return new A2AError(reason, details);
  }

  /** INVALID_PARAMS for one field. */
  static field(field: string, description: string): A2AError {
    return new A2AError("INVALID_PARAMS", {
      message: `Invalid parameters: ${field}: ${description}`,
      fields: [{ field, description }],
    });
  }
}

/** The value, or the refusal thrown as an A2AError. */
export function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw A2AError.from(result.refusal);
}

/** `["message", "parts", 0]` as `message.parts[0]`. */
function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

/** `input` read by `schema`, or `reason` thrown with every field that is wrong. */
export function parse<T extends z.ZodType>(
  schema: T,
  input: unknown,
  reason: Reason = "INVALID_PARAMS",
): z.infer<T> {
  const result = schema.safeParse(input, {
    error: (issue) => (issue.input === undefined ? "is required" : undefined),
  });
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => ({
    field: fieldPath(issue.path),
    description: issue.message,
  }));
  const [first] = fields;
  const where = first?.field ? `${first.field}: ` : "";
  throw new A2AError(reason, {
    message: `${ERRORS[reason].title}: ${where}${first?.description}`,
    fields,
  });
}

/** Details of an error as ProtoJSON `Any` values; both bindings send them. */
export function errorDetails(error: A2AError): object[] {
  const details: object[] = [];
  if (ERRORS[error.reason].info) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: error.reason,
      domain: "a2a-protocol.org",
      metadata: { ...error.metadata, timestamp: new Date().toISOString() },
    });
  }
  if (error.fields.length > 0) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: error.fields,
    });
  }
  if (error.reason === "INTERNAL" && error.metadata.requestId) {
    details.push({
      "@type": "type.googleapis.com/google.rpc.RequestInfo",
      requestId: error.metadata.requestId,
    });
  }
  return details;
}
