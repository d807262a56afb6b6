/** What a client says about its webhooks, and what came to one of them held against the log of the task. */
import type { Message, StreamResponse, Task } from "durable-a2a";
import { expect } from "vitest";
import { assemble, content } from "../assembly.ts";
import type { Step } from "../lab/script.ts";
import type { Delivery } from "./receiver.ts";
import { answerOf, type Binding, call, getTask, message, readAll } from "./wire.ts";

export interface Hook {
  id?: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}

interface SendOptions {
  binding?: Binding;
  headers?: Record<string, string>;
  returnImmediately?: boolean;
  /** A task to go on with. */
  taskId?: string;
}

/** Sends a message with a webhook in it, and does not wait unless told to. */
export async function send(
  url: string,
  content: string | Step[],
  hook: Hook,
  { binding = "jsonrpc", headers = {}, returnImmediately = true, taskId }: SendOptions = {},
): Promise<{ task: Task; message?: Message }> {
  const params = {
    message: message(content, taskId === undefined ? {} : { taskId }),
    configuration: { returnImmediately, taskPushNotificationConfig: hook },
  };
  const answer = await answerOf(await call(url, binding, "SendMessage", params, { headers }));
  return answer as unknown as { task: Task; message?: Message };
}

/** Gives a task a webhook. */
export async function register(
  url: string,
  taskId: string,
  hook: Hook,
  binding: Binding = "jsonrpc",
): Promise<Hook & { id: string }> {
  const params = { ...hook, taskId };
  const answer = await answerOf(await call(url, binding, "CreateTaskPushNotificationConfig", params));
  return answer as unknown as Hook & { id: string };
}

export async function unregister(
  url: string,
  taskId: string,
  id: string,
  binding: Binding = "jsonrpc",
): Promise<void> {
  const response = await call(url, binding, "DeleteTaskPushNotificationConfig", { taskId, id });
  // Over HTTP+JSON a success has no body.
  if (binding === "jsonrpc") await answerOf(response);
  else expect(response.ok).toBe(true);
}

/** An event with its place in the log of its task. */
interface LoggedEvent {
  readonly seq: number;
  readonly response: StreamResponse;
}

/** The last entry of a task's birth: what is said of it comes after. */
const BIRTH = 3;

/** Whether the receiver has taken an event with which a task is over. */
export function isOver(deliveries: readonly Delivery[]): boolean {
  return deliveries.some((delivery) => {
    const { statusUpdate, task } = delivery.body;
    return (
      isTaken(delivery) && isTerminal((statusUpdate ?? task)?.status.state ?? "TASK_STATE_UNSPECIFIED")
    );
  });
}

function isTerminal(state: string): boolean {
  return /_(COMPLETED|FAILED|CANCELED|REJECTED)$/.test(state);
}

function isTaken({ answered }: Delivery): boolean {
  return answered !== undefined && answered.status >= 200 && answered.status < 300;
}

/**
 * The events that came to one webhook. Each has one id, which a repeat has again with the same body; each came only
 * after every earlier one had been taken.
 */
export function eventsIn(deliveries: readonly Delivery[]): LoggedEvent[] {
  const events = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    const { id, seq, raw, place } = delivery;
    expect(id, "X-A2A-Notification-Id").not.toBe("");
    const before = events.get(id);
    if (before) {
      expect([seq, raw], `a repeat of ${id}`).toEqual([before.seq, before.raw]);
      continue;
    }
    for (const earlier of events.values()) {
      expect(seq, `the seq of ${id}, which came after ${earlier.id}`).toBeGreaterThan(earlier.seq);
      const taken = deliveries.some(
        (each) => each.id === earlier.id && isTaken(each) && (each.answered?.place ?? 0) < place,
      );
      expect(taken, `#${earlier.seq} was taken before #${seq} came`).toBe(true);
    }
    events.set(id, delivery);
  }
  return [...events.values()].map(({ seq, body }) => ({ seq, response: body }));
}

/** The events of a task that has ended, from its log; the first of them made it WORKING. */
async function logOf(url: string, id: string): Promise<LoggedEvent[]> {
  const headers = { "Last-Event-ID": "1" };
  const response = await call(url, "rest", "SubscribeToTask", { id }, { headers });
  const [, ...events] = await readAll(response);
  return events.map(({ id: seq, response: event }) => ({ seq: Number(seq), response: event }));
}

/**
 * Holds what came to a webhook against the log of its task, which has ended: every event behind `after`, in order and
 * with its seq, and nothing else. Without `after`, all since the birth of the task, which add up to what GetTask shows.
 */
export async function expectWhole(
  deliveries: readonly Delivery[],
  url: string,
  id: string,
  after?: number,
): Promise<void> {
  const came = eventsIn(deliveries);
  const log = await logOf(url, id);
  // Whether the birth itself is told is left open.
  const from = after ?? Math.min(BIRTH, (came[0]?.seq ?? 0) - 1);
  const behind = ({ seq }: LoggedEvent) => seq > from;
  expect(merged(came.filter(behind))).toEqual(merged(log.filter(behind)));
  if (after !== undefined) return;
  const task = await getTask(url, id);
  const born = { ...task, status: { state: "TASK_STATE_SUBMITTED" as const }, artifacts: [] };
  const responses = came.map(({ response }) => response);
  expect(content(assemble([{ task: born }, ...responses]))).toEqual(content(task));
}

/** The events with adjacent pieces of one artifact put together: how they were cut is not part of what they say. */
function merged(events: readonly LoggedEvent[]): LoggedEvent[] {
  const whole: LoggedEvent[] = [];
  for (const { seq, response } of events) {
    const { artifactUpdate: next } = response;
    const { artifactUpdate: last } = whole.at(-1)?.response ?? {};
    if (next?.append && next.artifact.artifactId === last?.artifact.artifactId) {
      const parts = [...last.artifact.parts, ...next.artifact.parts];
      const artifact = { ...last.artifact, ...next.artifact, parts };
      const lastChunk = last.lastChunk || next.lastChunk;
      whole.pop();
      whole.push({
        seq,
        response: { artifactUpdate: { ...last, artifact, ...(lastChunk && { lastChunk }) } },
      });
    } else {
      whole.push({ seq, response });
    }
  }
  return whole.map(({ seq, response }) => ({ seq, response: joined(response) }));
}

function joined(response: StreamResponse): StreamResponse {
  const { artifactUpdate } = response;
  if (!artifactUpdate) return response;
  const status = { state: "TASK_STATE_WORKING" as const };
  const { artifacts } = content({ status, artifacts: [artifactUpdate.artifact] }) as Pick<
    Task,
    "artifacts"
  >;
  const [artifact = artifactUpdate.artifact] = artifacts ?? [];
  return { artifactUpdate: { ...artifactUpdate, artifact } };
}
