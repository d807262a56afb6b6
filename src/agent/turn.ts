/**
 * One turn: from the user message that starts it to its end. This is what an agent's `run` is given; it
 * turns what the agent says into events of the task.
 */
import type { Caller } from "../protocol/caller.ts";
import { A2AError, parse } from "../protocol/errors.ts";
import { Message, textOf } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import {
  Artifact,
  isInterrupted,
  StreamResponse,
  type Task,
  type TaskState,
} from "../protocol/task.ts";
import type { AcceptedMessage, ArtifactEvent, TaskEvent } from "../task/event.ts";
import { type ArtifactInput, type ArtifactOptions, type Content, toParts } from "./content.ts";
import type { Agent } from "./define-agent.ts";
import { matchesMediaType } from "./media-type.ts";
import { skillOf } from "./skill.ts";
import type { TurnPort } from "./turn-port.ts";

declare const turnEnd: unique symbol;
/** What the endings of a turn return; returning it from `run` is good style, not needed. */
export type TurnEnd = { readonly [turnEnd]: true };
const ENDED = {} as TurnEnd;

/** A returned string or artifact is published, and the task completes. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is a legal `run`.
export type TurnResult = string | ArtifactInput | TurnEnd | undefined | void;

export class Turn<Env = unknown> {
  readonly #port: TurnPort;
  readonly #agent: Agent;
  readonly #input: AcceptedMessage;
  readonly #number: number;
  #artifacts = 0;
  #ended = false;

  /** The Worker's bindings. */
  readonly env: Env;
  /** Aborts when the task is canceled. */
  readonly signal: AbortSignal;
  /** How often this turn was begun, from 1. */
  readonly attempt: number;

  constructor(
    agent: Agent,
    port: TurnPort,
    env: Env,
    signal: AbortSignal,
    { number, input }: { number: number; input: AcceptedMessage },
  ) {
    this.#agent = agent;
    this.#port = port;
    this.#input = input;
    this.#number = number;
    this.env = env;
    this.signal = signal;
    this.attempt = 1;
  }

  /** The task as it stands. */
  get task(): Task {
    return this.#port.record().task;
  }

  /** The message that started this turn. */
  get message(): Message {
    return this.#input.message;
  }

  /** The text parts of the message, one per line. */
  get text(): string {
    return textOf(this.#input.message.parts);
  }

  get caller(): Caller {
    return this.#input.caller;
  }

  /** Metadata of the request (§3.2.5). */
  get metadata(): Struct {
    return this.#input.metadata ?? {};
  }

  /** URIs of the extensions that are active for this message. */
  get extensions(): readonly string[] {
    return this.#input.caller.extensions;
  }

  /** Id of the skill that the message's or the request's metadata name, when the agent has it; else its only one. */
  get skill(): string | undefined {
    const { message, metadata } = this.#input;
    return skillOf(this.#agent.definition.skills, message, metadata)?.id;
  }

  /** Whether the client takes this media type; anything when it named none. */
  accepts(mediaType: string): boolean {
    const modes = this.#input.acceptedOutputModes ?? [];
    return modes.length === 0 || matchesMediaType(mediaType, modes);
  }

  /** The tasks that the message references (§3.4.3); only those of the same owner. */
  references(): Promise<Task[]> {
    return this.#port.tasksById(this.#input.message.referenceTaskIds ?? []);
  }

  /** The other tasks of this context and owner, latest first. Needs an agent that lists tasks. */
  async context(): Promise<Task[]> {
    const { id } = this.#port.record().task;
    const tasks = await this.#port.tasksOfContext();
    return tasks.filter((task) => task.id !== id);
  }

  /** Publishes a WORKING status, with a message when there is something to say. */
  async working(content?: Content): Promise<void> {
    this.#append([this.#status("TASK_STATE_WORKING", content)]);
  }

  /** Publishes an artifact, or replaces the one of the same id. Returns its id. */
  async artifact(options: ArtifactOptions): Promise<string> {
    const event = this.#artifactEvent(options);
    this.#append([event]);
    return event.artifact.artifactId;
  }

  /**
   * Publishes an artifact piece by piece, as `source` gives them: subscribers see each at once. Returns the
   * whole artifact. What was published stays when the source throws or the task is canceled.
   */
  async stream(
    options: Omit<ArtifactInput, "parts">,
    source: () => AsyncIterable<Content> | Promise<AsyncIterable<Content>>,
  ): Promise<Artifact> {
    const artifactId = options.artifactId ?? this.#nextArtifactId();
    let append = false;
    let lastIsText = true;
    const publish = (parts: Content, lastChunk: boolean) => {
      const event = this.#artifactEvent({
        ...(append ? {} : options),
        artifactId,
        parts,
        append,
        lastChunk,
      });
      if (!this.#ended) this.#port.chunk({ ...event, chunk: true });
      append = true;
      lastIsText = event.artifact.parts.at(-1)?.text !== undefined;
    };
    for await (const content of await source()) {
      this.signal.throwIfAborted();
      publish(content, false);
    }
    this.signal.throwIfAborted();
    // Which piece is the last is known only now. An empty text changes nothing for text; anything else ends unmarked.
    if (lastIsText) publish("", true);
    const artifact = this.task.artifacts?.find((each) => each.artifactId === artifactId);
    return artifact ?? { artifactId, parts: [] };
  }

  /**
   * Publishes any stream event (§3.2.3). Ids of task and context may be left out. A `task` is merged into the
   * one that is there: its status, artifacts and metadata are taken over, history stays. Rejects with an A2AError
   * (INVALID_AGENT_RESPONSE) when the event is not legal.
   */
  async publish(event: object): Promise<void> {
    const response = parse(StreamResponse, this.#withIds(event), "INVALID_AGENT_RESPONSE");
    const { task, message, statusUpdate, artifactUpdate } = response;
    if (message) {
      this.#reply(message);
    } else if (statusUpdate) {
      const { status, metadata } = statusUpdate;
      this.#append([this.#statusEvent(status, metadata)]);
    } else if (artifactUpdate) {
      const { artifact, append, lastChunk, metadata } = artifactUpdate;
      this.#append([
        {
          kind: "artifact",
          artifact,
          ...(append && { append }),
          ...(lastChunk && { lastChunk }),
          ...(metadata && { metadata }),
        },
      ]);
    } else if (task) {
      const { metadata, artifacts = [], status } = task;
      this.#append([
        ...(metadata ? [{ kind: "metadata", metadata } as const] : []),
        ...artifacts.map((artifact) => ({ kind: "artifact", artifact }) as const),
        this.#statusEvent(status),
      ]);
    }
  }

  /** Ends the task as COMPLETED. */
  complete(content?: Content): TurnEnd {
    return this.#end("TASK_STATE_COMPLETED", content);
  }

  /** Ends the task as FAILED. */
  fail(content?: Content): TurnEnd {
    return this.#end("TASK_STATE_FAILED", content);
  }

  /** Ends the task as REJECTED: the agent will not do it. */
  reject(content?: Content): TurnEnd {
    return this.#end("TASK_STATE_REJECTED", content);
  }

  /** Ends the turn as INPUT_REQUIRED; the client's next message starts another. With a message waiting already, the task stays WORKING. */
  inputRequired(content?: Content): TurnEnd {
    const answered = this.#port.record().waiting.length > 0;
    return this.#end(answered ? "TASK_STATE_WORKING" : "TASK_STATE_INPUT_REQUIRED", content);
  }

  /**
   * Answers with a Message and no Task (§3.1.1); only for agents with `replies: true`. When the task is born
   * already, the reply is its last status message.
   */
  reply(content: Content): TurnEnd {
    return this.#reply(this.#message(content));
  }

  /** What the end of `run` means for the task: the events that close the turn. */
  closing(result: TurnResult): TaskEvent[] {
    const record = this.#port.record();
    const answer = typeof result === "string" ? { parts: result } : result;
    const events: TaskEvent[] = [];
    if (answer && "parts" in answer && !this.#ended) events.push(this.#artifactEvent(answer));
    const goesOn = this.#ended || record.waiting.length > 0 || isInterrupted(record.task.status.state);
    events.push(goesOn ? { kind: "turn-ended" } : this.#status("TASK_STATE_COMPLETED"));
    this.close();
    return events;
  }

  /** Takes no more: what work that nobody awaited still publishes is dropped. */
  close(): void {
    this.#ended = true;
  }

  #reply(message: Message): TurnEnd {
    if (!this.#agent.replies) {
      throw new A2AError("INVALID_AGENT_RESPONSE", {
        message:
          "Invalid agent response: a Message instead of a Task needs `replies: true` in the definition",
      });
    }
    if (this.#ended) return ENDED;
    // Alone, it has no task to name.
    const { taskId: _, ...alone } = message;
    if (!this.#port.reply(alone)) {
      this.#append([this.#statusEvent({ state: "TASK_STATE_COMPLETED", message })]);
    }
    this.#ended = true;
    return ENDED;
  }

  #append(events: TaskEvent[]): void {
    if (!this.#ended) this.#port.append(events);
    else console.warn(`task ${this.task.id}: dropped what was published after the end of the turn`);
  }

  #end(state: TaskState, content?: Content): TurnEnd {
    this.#append([this.#status(state, content)]);
    this.#ended = true;
    return ENDED;
  }

  #status(state: TaskState, content?: Content): TaskEvent {
    return this.#statusEvent({
      state,
      ...(content !== undefined && { message: this.#message(content) }),
    });
  }

  #statusEvent(
    status: { state: TaskState; message?: Message | undefined },
    metadata?: Struct,
  ): TaskEvent {
    const { state, message } = status;
    return {
      kind: "status",
      status: { state, ...(message && { message }), timestamp: this.#port.now() },
      ...(metadata && { metadata }),
    };
  }

  #message(content: Content): Message {
    const { id, contextId } = this.#port.record().task;
    const message = {
      messageId: crypto.randomUUID(),
      taskId: id,
      contextId,
      role: "ROLE_AGENT",
      parts: toParts(content),
    };
    return parse(Message, message, "INVALID_AGENT_RESPONSE");
  }

  #artifactEvent({ parts, append, lastChunk, ...rest }: ArtifactOptions): ArtifactEvent {
    const artifact = {
      ...rest,
      artifactId: rest.artifactId ?? this.#nextArtifactId(),
      parts: toParts(parts),
    };
    return {
      kind: "artifact",
      artifact: parse(Artifact, artifact, "INVALID_AGENT_RESPONSE"),
      ...(append && { append }),
      ...(lastChunk && { lastChunk }),
    };
  }

  #nextArtifactId(): string {
    this.#artifacts += 1;
    return `artifact-${this.#number}.${this.#artifacts}`;
  }

  /** Fills in the ids an agent need not repeat; those of another task are refused. */
  #withIds(event: object): object {
    const { id, contextId } = this.#port.record().task;
    return Object.fromEntries(
      Object.entries(event).map(([arm, body]) => {
        if (typeof body !== "object" || body === null) return [arm, body];
        const ids = arm === "task" ? { id, contextId } : { taskId: id, contextId };
        for (const [name, value] of Object.entries(ids)) {
          const given = (body as Struct)[name];
          if (given !== undefined && given !== "" && given !== value) {
            throw new A2AError("INVALID_AGENT_RESPONSE", {
              message: `Invalid agent response: ${arm}.${name} names another task or context`,
            });
          }
        }
        const message = { messageId: crypto.randomUUID(), role: "ROLE_AGENT" };
        return [arm, { ...(arm === "message" && message), ...body, ...ids }];
      }),
    );
  }
}
