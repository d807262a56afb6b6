/** Webhooks on no network: what tests receive, and the consumer that they pump jobs through. */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { StreamResponse } from "durable-a2a";
import { onTestFinished, vi } from "vitest";
import { type Binding, operate } from "./bindings.ts";
import type { CallOptions } from "./client.ts";
import { queues } from "./queues.ts";
import worker from "./worker.ts";

export interface Received {
  url: string;
  headers: Headers;
  id: string;
  seq: number;
  body: StreamResponse;
  /** The request as it was made. */
  request: Request;
}

type Answer = (received: Received, nth: number) => Response | Promise<Response>;

/** Stands in for the network until the test ends; `answer` is asked for each POST, `nth` from 1. Gives what arrived. */
export function receive(answer: Answer = () => new Response("ok")): Received[] {
  const received: Received[] = [];
  queues.take();
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    const delivery = {
      url,
      headers,
      id: headers.get("X-A2A-Notification-Id") ?? "",
      seq: Number(headers.get("X-A2A-Notification-Seq")),
      body: JSON.parse(String(init.body)) as StreamResponse,
      request: new Request(url, { method: "POST", headers, body: String(init.body) }),
    };
    received.push(delivery);
    return answer(delivery, received.length);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    queues.fail(undefined);
  });
  return received;
}

/** Is the consumer of the jobs that wait, and of those that come of them, until there are no more. */
export async function pump(vars: object = {}): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    const jobs = queues.take();
    if (jobs.length === 0) return;
    await consume(
      jobs.map(({ job }) => job),
      vars,
    );
  }
}

/** A batch of the queue; `vars` are laid over the bindings. */
export async function consume(bodies: readonly unknown[], vars: object = {}): Promise<void> {
  const messages = bodies.map((body) => ({ body }));
  const context = createExecutionContext();
  await worker.queue({ messages } as never, { ...env, ...vars }, context);
  await waitOnExecutionContext(context);
}

/** Makes a webhook of the task; gives its id. */
export async function hook(
  binding: Binding,
  taskId: string,
  config: object = {},
  options: CallOptions = {},
): Promise<string> {
  const params = { taskId, url: "https://example.com/hook", ...config };
  const { value, error } = await operate(binding, "CreateTaskPushNotificationConfig", params, options);
  if (error) throw new Error(error.message);
  return String(value?.id);
}

/** What arrived, in short: `status WORKING`, `artifact name`, `task COMPLETED`, `message`. */
export function inShort(received: readonly Received[]): string[] {
  return received.map(({ body: { task, message, statusUpdate, artifactUpdate } }) => {
    if (task) return `task ${task.status.state.slice("TASK_STATE_".length)}`;
    if (message) return "message";
    if (statusUpdate) return `status ${statusUpdate.status.state.slice("TASK_STATE_".length)}`;
    return `artifact ${artifactUpdate?.artifact.artifactId}`;
  });
}
