/** What a request gathers on its way through the Worker. */
import type { Context } from "hono";
import { loggedTaskId } from "../agent/audit.ts";
import type { Ports } from "../operations/ports.ts";
import type { Outcome } from "../operations/table.ts";
import type { Caller } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";

/** What the log line of a request says beside its status and time. */
export interface LogFacts {
  binding: "jsonrpc" | "rest" | "http";
  operation: string;
  task?: string;
  state?: string;
}

export interface ExchangeEnv {
  Bindings: object;
  Variables: {
    ports: Ports;
    caller: Caller;
    requestId: string;
    facts: LogFacts;
    /** The error that the request is answered with. */
    refusal: A2AError | undefined;
  };
}

export type Exchange = Context<ExchangeEnv>;

/** The query of a request; parsing the whole URL is a good part of what a request costs. */
export function queryOf(c: Exchange): URLSearchParams {
  return new URLSearchParams(c.req.url.split("?")[1]);
}

/** Notes for the log which task an operation was about. */
export function noteOutcome(c: Exchange, { task: { id, state } }: Outcome): void {
  if (id !== undefined) noteTask(c, id);
  if (state !== undefined) c.get("facts").state = state;
}

function noteTask(c: Exchange, id: string): void {
  c.get("facts").task = loggedTaskId(id, c.get("ports").agent.definition.auth.listsTasks);
}

/**
 * The error as the client may see it. One that was not meant for it becomes INTERNAL with the request's id, and is
 * logged with its stack.
 */
export function toA2AError(c: Exchange, error: unknown): A2AError {
  if (A2AError.is(error)) {
    c.set("refusal", error);
    // Only what the error itself says is certain to be a task, and not something a client mistook for one.
    if (error.metadata.taskId) noteTask(c, error.metadata.taskId);
    return error;
  }
  const requestId = c.get("requestId");
  console.error(`request ${requestId}:`, error);
  return new A2AError("INTERNAL", {
    message: `Internal error (request ${requestId})`,
    metadata: { requestId },
  });
}
