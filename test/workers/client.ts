/** How tests call the agents: in both bindings, through the Worker's own `fetch`. */
import { exports } from "cloudflare:workers";
import type { Message, Part } from "durable-a2a";
import type { Step } from "../lab/script.ts";

export const ORIGIN = "https://agents.test";

export type Json = Record<string, unknown>;

/** A request to the Worker; `path` begins with a slash. */
export function call(path: string, init: RequestInit = {}): Promise<Response> {
  return exports.default.fetch(new Request(ORIGIN + path, init));
}

export interface CallOptions {
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

/** A REST call, `path` below the agent; the body as it came, undefined when there is none. */
export async function rest(
  verb: string,
  path: string,
  body?: unknown,
  { agent, headers }: CallOptions = {},
): Promise<{ status: number; headers: Headers; body: Json | undefined }> {
  const response = await call(base(agent) + path, {
    method: verb,
    headers: {
      "A2A-Version": "1.0",
      ...(body !== undefined && { "Content-Type": "application/a2a+json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : (JSON.parse(text) as Json),
  };
}

/** The server-sent events of an answer as they arrive, comments left out; returning early cancels it. */
export async function* sse(response: Response): AsyncGenerator<{ id: string | undefined; data: Json }> {
  if (!response.body) return;
  let rest = "";
  const text = response.body.pipeThrough(new TextDecoderStream());
  for await (const piece of text as ReadableStream<string>) {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = block.split("\n").map((line) => /^(\w*):\s?(.*)$/s.exec(line)?.slice(1) ?? []);
      const data = fields.filter(([name]) => name === "data").map(([, value]) => value);
      const id = fields.find(([name]) => name === "id")?.[1];
      if (data.length > 0) yield { id, data: JSON.parse(data.join("\n")) as Json };
    }
  }
  if (rest !== "") throw new Error(`the stream ended within an event: ${rest}`);
}

/** The parts of a message that scripts the agent. */
export function script(...steps: Step[]): Part[] {
  return [{ data: { script: steps } }];
}

export function message(content: string | Part[], fields: Partial<Message> = {}): Message {
  const parts = typeof content === "string" ? [{ text: content }] : content;
  return { messageId: crypto.randomUUID(), role: "ROLE_USER", parts, ...fields };
}
