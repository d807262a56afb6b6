/** What is measured: the floors, our agent in both bindings, and the official SDK in its two homes. */
import { execFileSync } from "node:child_process";
import { type Answer, type Call, Client } from "./client.ts";
import { type Server, startExpress, startWithQueue, startWorkerd } from "./server.ts";

export const NAMES = {
  jsonrpc: "durable-a2a, JSON-RPC",
  rest: "durable-a2a, REST",
  d1: "official SDK, D1",
  express: "official SDK, Express in memory",
} as const;

export interface Target {
  client: Client;
  close(): Promise<number>;
}

export const floors = async (): Promise<Target> => target(await startWorkerd("floors"));
export const agent = async (): Promise<Target> => target(await startWorkerd("agent"));
export const express = async (): Promise<Target> => target(await startExpress());

export const push = async (): Promise<Target> => target(await startWithQueue("push"));
export const pushFloor = async (): Promise<Target> => target(await startWithQueue("push-floor"));

/** The SDK's D1 store needs its table first. */
export async function d1(): Promise<Target> {
  const opened = target(await startWorkerd("sdk"));
  const options = ["upgrade", "--sql", "--dialect", "sqlite", "--store", "tasks"];
  const schema = execFileSync("npx", ["--no-install", "a2a-db", ...options], { encoding: "utf8" });
  ok(await opened.client.request({ path: "/bench/schema", body: schema }));
  return opened;
}

function target(server: Server): Target {
  const client = new Client(server.port);
  return {
    client,
    close() {
      client.close();
      return server.close();
    },
  };
}

/** A call of an operation over JSON-RPC. */
export function jsonRpc(method: string, params: object): Call {
  return {
    path: "/",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  };
}

/** A call of the REST binding; a GET when there is no body. */
export function rest(path: string, body?: object): Call {
  const headers = { "A2A-Version": "1.0" };
  if (!body) return { method: "GET", path, headers };
  return {
    path,
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** A user message with one text. */
export function say(text: string): object {
  return { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } };
}

/** The answer, when it is what was asked for; a benchmark of errors says nothing. */
export function ok(answer: Answer, contains = "", status = 200): Answer {
  if (answer.status === status && answer.text.includes(contains)) return answer;
  throw new Error(`unexpected answer: ${answer.status} ${answer.text.slice(0, 500)}`);
}

/** The id of the task in an answer or in the first event of a stream. */
export function taskIdIn(text: string): string {
  const found = /"task":\{"id":"([^"]+)"/.exec(text)?.[1];
  if (found === undefined) throw new Error(`no task in: ${text.slice(0, 500)}`);
  return found;
}
