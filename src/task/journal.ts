/**
 * What a turn left in the log before it was cut off: outcomes of its durable calls, and what it published. A turn that
 * runs again asks it before it does or says anything. Pure; read once, when the turn runs again, and told since then of
 * answers that come before the question is reached.
 */
import { type Artifact, isTerminal } from "../protocol/task.ts";
import { apply, type TaskRecord, withArtifact } from "./apply.ts";
import type {
  AcceptedMessage,
  ArtifactEvent,
  DurableCall,
  OutcomeEvent,
  StatusEvent,
  TaskEvent,
} from "./event.ts";
import type { StoredEvent } from "./rewind.ts";

/** What came of a durable call. */
export type Outcome =
  | Pick<OutcomeEvent, "value" | "error">
  | { message: AcceptedMessage["message"] }
  | { authorized: unknown };

interface Published {
  /** What there was of the artifact before the turn. */
  readonly base: Artifact | undefined;
  readonly events: ArtifactEvent[];
  /** How many of them this run has said again. */
  again: number;
}

export class Journal {
  readonly #outcomes = new Map<string, Outcome>();
  readonly #waits = new Map<string, { until: number; tries: number }>();
  /** The kinds of calls that a name was given to. */
  readonly #kinds = new Map<string, Set<DurableCall["kind"]>>();
  readonly #artifacts = new Map<string, Published>();
  #statuses: StatusEvent[] = [];

  /** The journal of the last turn in the log; of its clean-up alone when that has begun, unless `wholeTurn`. */
  static read(log: Iterable<StoredEvent>, wholeTurn = false): Journal {
    let record: TaskRecord | undefined;
    let base: TaskRecord | undefined;
    let journal = new Journal();
    for (const { event } of log) {
      if (base) journal.#note(event, base);
      const applied = apply(record, event);
      if (applied.ok) record = applied.value;
      const cleanUpBegins = !wholeTurn && event.kind === "status" && event.cleanup;
      if (event.kind !== "turn-started" && !cleanUpBegins) continue;
      base = record;
      journal = new Journal();
    }
    return journal;
  }

  /** What came of the call; undefined when it has not ended. */
  outcome(call: DurableCall): Outcome | undefined {
    return this.#outcomes.get(keyOf(call));
  }

  /** The call has ended, now or in a run before. */
  end(call: DurableCall, outcome: Outcome): void {
    this.#name(call);
    this.#outcomes.set(keyOf(call), outcome);
  }

  /** Until when the call waits or waited, and how often it failed. */
  wait(call: DurableCall): { until: number; tries: number } | undefined {
    return this.#waits.get(keyOf(call));
  }

  /** The kind of the calls that had this name, when it was never a call of this kind. */
  otherKind({ kind, name }: DurableCall): DurableCall["kind"] | undefined {
    const kinds = this.#kinds.get(name);
    return kinds && !kinds.has(kind) ? [...kinds][0] : undefined;
  }

  /**
   * What is to be published of the event: nothing, when the turn said just this at this place before; else the event,
   * or the whole artifact anew where the run before had said something else.
   */
  again(event: TaskEvent): TaskEvent | undefined {
    if (event.kind === "status" && !event.aside && !isTerminal(event.status.state)) {
      return this.#againStatus(event);
    }
    if (event.kind === "artifact") return this.#againArtifact(event);
    return event;
  }

  /** The artifact is published from its beginning; what it was before is replaced. */
  restart(artifactId: string): void {
    this.#artifacts.delete(artifactId);
  }

  /** The stream that made the artifact was over: what it said counts as said again. */
  passStream(artifactId: string): void {
    const known = this.#artifacts.get(artifactId);
    if (known) known.again = known.events.findLastIndex(({ chunk }) => chunk) + 1;
  }

  /** Artifacts of which this run, now at its end, said less than the one before. */
  rest(): ArtifactEvent[] {
    return [...this.#artifacts].flatMap(([id, known]) =>
      known.again > 0 && known.again < known.events.length ? (whole(id, known) ?? []) : [],
    );
  }

  #note(event: TaskEvent, base: TaskRecord): void {
    switch (event.kind) {
      case "outcome":
        this.end(event.call, event);
        break;
      case "wait":
        this.#name(event.call);
        this.#waits.set(keyOf(event.call), { until: event.until, tries: event.tries ?? 0 });
        break;
      case "authorized":
        this.end(event.call, { authorized: event.value });
        break;
      case "message":
        if (event.answers) this.end(event.answers, { message: event.message });
        break;
      case "status":
        if (event.asks) this.#name(event.asks.call);
        else if (!event.aside) this.#statuses.push(event);
        break;
      case "artifact": {
        const { artifactId } = event.artifact;
        const known = this.#artifacts.get(artifactId);
        const before = base.task.artifacts.find((each) => each.artifactId === artifactId);
        if (known) known.events.push(event);
        else this.#artifacts.set(artifactId, { base: before, events: [event], again: 0 });
      }
    }
  }

  #name({ kind, name }: DurableCall): void {
    this.#kinds.set(name, (this.#kinds.get(name) ?? new Set()).add(kind));
  }

  #againStatus(event: StatusEvent): StatusEvent | undefined {
    const known = this.#statuses.shift();
    if (!known) return event;
    if (isSameStatus(known, event)) return undefined;
    // From here on the run goes another way.
    this.#statuses = [];
    return event;
  }

  #againArtifact(event: ArtifactEvent): ArtifactEvent | undefined {
    const id = event.artifact.artifactId;
    const known = this.#artifacts.get(id);
    if (!known) return event;
    const next = known.events[known.again];
    if (next && JSON.stringify(next) === JSON.stringify(event)) {
      known.again += 1;
      return undefined;
    }
    this.#artifacts.delete(id);
    return next && event.append ? whole(id, known, event) : event;
  }
}

/** The artifact as this run has made it so far, to replace what there is. */
function whole(id: string, { base, events, again }: Published, more?: ArtifactEvent) {
  const said = [...events.slice(0, again), ...(more ? [more] : [])];
  const [artifact] = said.reduce(withArtifact, base ? [base] : []);
  const { append: _, chunk: __, ...last } = said.at(-1) ?? ({ kind: "artifact" } as ArtifactEvent);
  return artifact?.artifactId === id ? { ...last, artifact } : undefined;
}

/** Alike but for the id and the time that each was given. */
function isSameStatus(one: StatusEvent, other: StatusEvent): boolean {
  const said = ({ status: { timestamp: _, message, ...status }, metadata }: StatusEvent) =>
    JSON.stringify([status, { ...message, messageId: "" }, metadata]);
  return said(one) === said(other);
}

function keyOf({ kind, name, nth }: DurableCall): string {
  return `${kind} ${nth} ${name}`;
}
