/** Results and errors of steps as they are remembered: JSON, the same for the run that made them and for later ones. */
import { byteLength } from "../protocol/byte-length.ts";
import { A2AError } from "../protocol/errors.ts";
import type { StoredError } from "../task/event.ts";

/** A step that throws it is not tried again. */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
}

/** Nobody answered a `turn.ask` or `turn.authorize` within its time. */
export class AnswerTimeoutError extends Error {
  override readonly name = "AnswerTimeoutError";
}

/** A value as JSON, at most `maxBytes` of it; what JSON cannot hold is refused with the place of it. */
export function toJson(
  value: unknown,
  what: string,
  maxBytes: number,
  refuse: (problem: string) => never,
): string | undefined {
  if (value === undefined) return undefined;
  const problem = notJson(value, "its result", new Set());
  if (problem) refuse(`${what}: ${problem}; give JSON back, such as a string or a plain object`);
  const json = JSON.stringify(value);
  const bytes = byteLength(json);
  if (bytes > maxBytes) {
    refuse(`${what}: its result has ${bytes} bytes in JSON, at most ${maxBytes} are remembered`);
  }
  return json;
}

/** An error of an agent that uses its turn wrongly; the message says what to do. */
export function misuse(message: string): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", { message: `Invalid agent response: ${message}` });
}

/** Why the value is not JSON, if it is not. Members that are `undefined` are left out by JSON, as usual. */
function notJson(value: unknown, path: string, above: Set<object>): string | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON has no word for`;
  }
  if (typeof value !== "object") return `${path} is a ${typeof value}, not JSON`;
  if (above.has(value)) return `${path} contains itself`;
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) {
    return `${path} is a ${value.constructor?.name ?? "special object"}, not JSON`;
  }
  above.add(value);
  const members = Array.isArray(value)
    ? value.map((each, index) => [`${path}[${index}]`, each] as const)
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => [`${path}.${name}`, each] as const);
  for (const [at, each] of members) {
    const problem = notJson(each, at, above);
    if (problem) return problem;
  }
  above.delete(value);
  return undefined;
}

export function toStoredError(error: unknown): StoredError {
  if (A2AError.is(error)) {
    const { name, message, reason, fields, metadata } = error;
    return { name, message, refusal: { reason, message, fields, metadata } };
  }
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: "Error", message: String(error) };
}

/** The error again, alike in each run; `cause` is what was thrown, where that is still known. */
export function fromStoredError({ name, message, refusal }: StoredError, cause?: unknown): Error {
  if (refusal) return A2AError.from(refusal);
  if (name === "AnswerTimeoutError") return new AnswerTimeoutError(message);
  const error = new Error(message, cause === undefined ? {} : { cause });
  error.name = name;
  return error;
}
