/**
 * What a turn says, as events of its task. A turn that runs again says nothing twice: what it said before at the same
 * place is skipped, and what differs replaces that (see `task/journal.ts`).
 */
import { A2AError, parse } from "../protocol/errors.ts";
import { Message } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import { Artifact, StreamResponse, type TaskState } from "../protocol/task.ts";
import type { ArtifactEvent, StatusEvent, TaskEvent } from "../task/event.ts";
import { loggedTaskId } from "./audit.ts";
import { type ArtifactOptions, type Content, toParts } from "./content.ts";
import type { Agent } from "./define-agent.ts";
import { currentStep } from "./step-scope.ts";
import type { TurnPort } from "./turn-port.ts";

/** Longest part of an artifact's name that goes into its id. */
const MAX_NAME_IN_ID = 100;

export class Publisher {
  readonly #agent: Agent;
  readonly #port: TurnPort;
  readonly #turnNumber: number;
  /** Artifacts without an id so far, by the name that theirs is made of. */
  readonly #unnamed = new Map<string, number>();
  #ended = false;

  constructor(agent: Agent, port: TurnPort, turnNumber: number) {
    this.#agent = agent;
    this.#port = port;
    this.#turnNumber = turnNumber;
  }

  /** Whether the turn has said its last word. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Takes no more: what work that nobody awaited still publishes is dropped. */
  close(): void {
    this.#ended = true;
  }

  /** Publishes the events, all in one row; drops them when the turn has ended. */
  append(events: readonly TaskEvent[]): void {
    if (this.#ended) {
      const { id } = this.#port.record().task;
      console.warn(
        `task ${loggedTaskId(id, false)}: dropped what was published after the end of the turn`,
      );
      return;
    }
    const fresh = events.flatMap((event) => this.#port.journal.again(event) ?? []);
    if (fresh.length > 0) this.#port.append(fresh);
  }

  /** Publishes the status that ends the turn. */
  end(state: TaskState, content?: Content): void {
    this.append([this.status(state, content)]);
    this.close();
  }

  /** Shows a piece of a growing artifact. */
  chunk(event: ArtifactEvent): void {
    if (!this.#ended) this.#port.chunk({ ...event, chunk: true });
  }

  /** Answers with a message alone; when the task is born already, that is its last status message. */
  reply(message: Message): void {
    if (!this.#agent.replies) {
      throw new A2AError("INVALID_AGENT_RESPONSE", {
        message:
          "Invalid agent response: a Message instead of a Task needs `replies: true` in the definition",
      });
    }
    if (this.#ended) return;
    // Alone, it has no task to name.
    const { taskId: _, ...alone } = message;
    if (!this.#port.reply(alone)) {
      this.append([this.#statusEvent({ state: "TASK_STATE_COMPLETED", message })]);
    }
    this.close();
  }

  /** Publishes any stream event (§3.2.3). */
  publish(event: object): void {
    const response = parse(StreamResponse, this.#withIds(event), "INVALID_AGENT_RESPONSE");
    const { task, message, statusUpdate, artifactUpdate } = response;
    if (message) {
      this.reply(message);
    } else if (statusUpdate) {
      const { status, metadata } = statusUpdate;
      this.append([this.#statusEvent(status, metadata)]);
    } else if (artifactUpdate) {
      const { artifact, append, lastChunk, metadata } = artifactUpdate;
      this.append([
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
      this.append([
        ...(metadata ? [{ kind: "metadata", metadata } as const] : []),
        ...artifacts.map((artifact) => ({ kind: "artifact", artifact }) as const),
        this.#statusEvent(status),
      ]);
    }
  }

  status(state: TaskState, content?: Content): StatusEvent {
    return this.#statusEvent({
      state,
      ...(content !== undefined && { message: this.message(content) }),
    });
  }

  message(content: Content): Message {
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

  artifact({ parts, append, lastChunk, ...rest }: ArtifactOptions): ArtifactEvent {
    const artifact = {
      ...rest,
      artifactId: rest.artifactId ?? this.artifactId(rest.name),
      parts: toParts(parts),
    };
    return {
      kind: "artifact",
      artifact: parse(Artifact, artifact, "INVALID_AGENT_RESPONSE"),
      ...(append && { append }),
      ...(lastChunk && { lastChunk }),
    };
  }

  /** The id of the turn's next artifact of this name, the same in each of its runs. */
  artifactId(name = "artifact"): string {
    const base = name.slice(0, MAX_NAME_IN_ID);
    const nth = (this.#unnamed.get(base) ?? 0) + 1;
    this.#unnamed.set(base, nth);
    return `${base}-${this.#turnNumber}.${nth}`;
  }

  #statusEvent(
    status: { state: TaskState; message?: Message | undefined },
    metadata?: Struct,
  ): StatusEvent {
    const { state, message } = status;
    return {
      kind: "status",
      status: { state, ...(message && { message }), timestamp: this.#port.now() },
      ...(metadata && { metadata }),
      // A step that is done is not run again, and so does not say it again.
      ...(currentStep() !== undefined && { aside: true }),
    };
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
