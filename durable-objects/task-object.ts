/** The Durable Object of one task: what it can be asked. The work is in its parts. */
import { DurableObject } from "cloudflare:workers";
import type { Agent } from "../src/agent/define-agent.ts";
import { type Bindings, taskIndex } from "../src/env.ts";
import type * as ports from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import type { SendMessageResponse, TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import type { Task } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { type TaskView, viewTask } from "../src/task/view.ts";
import { Alarms } from "./alarms.ts";
import { Answers, taskAnswer } from "./answers.ts";
import { type Entry, EventLog } from "./event-log.ts";
import { IndexCursor } from "./index-cursor.ts";
import { Intake } from "./intake.ts";
import { taskLookup } from "./lookup.ts";
import { PushCursors } from "./push-cursors.ts";
import { Runner } from "./runner.ts";
import { Streams } from "./streams.ts";
import { Subscribers } from "./subscribers.ts";

export type TaskObjectClass = new (
  ctx: DurableObjectState,
  env: Bindings,
) => DurableObject<Bindings> & ports.TaskPort;

type Reply<T> = Promise<Result<T>>;

/** The class, for the agents of a Worker by id. */
export function taskObject(agents: ReadonlyMap<string, Agent>): TaskObjectClass {
  return class TaskObject extends DurableObject<Bindings> implements ports.TaskPort {
    readonly #subscribers = new Subscribers();
    readonly #answers = new Answers();
    readonly #alarms = new Alarms(this.ctx.storage);
    readonly #index = new IndexCursor((owner) => taskIndex(this.env, owner), this.#alarms, agents);
    readonly #log = new EventLog(this.ctx.storage, agents, (entries) => this.#tell(entries));
    readonly #push = new PushCursors(this.ctx.storage.sql);
    readonly #intake = new Intake(this.ctx.id.toString(), agents, this.#log, this.#push);
    readonly #streams = new Streams(agents, this.#log, this.#subscribers);
    readonly #runner = new Runner({
      agents,
      env: this.env,
      log: this.#log,
      alarms: this.#alarms,
      lookup: taskLookup(this.env, agents),
      reply: (message) => this.#reply(message),
    });

    async send(input: ports.SendInput, options: ports.SendOptions): Reply<SendMessageResponse> {
      this.#runner.recover();
      const taken = this.#intake.take(input, !options.returnImmediately);
      if (!taken.ok) return taken;
      const answer = options.returnImmediately ? undefined : this.#answers.next();
      this.#runner.start();
      const given = (await answer) ?? { record: this.#log.record ?? taken.value };
      if ("message" in given) return { ok: true, value: given };
      await this.#index.settled();
      return taskAnswer(given.record, options);
    }

    async resume(owner: string, requestId: string, view: TaskView): Reply<SendMessageResponse> {
      const found = this.#with(owner, () => this.#intake.find(requestId));
      return found.ok ? this.#answers.taskAnswer(found.value, view) : found;
    }

    async stream(input: ports.SendInput): Reply<ports.OpenStream> {
      this.#runner.recover();
      const taken = this.#streams.full(input.agentId) ?? this.#intake.take(input, true);
      if (!taken.ok) return taken;
      // Attached before the turn starts: nothing of it can fall between.
      const value = this.#streams.open(taken.value, { until: "input", lastEventId: undefined });
      this.#runner.start();
      await this.#index.settled();
      return { ok: true, value };
    }

    async get(owner: string, view: TaskView): Reply<Task> {
      return this.#with(owner, ({ task }) => ({ ok: true, value: viewTask(task, view) }));
    }

    async cancel(owner: string): Reply<Task> {
      const canceled = this.#with(owner, (record) => this.#runner.cancel(record));
      await this.#index.settled();
      return canceled.ok ? this.get(owner, {}) : canceled;
    }

    async subscribe(owner: string, options: ports.SubscribeOptions): Reply<ports.OpenStream> {
      return this.#with(owner, (record) => this.#streams.subscribe(record, options));
    }

    async putPushConfig(owner: string, config: TaskPushNotificationConfig) {
      return this.#with(owner, () => this.#intake.configure(config));
    }

    async getPushConfig(owner: string, id: string): Reply<TaskPushNotificationConfig> {
      return this.#with(owner, () => this.#push.find(id));
    }

    async listPushConfigs(owner: string, limit: number, after: string): Reply<ports.ConfigPage> {
      return this.#with(owner, () => ({ ok: true, value: this.#push.page(limit, after) }));
    }

    async deletePushConfig(owner: string, id: string): Reply<undefined> {
      return this.#with(owner, () => this.#push.delete(id));
    }

    override async alarm(): Promise<void> {
      this.#alarms.fired();
      this.#runner.recover();
      const { record } = this.#log;
      if (!record) return;
      this.#runner.hold(record);
      this.#index.resume(record);
    }

    /** Wakes the readers of the log. */
    #tell(entries: readonly Entry[]): void {
      this.#intake.tell(entries);
      this.#subscribers.send(entries);
      this.#answers.tell(entries);
      // In this order the alarm that held the turn stands by for the index, instead of being set anew.
      this.#index.tell(entries);
      this.#runner.tell(entries);
    }

    #reply(message: Message): boolean {
      if (!this.#log.discard()) return false;
      this.#subscribers.sendMessage(message);
      this.#answers.give({ message });
      return true;
    }

    /** Does something with the task, when it is the owner's; one that never was and another's look alike. */
    #with<T>(owner: string, work: (record: TaskRecord) => Result<T>): Result<T> {
      this.#runner.recover();
      const { record } = this.#log;
      return record?.owner === owner ? work(record) : refuse("TASK_NOT_FOUND");
    }
  };
}
