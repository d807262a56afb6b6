/** A client of an agent under test, which can also cut its objects, move the clock and count rows. */
import { abortAllDurableObjects, createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Content, toParts } from "../agent/content.ts";
import type { Agent } from "../agent/define-agent.ts";
import { type Duration, toMs } from "../agent/duration.ts";
import { checkBindings } from "../env.ts";
import type { AgentCard } from "../protocol/card.ts";
import type { Message } from "../protocol/message.ts";
import type { OperationName } from "../protocol/operations.ts";
import { isTerminal, type Task, type TaskState } from "../protocol/task.ts";
import { worker } from "../worker.ts";
import { calledBy } from "./caller.ts";
import { type Answer, post, resultOf } from "./client.ts";
import { advance, resetClock } from "./clock.ts";
import { events, type ReceivedEvent } from "./events.ts";
import { rowsWritten } from "./rows.ts";

export interface TesterOptions {
  /** Who calls; others see none of their tasks. Default: "tester", and nobody in particular for an `open()` agent. */
  caller?: string;
  /** What the caller may do. Default: every scope that the agent's schemes and skills name. */
  scopes?: string[];
  /** The tenant that requests name. Default: none. */
  tenant?: string;
}

export interface SendOptions {
  /** The task that the message goes on with. Default: a new one. */
  taskId?: string;
  contextId?: string;
  /** The skill that the message is for. */
  skill?: string;
  metadata?: Record<string, unknown>;
  /** Answers with the task as soon as it is there. Default: when it has ended or waits for its client. */
  returnImmediately?: boolean;
  idempotencyKey?: string;
}

/** Refusals are thrown as an A2AError, with the reason and the fields that a client is told. */
export interface Tester {
  /** SendMessage: the task as it is answered. */
  send(content: Content, options?: SendOptions): Promise<Task>;
  /** SendMessage to an agent with `replies: true` that answers with a Message. */
  reply(content: Content, options?: SendOptions): Promise<Message>;
  /** SendStreamingMessage: events as they come. Who leaves the loop leaves the stream. */
  stream(content: Content, options?: SendOptions): AsyncGenerator<ReceivedEvent, void, undefined>;
  /** SubscribeToTask, after the event `lastEventId` when it is given. */
  subscribe(
    taskId: string,
    options?: { lastEventId?: string },
  ): AsyncGenerator<ReceivedEvent, void, undefined>;
  get(taskId: string): Promise<Task>;
  list(): Promise<Task[]>;
  cancel(taskId: string): Promise<Task>;
  /** The public agent card, as the agent's own schemes make it. */
  card(): Promise<AgentCard>;
  /** The task once it is in this state, a terminal one by default. Throws after `seconds` (5) of real time. */
  until(taskId: string, state?: TaskState, seconds?: number): Promise<Task>;
  /**
   * All objects lose what they have in memory, as in a crash or a deploy. A turn that was cut off runs again when its
   * task is asked for, or with its alarm.
   */
  cut(): Promise<void>;
  /**
   * Lets time pass: `Date` moves, and the alarms that become due go off in order. Sleeps of less than ten seconds, and
   * timers of your own, take their real time.
   */
  advance(time: Duration): Promise<void>;
  /** Sets the clock right again; for `afterEach`. */
  resetClock(): void;
  /** Rows that all objects of the Worker write while `work` runs; an alarm that is set is a row, as it is billed. */
  rowsWritten(work: () => Promise<unknown>): Promise<number>;
}

/** Real time between two looks at a task (ms). */
const LOOK_MS = 10;

/**
 * The agent, with the objects of the Worker under test behind it (`main` of the configuration), and callers that the
 * test names in place of its authentication.
 *
 * @example
 * const tester = testAgent(agent);
 * const task = await tester.send("Ada");
 * expect(task.status.state).toBe("TASK_STATE_COMPLETED");
 */
export function testAgent(agent: Agent, { caller, scopes, tenant }: TesterOptions = {}): Tester {
  const server = worker(calledBy(agent, caller, scopes));
  const bindings = checkBindings(env);
  const fetch = (request: Request) => server.fetch(request, env, createExecutionContext());

  const open = (
    operation: OperationName,
    params: object,
    headers?: Record<string, string | undefined>,
  ) => post(fetch, operation, { ...(tenant !== undefined && { tenant }), ...params }, headers);
  async function call<T>(
    operation: OperationName,
    params: object,
    headers?: Record<string, string | undefined>,
  ): Promise<T> {
    const response = await open(operation, params, headers);
    return resultOf((await response.json()) as Answer) as T;
  }
  const sent = async (content: Content, options: SendOptions = {}) =>
    call<{ task?: Task; message?: Message }>("SendMessage", paramsOf(content, options), {
      "Idempotency-Key": options.idempotencyKey,
    });
  const get = (id: string) => call<Task>("GetTask", { id });

  return {
    async send(content, options) {
      const { task } = await sent(content, options);
      if (!task) throw new Error("the agent answered with a Message and no Task: use reply()");
      return task;
    },
    async reply(content, options) {
      const { message } = await sent(content, options);
      if (!message) throw new Error("the agent answered with a Task and no Message: use send()");
      return message;
    },
    async *stream(content, options = {}) {
      const headers = { "Idempotency-Key": options.idempotencyKey };
      yield* events(await open("SendStreamingMessage", paramsOf(content, options), headers));
    },
    async *subscribe(id, { lastEventId } = {}) {
      yield* events(await open("SubscribeToTask", { id }, { "Last-Event-ID": lastEventId }));
    },
    get,
    async list() {
      const tasks: Task[] = [];
      for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
        const page: { tasks: Task[]; nextPageToken: string } = await call("ListTasks", { pageToken });
        tasks.push(...page.tasks);
        pageToken = page.nextPageToken || undefined;
      }
      return tasks;
    },
    cancel: (id) => call<Task>("CancelTask", { id }),
    async card() {
      const request = new Request("https://agent.test/.well-known/agent-card.json");
      return (await worker(agent).fetch(request, env, createExecutionContext())).json();
    },
    async until(taskId, state, seconds = 5) {
      for (let looks = 0; ; looks++) {
        const task = await get(taskId);
        const reached = task.status.state;
        if (state === undefined ? isTerminal(reached) : reached === state) return task;
        if (isTerminal(reached) || looks * LOOK_MS > seconds * 1000) {
          const time = isTerminal(reached) ? "for ever" : `after ${seconds} s`;
          throw new Error(`the task is ${reached} ${time}, not ${state ?? "in a terminal state"}`);
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    },
    cut: abortAllDurableObjects,
    async advance(time) {
      const ms = toMs(time);
      if (ms === undefined) {
        throw new TypeError(`not a duration: ${time}; milliseconds, or words such as "3 days"`);
      }
      await advance([bindings.TASK_OBJECT, bindings.TASK_INDEX], ms);
    },
    resetClock,
    rowsWritten: (work) => rowsWritten(bindings.TASK_INDEX.getByName("durable-a2a/testing"), work),
  };
}

function paramsOf(
  content: Content,
  { taskId, contextId, skill, metadata, returnImmediately = false }: SendOptions,
): object {
  const message: Message = {
    messageId: crypto.randomUUID(),
    role: "ROLE_USER",
    parts: toParts(content),
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    ...((metadata || skill !== undefined) && {
      metadata: { ...metadata, ...(skill !== undefined && { skill }) } as Message["metadata"],
    }),
  };
  return { message, configuration: { returnImmediately } };
}
