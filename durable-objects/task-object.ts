/** The Durable Object of one task: what it can be asked. The work is in its parts. */
import { DurableObject } from "cloudflare:workers";
import type { Agent } from "../src/agent/define-agent.ts";
import type { Bindings } from "../src/env.ts";
import type * as ports from "../src/operations/ports.ts";
import { type Refused, type Result, refuse } from "../src/protocol/errors.ts";
import type { SendMessageResponse, TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import { isTerminal, type Task } from "../src/protocol/task.ts";
import type { Report } from "../src/push/job.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { type TaskView, toLine, viewTask } from "../src/task/view.ts";
import { isSettled, taskAnswer } from "./answers.ts";
import { messageStream } from "./subscribers.ts";
import { TaskParts } from "./task-parts.ts";

export type TaskObjectClass = new (
  ctx: DurableObjectState,
  env: Bindings,
) => DurableObject<Bindings> & ports.TaskPort;

type Reply<T> = Promise<Result<T>>;

/** The class, for the agents of a Worker by id. */
export function taskObject(agents: ReadonlyMap<string, Agent>): TaskObjectClass {
  return class TaskObject extends DurableObject<Bindings> implements ports.TaskPort {
    readonly #parts = new TaskParts(this.ctx, this.env, agents);

    async send(input: ports.SendInput, options: ports.SendOptions): Reply<SendMessageResponse> {
      this.#parts.runner.start();
      const taken = this.#parts.intake.take(input, !options.returnImmediately);
      if (!taken.ok) return taken;
      if ("message" in taken.value) return { ok: true, value: taken.value };
      const { record, repeated } = taken.value;
      // A retry may find its task done; a new message has its answer still to come.
      const done = options.returnImmediately || (repeated && isSettled(record));
      if (done) this.#parts.log.settle();
      const answer = done ? undefined : this.#parts.answers.next();
      this.#parts.runner.start();
      const given = (await answer) ?? { record: this.#parts.log.record ?? record };
      if ("message" in given) return { ok: true, value: given };
      await this.#parts.index.settled();
      return taskAnswer(given.record, options);
    }

    async resume(owner: string, sent: ports.Sent, view: TaskView): Reply<SendMessageResponse> {
      const found = this.#with(owner, () => this.#parts.intake.find(sent));
      return found.ok ? this.#parts.answers.taskAnswer(found.value, view) : found;
    }

    async stream(input: ports.SendInput): Reply<ports.OpenStream> {
      this.#parts.runner.start();
      const taken = this.#parts.streams.full(input.agentId) ?? this.#parts.intake.take(input, true);
      if (!taken.ok) return taken;
      if ("message" in taken.value) return { ok: true, value: messageStream(taken.value.message) };
      const { record, repeated } = taken.value;
      const lastEventId = repeated ? (input.caller.lastEventId ?? this.#parts.log.seq) : undefined;
      // Attached before the turn starts: nothing of it can fall between.
      const value = this.#parts.streams.open(record, { until: "input", lastEventId });
      this.#parts.runner.start();
      await this.#parts.index.settled();
      return { ok: true, value };
    }

    async get(owner: string, view: TaskView): Reply<Task> {
      return this.#with(owner, ({ task }) => ({ ok: true, value: viewTask(task, view) }));
    }

    async read(owner: string, historyLength?: number): Promise<string | Refused> {
      const found = this.#with(owner, ({ task }) => ({ ok: true, value: task }));
      return found.ok ? toLine(viewTask(found.value, { historyLength })) : found;
    }

    async cancel(owner: string): Reply<Task> {
      const canceled = this.#with(owner, (record) => this.#parts.runner.cancel(record));
      await this.#parts.index.settled();
      return canceled.ok ? this.get(owner, {}) : canceled;
    }

    async subscribe(owner: string, options: ports.SubscribeOptions): Reply<ports.OpenStream> {
      return this.#with(owner, (record) => this.#parts.streams.subscribe(record, options));
    }

    async putPushConfig(owner: string, push: ports.Configured) {
      return this.#with(owner, () => this.#parts.delivery.put(push));
    }

    async getPushConfig(owner: string, id: string): Reply<TaskPushNotificationConfig> {
      return this.#with(owner, () => this.#parts.push.find(id));
    }

    async listPushConfigs(owner: string, limit: number, after: string): Reply<ports.ConfigPage> {
      return this.#with(owner, () => ({ ok: true, value: this.#parts.push.page(limit, after) }));
    }

    async deletePushConfig(owner: string, id: string): Reply<undefined> {
      return this.#with(owner, () => this.#parts.delivery.delete(id));
    }

    async lease(config: string) {
      return this.#parts.delivery.lease(config);
    }

    async holds(config: string, lease: string): Promise<boolean> {
      return this.#parts.delivery.holds(config, lease);
    }

    async settle(config: string, lease: string, report: Report): Promise<void> {
      await this.#parts.settle(config, lease, report);
    }

    async deliveries() {
      return this.#parts.log.record && this.#parts.delivery.states();
    }

    async restartDelivery(config: string, from?: number): Reply<undefined> {
      return this.#parts.delivery.restart(config, from);
    }

    async authorize(name: string, value: unknown): Reply<undefined> {
      this.#parts.runner.start();
      const authorized = this.#parts.intake.authorize(name, value);
      this.#parts.runner.start();
      return authorized;
    }

    async erase(): Promise<boolean> {
      const { record } = this.#parts.log;
      if (!record) return false;
      // Whoever waits for the task sees an end of it first.
      if (!isTerminal(record.task.status.state)) this.#parts.runner.cancel(record, true);
      this.#parts.runner.stop("the task was deleted");
      this.#parts.retention.erase(this.#parts.log.record ?? record);
      await this.#parts.retention.finish();
      return true;
    }

    override async alarm(): Promise<void> {
      await this.#parts.alarm(Date.now());
    }

    /** Does something with the task, when it is the owner's; one that never was and another's look alike. */
    #with<T>(owner: string, work: (record: TaskRecord) => Result<T>): Result<T> {
      this.#parts.runner.start();
      this.#parts.delivery.resume();
      const { record } = this.#parts.log;
      return record?.owner === owner ? work(record) : refuse("TASK_NOT_FOUND");
    }
  };
}
