/** What makes a repeated message the same message: one key, one task. */
import type { Agent } from "../agent/define-agent.ts";
import type { Caller } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";
import type { SendMessageRequest } from "../protocol/requests.ts";
import { IDEMPOTENCY_HEADER } from "../protocol/version.ts";
import type { Idempotency } from "../task/event.ts";

/** Callers without a name share one owner: who guesses a key would get the task of another. */
const MIN_ANONYMOUS_LENGTH = 22;

/** The key of the request, in its header or, where the agent wants that, its messageId; with the hash of the request. */
export async function idempotencyOf(
  { idempotencyKey, principal }: Caller,
  request: SendMessageRequest,
  agent: Agent,
): Promise<Idempotency | undefined> {
  const byMessage = agent.definition.idempotency === "messageId";
  const key = idempotencyKey ?? (byMessage ? request.message.messageId : undefined);
  if (key === undefined) return undefined;
  if (principal === "" && key.length < MIN_ANONYMOUS_LENGTH) {
    throw A2AError.field(
      idempotencyKey === undefined ? "message.messageId" : IDEMPOTENCY_HEADER,
      `must have at least ${MIN_ANONYMOUS_LENGTH} characters, because callers without a name share their tasks`,
    );
  }
  const text = new TextEncoder().encode(JSON.stringify(request));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  return {
    // A messageId and a key of the same text are two things.
    key: idempotencyKey === undefined ? `messageId ${key}` : key,
    request: Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join(""),
  };
}
