/** The Durable Object of one task: what it can be asked. The work is in its parts. */
import { DurableObject } from "cloudflare:workers";
import type { Agent } from "../src/agent/define-agent.ts";
import { type Bindings, taskIndex } from "../src/env.ts";
import type { ConfigPage, OpenStream, SendInput, TaskPort } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import type { SendMessageResponse, TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import { isTerminal, type Task } from "../src/protocol/task.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { rewind } from "../src/task/rewind.ts";
import { type TaskView, viewTask } from "../src/task/view.ts";
import { Alarms } from "./alarms.ts";
import { Answers } from "./answers.ts";
import { type Entry, EventLog } from "./event-log.ts";
import { IndexCursor } from "./index-cursor.ts";
import { Intake } from "./intake.ts";
import { taskLookup } from "./lookup.ts";
import { PushCursors } from "./push-cursors.ts";
import { Runner } from "./runner.ts";
import { finishedStream, laterFrames, Subscribers, taskFrame, type Until } from "./subscribers.ts";

const NOT_FOUND = refuse("TASK_NOT_FOUND");

export type TaskObjectClass = new (
  ctx: DurableObjectState,
  env: Bindings,
) => DurableObject<Bindings> & TaskPort;

/** The class, for the agents of a Worker by id. */
export function taskObject(agents: ReadonlyMap<string, Agent>): TaskObjectClass {
  return class TaskObject extends DurableObject<Bindings> implements TaskPort {
    readonly #subscribers = new Subscribers();
    readonly #answers = new Answers();
    readonly #alarms = new Alarms(this.ctx.storage);
    readonly #index = new IndexCursor((owner) => taskIndex(this.env, owner), this.#alarms);
    readonly #log = new EventLog(this.ctx.storage, (entries) => this.#tell(entries));
    readonly #push = new PushCursors(this.ctx.storage.sql);
    readonly #intake = new Intake(this.ctx.id.toString(), agents, this.#log, this.#push);
    readonly #runner = new Runner({
      agents,
      env: this.env,
      log: this.#log,
      alarms: this.#alarms,
      lookup: taskLookup(this.env, ({ agentId }) => agents.get(agentId)),
      reply: (message) => this.#reply(message),
    });

    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env);
      this.#runner.recover();
    }

    async send(
      input: SendInput,
      { returnImmediately, ...view }: TaskView & { returnImmediately: boolean },
    ): Promise<Result<SendMessageResponse>> {
      const taken = this.#intake.take(input, !returnImmediately);
      if (!taken.ok) return taken;
      const answer = returnImmediately ? undefined : this.#answers.next();
      this.#runner.start();
      const given = (await answer) ?? { record: this.#log.record ?? taken.value };
      if ("message" in given) return { ok: true, value: given };
      await this.#index.settled();
      const { cause, task } = given.record;
      if (!cause) return { ok: true, value: { task: viewTask(task, view) } };
      return refuse(cause.reason, {
        ...cause,
        metadata: { taskId: task.id, contextId: task.contextId },
      });
    }

    async stream(input: SendInput): Promise<Result<OpenStream>> {
      const taken = this.#intake.take(input, true);
      if (!taken.ok) return taken;
      // A task that is not born shows itself first when it is; any other is shown as it stands.
      const stream = this.#open(
        taken.value,
        this.#log.seq === 0 ? [] : this.#snapshot(taken.value),
        "input",
      );
      this.#runner.start();
      await this.#index.settled();
      return stream;
    }

    async get(owner: string, view: TaskView): Promise<Result<Task>> {
      const record = this.#recordOf(owner);
      return record ? { ok: true, value: viewTask(record.task, view) } : NOT_FOUND;
    }

    async cancel(owner: string): Promise<Result<Task>> {
      const record = this.#recordOf(owner);
      if (!record) return NOT_FOUND;
      const { id, status } = record.task;
      if (isTerminal(status.state) && status.state !== "TASK_STATE_CANCELED") {
        return refuse("TASK_NOT_CANCELABLE", {
          message: `The task has ended (${status.state}) and cannot be canceled`,
          metadata: { taskId: id },
        });
      }
      if (status.state !== "TASK_STATE_CANCELED") {
        const timestamp = new Date().toISOString();
        this.#log.append([{ kind: "status", status: { state: "TASK_STATE_CANCELED", timestamp } }]);
        this.#runner.canceled(record);
        await this.#index.settled();
      }
      return this.get(owner, {});
    }

    async subscribe(owner: string, lastEventId: number | undefined): Promise<Result<OpenStream>> {
      const record = this.#recordOf(owner);
      if (!record) return NOT_FOUND;
      const ended = isTerminal(record.task.status.state);
      if (ended && lastEventId === undefined) {
        return refuse("UNSUPPORTED_OPERATION", {
          message: `The task has ended (${record.task.status.state}): there is nothing to subscribe to`,
          metadata: { taskId: record.task.id },
        });
      }
      const frames = this.#snapshot(record, lastEventId);
      if (!ended) return this.#open(record, frames, "terminal");
      return { ok: true, value: streamOf(record, finishedStream(frames)) };
    }

    async putPushConfig(
      owner: string,
      config: TaskPushNotificationConfig,
    ): Promise<Result<TaskPushNotificationConfig>> {
      return this.#recordOf(owner) ? this.#intake.configure(config) : NOT_FOUND;
    }

    async getPushConfig(owner: string, id: string): Promise<Result<TaskPushNotificationConfig>> {
      const config = this.#recordOf(owner) && this.#push.get(id);
      return config ? { ok: true, value: config } : NOT_FOUND;
    }

    async listPushConfigs(owner: string, limit: number, after: string): Promise<Result<ConfigPage>> {
      return this.#recordOf(owner) ? { ok: true, value: this.#push.page(limit, after) } : NOT_FOUND;
    }

    async deletePushConfig(owner: string, id: string): Promise<Result<undefined>> {
      if (!this.#recordOf(owner)) return NOT_FOUND;
      this.#push.delete(id);
      return { ok: true, value: undefined };
    }

    override async alarm(): Promise<void> {
      this.#alarms.fired();
      const { record } = this.#log;
      if (!record) return;
      this.#runner.hold(record);
      if (this.#isListed(record)) this.#index.resume(record);
    }

    /** Wakes the readers of the log, each with its own cursor. */
    #tell(entries: readonly Entry[]): void {
      const [first] = entries;
      const last = entries.at(-1);
      if (first?.event.kind === "created") this.#intake.born();
      this.#subscribers.send(entries);
      this.#answers.tell(entries);
      if (!last || entries.every(({ event }) => event.kind === "artifact")) return;
      this.#runner.hold(last.record);
      if (this.#isListed(last.record)) this.#index.mark(last.record);
    }

    #reply(message: Message): boolean {
      if (!this.#log.discard()) return false;
      this.#subscribers.sendMessage(message);
      this.#answers.give({ message });
      return true;
    }

    #recordOf(owner: string): TaskRecord | undefined {
      const { record } = this.#log;
      return record?.owner === owner ? record : undefined;
    }

    #isListed({ agentId }: TaskRecord): boolean {
      return agents.get(agentId)?.definition.auth.listsTasks ?? false;
    }

    /** The task, now or as it stood at an event with what came after; made of stored events alone. */
    #snapshot(record: TaskRecord, lastEventId?: number): Uint8Array[] {
      this.#log.flush();
      if (lastEventId === undefined || lastEventId > this.#log.seq)
        return [taskFrame(this.#log.seq, record)];
      const past = rewind(this.#log.stored(), lastEventId);
      if (!past.record) return [taskFrame(this.#log.seq, record)];
      return [taskFrame(lastEventId, past.record), ...laterFrames(past.later, record)];
    }

    #open(record: TaskRecord, frames: readonly Uint8Array[], until: Until): Result<OpenStream> {
      return { ok: true, value: streamOf(record, this.#subscribers.open(frames, until)) };
    }
  };
}

function streamOf({ task }: TaskRecord, frames: ReadableStream<Uint8Array>): OpenStream {
  return { taskId: task.id, state: task.status.state, frames };
}
