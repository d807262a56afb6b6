/** How a task object takes in a user message: the first one makes the task, later ones go on with it. */
import type { Agent } from "../src/agent/define-agent.ts";
import type { SendInput } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import { begin, proceed } from "../src/task/accept.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import type { AcceptedMessage, TaskEvent } from "../src/task/event.ts";
import type { Entry, EventLog } from "./event-log.ts";
import type { PushCursors } from "./push-cursors.ts";

/** How long an agent that may answer with a message has before its task is born. */
const BIRTH_MS = 2_000;

export class Intake {
  readonly #taskId: string;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #log: EventLog;
  readonly #push: PushCursors;
  /** The webhook that came with the first message; stored when the task is born. */
  #inline: TaskPushNotificationConfig | undefined;

  constructor(taskId: string, agents: ReadonlyMap<string, Agent>, log: EventLog, push: PushCursors) {
    this.#taskId = taskId;
    this.#agents = agents;
    this.#log = log;
    this.#push = push;
  }

  /** Takes the message in, and gives the task as it is then. `mayReply`: a Message would be an answer too. */
  take(input: SendInput, mayReply: boolean): Result<TaskRecord> {
    return input.message.taskId === undefined ? this.#first(input, mayReply) : this.#further(input);
  }

  /** The task, when it took in the message of this request; else it is as good as not there. */
  find(requestId: string): Result<TaskRecord> {
    for (const { event } of this.#log.stored()) {
      if (event.kind === "message" && event.caller.requestId === requestId) return this.#record();
    }
    return refuse("TASK_NOT_FOUND");
  }

  /** When the task is born, what came with its first message is stored beside it. */
  tell([first]: readonly Entry[]): void {
    if (first?.event.kind !== "created" || !this.#inline) return;
    this.configure(this.#inline);
    this.#inline = undefined;
  }

  /** Stores a webhook of the task. */
  configure(config: TaskPushNotificationConfig): Result<TaskPushNotificationConfig> {
    const agent = this.#agents.get(this.#log.record?.agentId ?? "");
    const named = { ...config, id: config.id ?? crypto.randomUUID(), taskId: this.#taskId };
    return this.#push.put(named, this.#log.seq, agent?.push?.maxConfigs ?? 0);
  }

  #first(input: SendInput, mayReply: boolean): Result<TaskRecord> {
    const { agentId, owner, pushConfig } = input;
    const events = begin({ agentId, owner, taskId: this.#taskId }, accepted(input), now());
    this.#inline = pushConfig;
    if (mayReply && this.#agents.get(agentId)?.replies) {
      this.#log.hold(events, BIRTH_MS);
      return this.#record();
    }
    return this.#append(events);
  }

  #further(input: SendInput): Result<TaskRecord> {
    const { record } = this.#log;
    if (record?.owner !== input.owner) return refuse("TASK_NOT_FOUND");
    const events = proceed(record, accepted(input), now());
    if (!events.ok) return events;
    if (input.pushConfig) {
      const configured = this.configure(input.pushConfig);
      if (!configured.ok) return configured;
    }
    return this.#append(events.value);
  }

  #append(events: readonly TaskEvent[]): Result<TaskRecord> {
    const appended = this.#log.append(events);
    return appended.ok ? this.#record() : appended;
  }

  #record(): Result<TaskRecord> {
    const { record } = this.#log;
    return record ? { ok: true, value: record } : refuse("TASK_NOT_FOUND");
  }
}

function accepted({ message, caller, metadata, acceptedOutputModes }: SendInput): AcceptedMessage {
  return {
    message,
    caller,
    ...(metadata && { metadata }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
  };
}

function now(): string {
  return new Date().toISOString();
}
