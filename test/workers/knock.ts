/** Who a Worker takes a caller for: the extended card of an agent that writes the caller into it. */
import { type AuthScheme, type Caller, defineAgent } from "durable-a2a";
import type { Binding } from "./bindings.ts";
import { deploy, type Fetch } from "./deployment.ts";

/** An agent with this scheme, under a URL of its own. */
export function guarded(auth: AuthScheme, vars: object = {}): Fetch {
  const agent = defineAgent({
    id: "guarded",
    name: "Guarded",
    description: "Says who calls",
    version: "1.0.0",
    skills: [{ id: "say", name: "Say", description: "Says who calls", tags: ["test"] }],
    auth,
    run: () => "hi",
    extendedCard: (caller) => ({ description: JSON.stringify(caller) }),
  });
  return deploy([agent], vars);
}

export interface Knock {
  status: number;
  challenge: string | null;
  retryAfter: string | null;
  /** Who the agent says is calling, when it let the caller in. */
  caller: Caller | undefined;
  error: { code: number; message: string; details: Record<string, unknown>[] } | undefined;
  text: string;
}

/** One call in this binding. */
export async function knock(
  fetch: Fetch,
  binding: Binding = "rest",
  headers: Record<string, string> = {},
  { url = "https://agents.test", cf }: { url?: string; cf?: object } = {},
): Promise<Knock> {
  const { origin, search } = new URL(url);
  const body = { jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard", params: {} };
  const sent = { "Content-Type": "application/json", ...headers };
  const init: RequestInit = { headers: sent, ...(cf && { cf: cf as RequestInitCfProperties }) };
  const response =
    binding === "rest"
      ? await fetch(`${origin}/extendedAgentCard${search}`, init)
      : await fetch(`${origin}/${search}`, { ...init, method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  const answer = JSON.parse(text) as {
    description?: string;
    result?: { description: string };
    error?: { code: number; message: string; data?: object[]; details?: object[] };
  };
  const description = (answer.result ?? answer).description;
  const { code = 0, message = "", data, details } = answer.error ?? {};
  return {
    status: response.status,
    challenge: response.headers.get("WWW-Authenticate"),
    retryAfter: response.headers.get("Retry-After"),
    caller: description === undefined ? undefined : (JSON.parse(description) as Caller),
    error: answer.error && {
      code,
      message,
      details: (data ?? details ?? []) as Record<string, unknown>[],
    },
    text,
  };
}
