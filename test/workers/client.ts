/** How tests call the agents: in both bindings, through the Worker's own `fetch`. */
import { exports } from "cloudflare:workers";
import type { Step } from "../lab/script.ts";

export const ORIGIN = "https://agents.test";

export type Json = Record<string, unknown>;

/** A request to the Worker; `path` begins with a slash. */
export function call(path: string, init: RequestInit = {}): Promise<Response> {
  return exports.default.fetch(new Request(ORIGIN + path, init));
}

interface CallOptions {
  /** Id of the agent; the one at the root when unset. */
  agent?: string;
  headers?: Record<string, string>;
}

function base(agent: string | undefined): string {
  return agent === undefined ? "" : `/agents/${agent}`;
}

/** A JSON-RPC call; the body as it came. */
export async function rpc(
  method: string,
  params: unknown,
  { agent, headers }: CallOptions = {},
): Promise<{ status: number; headers: Headers; body: Json }> {
  const response = await call(`${base(agent)}/`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}
