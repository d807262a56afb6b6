/** How a task object takes in a user message: the first one makes the task, later ones go on with it. */
import type { Agent } from "../src/agent/define-agent.ts";
import type { Configured, SendInput, Sent } from "../src/operations/ports.ts";
import { type Refusal, type Result, refuse } from "../src/protocol/errors.ts";
import type { Message } from "../src/protocol/message.ts";
import { begin, proceed } from "../src/task/accept.ts";
import type { TaskRecord } from "../src/task/apply.ts";
import { working } from "../src/task/endings.ts";
import type { AcceptedMessage, Idempotency, TaskEvent } from "../src/task/event.ts";
import { fieldOf } from "../src/task/idempotency.ts";
import type { Entry, EventLog } from "./event-log.ts";
import type { PushDelivery } from "./push-delivery.ts";
import type { Remains } from "./remains.ts";

/** How long an agent that may answer with a message has before its task is born. */
const BIRTH_MS = 2_000;

/** What became of a message that was taken in: `repeated` when it had been before, under the same key. */
export type Taken =
  | { readonly record: TaskRecord; readonly repeated: boolean }
  | { readonly message: Message };

export class Intake {
  readonly #taskId: string;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #log: EventLog;
  readonly #push: PushDelivery;
  readonly #remains: Remains;
  /** The webhook that came with the first message; stored when the task is born. */
  #inline: Configured | undefined;

  constructor(
    taskId: string,
    agents: ReadonlyMap<string, Agent>,
    log: EventLog,
    push: PushDelivery,
    remains: Remains,
  ) {
    this.#taskId = taskId;
    this.#agents = agents;
    this.#log = log;
    this.#push = push;
    this.#remains = remains;
  }

  /** Takes the message in, and gives the task as it is then. `mayReply`: a Message would be an answer too. */
  take(input: SendInput, mayReply: boolean): Result<Taken> {
    const before = input.idempotency && this.#before(input, input.idempotency);
    if (before) return before;
    const taken =
      input.message.taskId === undefined ? this.#first(input, mayReply) : this.#further(input);
    return taken.ok ? { ok: true, value: { record: taken.value, repeated: false } } : taken;
  }

  /** The task, when it took in the message that was sent so; else it is as good as not there. */
  find({ requestId, key }: Sent): Result<TaskRecord> {
    const taken = this.#taken(
      ({ caller, idempotency }) =>
        caller.requestId === requestId || (key !== undefined && idempotency?.key === key),
    );
    return taken ? this.#record() : refuse("TASK_NOT_FOUND");
  }

  /** What became of the message with this key, when it came before. */
  #before({ owner, message }: SendInput, idempotency: Idempotency): Result<Taken> | undefined {
    // A message to a task finds it gone, key or not.
    const remnant = message.taskId === undefined ? this.#remains.value : undefined;
    if (remnant?.kind === "tombstone") {
      return refuse("TASK_NOT_FOUND", {
        message: `The task that was made with this ${fieldOf(idempotency)} has been deleted`,
      });
    }
    if (remnant?.kind === "reply") {
      return isSame(remnant.idempotency, idempotency)
        ? { ok: true, value: { message: remnant.message } }
        : otherRequest(idempotency);
    }
    const { record } = this.#log;
    if (!record || record.owner !== owner) return undefined;
    const known = this.#taken((each) => each.idempotency?.key === idempotency.key);
    if (!known) return message.taskId === undefined ? otherRequest(idempotency) : undefined;
    if (!isSame(known.idempotency, idempotency)) return otherRequest(idempotency);
    return { ok: true, value: { record, repeated: true } };
  }

  /** The message of the task that matches: a stored one, or the one of a task that is not born yet. */
  #taken(matches: (input: AcceptedMessage) => boolean): AcceptedMessage | undefined {
    const first = this.#log.record?.input;
    if (first && matches(first)) return first;
    for (const { event } of this.#log.stored()) {
      if (event.kind === "message" && matches(event)) return event;
    }
    return undefined;
  }

  /** Takes in an authorization that came out of band (§7.6.4): only for the very one that the turn waits for. */
  authorize(name: string, value: unknown): Result<undefined> {
    const { record } = this.#log;
    if (!record) return refuse("TASK_NOT_FOUND");
    const { call } = record.turn?.asked ?? {};
    if (call?.kind !== "authorize" || call.name !== name) {
      const message = "The task does not wait for an authorization of this name";
      return refuse("UNSUPPORTED_OPERATION", { message, metadata: { taskId: record.task.id } });
    }
    return this.#log.append([{ kind: "authorized", call, value }, working()]);
  }

  /** When the task is born, what came with its first message is stored beside it. */
  tell(entries: readonly Entry[]): void {
    if (entries[0]?.event.kind !== "created" || !this.#inline) return;
    this.#push.put(this.#inline, entries.at(-1)?.seq ?? 0);
    this.#inline = undefined;
  }

  /** The answer is this message, and there is no task. */
  replied(message: Message, agentId: string): void {
    if (this.#inline) this.#push.putMessage(agentId, this.#inline, message);
    this.#inline = undefined;
  }

  #first(input: SendInput, mayReply: boolean): Result<TaskRecord> {
    const { agentId, owner, push } = input;
    const events = begin({ agentId, owner, taskId: this.#taskId }, accepted(input), now());
    this.#inline = push;
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
    if (input.push) {
      const configured = this.#push.put(input.push, this.#log.seq);
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

function accepted(input: SendInput): AcceptedMessage {
  const { message, caller, metadata, acceptedOutputModes, idempotency } = input;
  return {
    message,
    caller,
    ...(idempotency && { idempotency }),
    ...(metadata && { metadata }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
  };
}

function isSame(one: Idempotency | undefined, other: Idempotency): boolean {
  return one?.key === other.key && one.request === other.request;
}

function otherRequest(idempotency: Idempotency): { ok: false; refusal: Refusal } {
  const field = fieldOf(idempotency);
  const description = "was sent before with another request";
  return refuse("INVALID_PARAMS", {
    message: `Invalid parameters: ${field}: ${description}`,
    fields: [{ field, description }],
  });
}

function now(): string {
  return new Date().toISOString();
}
