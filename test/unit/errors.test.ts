/** The errors table against the specification, and how an error describes itself. */
import { describe, expect, test } from "vitest";
import {
  A2AError,
  ERRORS,
  errorDetails,
  type Reason,
  refuse,
  unwrap,
} from "../../src/protocol/errors.ts";

/** §5.4, as printed there: error type, JSON-RPC code, gRPC status, HTTP status. */
const SPECIFIED: [type: string, code: number, status: string, http: number][] = [
  ["TaskNotFoundError", -32001, "NOT_FOUND", 404],
  ["TaskNotCancelableError", -32002, "FAILED_PRECONDITION", 400],
  ["PushNotificationNotSupportedError", -32003, "FAILED_PRECONDITION", 400],
  ["UnsupportedOperationError", -32004, "FAILED_PRECONDITION", 400],
  ["ContentTypeNotSupportedError", -32005, "INVALID_ARGUMENT", 400],
  ["InvalidAgentResponseError", -32006, "INTERNAL", 500],
  ["ExtendedAgentCardNotConfiguredError", -32007, "FAILED_PRECONDITION", 400],
  ["ExtensionSupportRequiredError", -32008, "FAILED_PRECONDITION", 400],
  ["VersionNotSupportedError", -32009, "FAILED_PRECONDITION", 400],
];

/** §9.5: the codes of JSON-RPC itself, with their messages. */
const STANDARD: [reason: Reason, code: number, message: string][] = [
  ["PARSE_ERROR", -32700, "Invalid JSON payload"],
  ["INVALID_REQUEST", -32600, "Request payload validation error"],
  ["METHOD_NOT_FOUND", -32601, "Method not found"],
  ["INVALID_PARAMS", -32602, "Invalid parameters"],
  ["INTERNAL", -32603, "Internal error"],
];

/** `TaskNotFoundError` as `TASK_NOT_FOUND` (§9.5). */
function reasonOf(type: string): string {
  return type
    .replace(/Error$/, "")
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toUpperCase();
}

const reasons = Object.keys(ERRORS) as Reason[];

describe("the table of errors", () => {
  test.each(SPECIFIED)(
    "%s has the code, status and HTTP status of §5.4",
    (type, code, status, http) => {
      const rows: Record<string, unknown> = ERRORS;
      expect(rows[reasonOf(type)]).toMatchObject({ code, status, http, info: true });
    },
  );

  test("no other error uses a code of §5.4", () => {
    const known = new Set(SPECIFIED.map(([type]) => reasonOf(type)));
    const codes = new Set<number>(SPECIFIED.map(([, code]) => code));
    const others = reasons.filter((reason) => !known.has(reason));
    expect(others.filter((reason) => codes.has(ERRORS[reason].code))).toEqual([]);
  });

  test.each(STANDARD)("%s has the code and the message of §9.5", (reason, code, message) => {
    expect(ERRORS[reason]).toMatchObject({ code, title: message, info: false });
  });

  test("what HTTP refuses has the same status in both bindings", () => {
    expect(ERRORS.PAYLOAD_TOO_LARGE).toMatchObject({ http: 413, code: -32600 });
    expect(ERRORS.UNAUTHENTICATED).toMatchObject({ http: 401, code: -32000, info: true });
    expect(ERRORS.PERMISSION_DENIED).toMatchObject({ http: 403, code: -32000, info: true });
    expect(ERRORS.UNAVAILABLE).toMatchObject({ http: 503, code: -32000, info: true });
    expect(ERRORS.RESOURCE_EXHAUSTED).toMatchObject({ http: 429, code: -32000, info: true });
  });
});

describe("an error's details", () => {
  test("an A2A error is described by an ErrorInfo with its reason, domain, metadata and time", () => {
    const error = new A2AError("TASK_NOT_FOUND", { metadata: { taskId: "t" } });
    expect(errorDetails(error)).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "TASK_NOT_FOUND",
        domain: "a2a-protocol.org",
        metadata: {
          taskId: "t",
          timestamp: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:]{8}\.\d{3}Z$/),
        },
      },
    ]);
  });

  test("wrong fields are described by a BadRequest", () => {
    expect(errorDetails(A2AError.field("message.parts", "must have at least one element"))).toEqual([
      {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: [{ field: "message.parts", description: "must have at least one element" }],
      },
    ]);
  });

  test("an A2A error with wrong fields has both", () => {
    const fields = [{ field: "task.id", description: "is required" }];
    const error = new A2AError("INVALID_AGENT_RESPONSE", { fields });
    expect(errorDetails(error)).toEqual([
      expect.objectContaining({ reason: "INVALID_AGENT_RESPONSE" }),
      expect.objectContaining({ fieldViolations: fields }),
    ]);
  });

  test("an internal error gives the id of the request, and nothing else", () => {
    const error = new A2AError("INTERNAL", { metadata: { requestId: "r1" } });
    expect(errorDetails(error)).toEqual([
      { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: "r1" },
    ]);
    expect(errorDetails(new A2AError("INTERNAL"))).toEqual([]);
  });

  test("every detail names its type (§9.5)", () => {
    for (const reason of reasons) {
      const fields = [{ field: "f", description: "d" }];
      const details = errorDetails(new A2AError(reason, { fields, metadata: { requestId: "r" } }));
      expect(details.length).toBeGreaterThan(0);
      for (const detail of details) {
        expect(detail).toHaveProperty("@type", expect.stringContaining("type.googleapis.com/"));
      }
    }
  });
});

describe("a refusal", () => {
  test("crosses as a value and becomes the same error again", () => {
    const details = { message: "No such task", metadata: { taskId: "t" } };
    const crossed = structuredClone(refuse("TASK_NOT_FOUND", details));
    expect(crossed).toEqual({ ok: false, refusal: { reason: "TASK_NOT_FOUND", ...details } });
    expect(() => unwrap(crossed)).toThrow(
      expect.objectContaining({ name: "A2AError", reason: "TASK_NOT_FOUND", ...details }),
    );
  });

  test("a value comes out as it is", () => {
    expect(unwrap({ ok: true, value: 5 })).toBe(5);
  });

  test("without a message of its own, an error says the title of its row", () => {
    expect(new A2AError("TASK_NOT_CANCELABLE").message).toBe("Task cannot be canceled");
  });
});
