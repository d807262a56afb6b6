/**
 * One turn: from the user message that starts it to its end, pauses included. This is what an agent's `run` is given.
 * What it says goes through the publisher, what it remembers through its durable calls.
 */
import type { Caller } from "../protocol/caller.ts";
import { type Message, textOf } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import { type Artifact, isInterrupted, type Task } from "../protocol/task.ts";
import type { AcceptedMessage, TaskEvent } from "../task/event.ts";
import type { ArtifactInput, ArtifactOptions, Content } from "./content.ts";
import type { Agent } from "./define-agent.ts";
import { type Authorization, DurableCalls } from "./durable-calls.ts";
import type { Duration } from "./duration.ts";
import { matchesMediaType } from "./media-type.ts";
import { Publisher } from "./publisher.ts";
import { misuse } from "./remembered.ts";
import { skillOf } from "./skill.ts";
import type { StepOptions, StepWork } from "./step.ts";
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
  readonly #publisher: Publisher;
  readonly #calls: DurableCalls;

  /** The Worker's bindings. */
  readonly env: Env;
  /** Aborts when the task is canceled, and at its deadline. */
  readonly signal: AbortSignal;
  /** How often this turn was begun, from 1: it runs again after its object was cut off, or put away while it waited. */
  readonly attempt: number;

  constructor(agent: Agent, port: TurnPort, env: Env, signal: AbortSignal, input: AcceptedMessage) {
    const { turn, turns } = port.record();
    this.#agent = agent;
    this.#port = port;
    this.#input = input;
    this.#publisher = new Publisher(agent, port, turns);
    this.#calls = new DurableCalls(port, signal, agent.limits.event);
    this.env = env;
    this.signal = signal;
    this.attempt = turn?.attempt ?? 1;
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
    this.#publisher.append([this.#publisher.status("TASK_STATE_WORKING", content)]);
  }

  /** Publishes an artifact, or replaces the one of the same id. Returns its id. */
  async artifact(options: ArtifactOptions): Promise<string> {
    this.#calls.outsideSteps("turn.artifact was called");
    const event = this.#publisher.artifact(options);
    this.#publisher.append([event]);
    return event.artifact.artifactId;
  }

  /**
   * Publishes an artifact piece by piece, as `source` gives them: subscribers see each at once. Returns the
   * whole artifact. What was published stays when the source throws or the task is canceled. A stream that came to
   * its end is remembered under its artifact's id or name: a later run of the turn does not call the source again.
   */
  stream(
    options: Omit<ArtifactInput, "parts">,
    source: () => AsyncIterable<Content> | Promise<AsyncIterable<Content>>,
  ): Promise<Artifact> {
    const artifactId = options.artifactId ?? this.#publisher.artifactId(options.name);
    const artifact = (): Artifact =>
      this.task.artifacts?.find((each) => each.artifactId === artifactId) ?? { artifactId, parts: [] };
    const work = async () => {
      this.#port.journal.restart(artifactId);
      await this.#streamAll(artifactId, options, source);
      return artifact();
    };
    const again = () => {
      this.#port.journal.passStream(artifactId);
      return artifact();
    };
    return this.#calls.once(options.artifactId ?? options.name ?? "artifact", work, again);
  }

  async #streamAll(
    artifactId: string,
    options: Omit<ArtifactInput, "parts">,
    source: () => AsyncIterable<Content> | Promise<AsyncIterable<Content>>,
  ): Promise<void> {
    let append = false;
    let lastIsText = true;
    const publish = (parts: Content, lastChunk: boolean) => {
      const event = this.#publisher.artifact({
        ...(append ? {} : options),
        artifactId,
        parts,
        append,
        lastChunk,
      });
      this.#publisher.chunk(event);
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
  }

  /**
   * Publishes any stream event (§3.2.3). Ids of task and context may be left out. A `task` is merged into the
   * one that is there: its status, artifacts and metadata are taken over, history stays. Rejects with an A2AError
   * (INVALID_AGENT_RESPONSE) when the event is not legal.
   */
  async publish(event: object): Promise<void> {
    this.#calls.outsideSteps("turn.publish was called");
    this.#publisher.publish(event);
  }

  /**
   * Runs `fn` until it succeeds once, and remembers its result: later runs of the turn get it at once. The result is
   * JSON of at most 1 MiB (`limits.event`) or undefined. A failed try is repeated with exponential backoff, but a
   * NonRetryableError is not; the error of the last try is thrown, and remembered too. `fn` may be run more than once
   * when it is cut off in the middle. Within it, no durable call of the turn may be made.
   *
   * @example
   * const order = await turn.step("place order", () => shop.order(item), { retries: 4, timeout: "30 seconds" });
   */
  step<T>(name: string, fn: StepWork<T>, options: StepOptions = {}): Promise<T> {
    return this.#calls.step(name, fn, options);
  }

  /** Waits, however long: from 10 seconds on, the object is put away while it sleeps. At most 365 days. */
  sleep(name: string, duration: Duration): Promise<void> {
    return this.#calls.sleep(name, duration);
  }

  /**
   * Asks the client (INPUT_REQUIRED) and gives its next message, however much later it comes. Only a message that
   * comes after the question answers it. Throws an AnswerTimeoutError when none has come within `timeout`.
   *
   * @example
   * const answer = await turn.ask("color", "Which color?", { timeout: "3 days" });
   */
  async ask(name: string, prompt: Content, { timeout }: { timeout?: Duration } = {}): Promise<Message> {
    const outcome = await this.#question("ask", name, prompt, timeout);
    return (outcome as { message: Message }).message;
  }

  /**
   * Asks the client to authorize something (AUTH_REQUIRED, §7.6). Goes on with the client's next message, or out of
   * band when `resumeTask` names this task and this name. Throws an AnswerTimeoutError after `timeout`.
   */
  async authorize(
    name: string,
    prompt: Content,
    { timeout }: { timeout?: Duration } = {},
  ): Promise<Authorization> {
    const outcome = await this.#question("authorize", name, prompt, timeout);
    if ("message" in outcome) return { via: "message", message: outcome.message };
    return { via: "resume", value: (outcome as { authorized: unknown }).authorized };
  }

  /** What the `nth` step of this name gave in this turn, also before a cancel; undefined when it has not ended well. */
  recall<T>(name: string, nth = 1): T | undefined {
    const outcome = this.#port.recall({ kind: "step", name, nth });
    return outcome && "value" in outcome ? (outcome.value as T) : undefined;
  }

  #question(kind: "ask" | "authorize", name: string, prompt: Content, timeout: Duration | undefined) {
    if (this.#port.record().turn?.cleanup) {
      throw misuse(`turn.${kind}("${name}"): a task that was canceled has nobody to ask`);
    }
    const state = kind === "ask" ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_AUTH_REQUIRED";
    return this.#calls.question(kind, name, () => this.#publisher.status(state, prompt), timeout);
  }

  /** Ends the task as COMPLETED. */
  complete(content?: Content): TurnEnd {
    this.#publisher.end("TASK_STATE_COMPLETED", content);
    return ENDED;
  }

  /** Ends the task as FAILED. */
  fail(content?: Content): TurnEnd {
    this.#publisher.end("TASK_STATE_FAILED", content);
    return ENDED;
  }

  /** Ends the task as REJECTED: the agent will not do it. */
  reject(content?: Content): TurnEnd {
    this.#publisher.end("TASK_STATE_REJECTED", content);
    return ENDED;
  }

  /** Ends the turn as INPUT_REQUIRED; the client's next message starts another. With a message waiting already, the task stays WORKING. */
  inputRequired(content?: Content): TurnEnd {
    const answered = this.#port.record().waiting.length > 0;
    this.#publisher.end(answered ? "TASK_STATE_WORKING" : "TASK_STATE_INPUT_REQUIRED", content);
    return ENDED;
  }

  /**
   * Answers with a Message and no Task (§3.1.1); only for agents with `replies: true`. When the task is born
   * already, the reply is its last status message.
   */
  reply(content: Content): TurnEnd {
    this.#publisher.reply(this.#publisher.message(content));
    return ENDED;
  }

  /** What the end of `run` means for the task: the events that close the turn. */
  closing(result: TurnResult): TaskEvent[] {
    this.#calls.check();
    const { journal } = this.#port;
    const record = this.#port.record();
    const answer = typeof result === "string" ? { parts: result } : result;
    const events: TaskEvent[] = [];
    if (!this.#publisher.ended) {
      if (answer && "parts" in answer) events.push(this.#publisher.artifact(answer));
      events.push(...journal.rest());
    }
    // A question of a durable call that the turn has not waited for is not what it ends with.
    const asks = isInterrupted(record.task.status.state) && !record.turn?.asked;
    const goesOn = this.#publisher.ended || record.waiting.length > 0 || asks;
    events.push(goesOn ? { kind: "turn-ended" } : this.#publisher.status("TASK_STATE_COMPLETED"));
    this.close();
    return events.flatMap((event) => journal.again(event) ?? []);
  }

  /** Takes no more: what work that nobody awaited still publishes is dropped. */
  close(): void {
    this.#publisher.close();
  }
}
