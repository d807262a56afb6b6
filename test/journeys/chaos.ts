/** Clients that carry tasks through a server that is killed again and again. */
import { setTimeout as pause } from "node:timers/promises";
import type { StreamResponse, Task } from "durable-a2a";
import { type Assembled, assemble, content } from "../assembly.ts";
import type { Step } from "../lab/script.ts";
import { answerOf, call, eventsOf, message } from "./wire.ts";

/** Random numbers that a seed makes come again (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Scripts of every kind, each of which takes about 10 s when nothing happens to it. */
const KINDS: ((n: number) => Step[])[] = [
  (n) => steps(`work ${n}`, 12, 700),
  () => [
    ...steps("before", 2, 400),
    { do: "durableSleep", name: "parked", ms: 10_500 },
    ...steps("after", 2, 400),
    { do: "durableSleep", name: "short", ms: 600 },
  ],
  (n) => [
    { do: "ask", name: "first", text: `first ${n}?` },
    ...steps("one", 4, 700),
    { do: "ask", name: "second", text: `second ${n}?` },
    ...steps("two", 4, 700),
    { do: "authorize", name: "door", text: "May I?" },
    ...steps("three", 2, 700),
  ],
  (n) => [
    { do: "chunks", artifactId: "story", count: 80, everyMs: 40, text: `word ${n}.` },
    ...steps("between", 3, 500),
    { do: "artifact", artifactId: "list", parts: [{ data: n }] },
    { do: "artifact", artifactId: "list", parts: [{ text: "more" }], append: true },
    { do: "chunks", name: "epilogue", count: 50, everyMs: 60, text: "end " },
  ],
  () => [
    ...steps("calm", 3, 500),
    { do: "step", name: "flaky", ms: 400, fails: 2 },
    ...steps("calmer", 8, 600),
  ],
];

function steps(name: string, count: number, ms: number): Step[] {
  return Array.from({ length: count }, (_, i): Step[] => [
    { do: "working", text: `${name} ${i}` },
    { do: "step", name: `${name} ${i}`, ms, result: i },
  ]).flat();
}

function chaosScript(n: number): Step[] {
  return [...(KINDS[n % KINDS.length]?.(n) ?? []), { do: "report" }];
}

/** How often each step of the script is run when nothing cuts it. */
export function expectedRuns(script: readonly Step[]): Record<string, number> {
  return Object.fromEntries(
    script.flatMap((step) => (step.do === "step" ? [[step.name, 1 + (step.fails ?? 0)]] : [])),
  );
}

/** Where the server is just now. */
export interface Target {
  url: string;
}

export interface Outcome {
  id: string;
  script: Step[];
  /** What the client made of its streams. */
  assembled: Assembled;
  /** How often it asked for a stream, also in vain. */
  tries: number;
}

/** Starts a task and follows it to its end, answering what it asks, through any number of crashes. */
export async function carry(server: Target, n: number): Promise<Outcome> {
  const script = chaosScript(n);
  const key = `chaos-${n}-${crypto.randomUUID()}`;
  const { task } = await persist(server, key, {
    message: message(script),
    configuration: { returnImmediately: true },
  });
  const { id } = task as Task;
  const follower = new Follower(server, id);
  for (let tries = 1; ; tries++) {
    const ended = await follower.follow().catch((error: unknown) => {
      if (error instanceof Mismatch) throw error;
      return false;
    });
    if (ended) return { id, script, assembled: follower.assembled, tries };
    await pause(100);
  }
}

/** A client of one task, which takes up its stream where it broke off. */
class Follower {
  readonly #server: Target;
  readonly #id: string;
  readonly #answered = new Set<string>();
  #seen: StreamResponse[] = [];
  /** How many of them there were at the last one with an id: what came after that is not yet kept. */
  #kept = 0;
  #lastEventId: string | undefined;

  constructor(server: Target, id: string) {
    this.#server = server;
    this.#id = id;
  }

  get assembled(): Assembled {
    return assemble(this.#seen);
  }

  /** Reads a stream until it breaks off or the task has ended; then it is true. */
  async follow(): Promise<boolean> {
    const headers = this.#lastEventId === undefined ? {} : { "Last-Event-ID": this.#lastEventId };
    const params = { id: this.#id };
    const response = await call(this.#server.url, "jsonrpc", "SubscribeToTask", params, { headers });
    for await (const { id, response: event } of eventsOf(response)) {
      if (event.task) this.#resume(event.task);
      this.#seen.push(event);
      if (id !== undefined) {
        this.#lastEventId = id;
        this.#kept = this.#seen.length;
      }
      const { state, timestamp = "" } = (event.task ?? event.statusUpdate)?.status ?? {};
      if (state === "TASK_STATE_COMPLETED" || state === "TASK_STATE_FAILED") return true;
      if (state === "TASK_STATE_INPUT_REQUIRED" || state === "TASK_STATE_AUTH_REQUIRED") {
        this.#answer(timestamp);
      }
    }
    return false;
  }

  /** The task as it stood at the last id is what was put together up to there. */
  #resume(task: Task): void {
    if (this.#kept > 0) {
      const kept = content(assemble(this.#seen.slice(0, this.#kept)));
      const [one, two] = [kept, content(task)].map((each) => JSON.stringify(each));
      if (one !== two) throw new Mismatch(`${task.id}: the stream had ${one}, and resumes from ${two}`);
    }
    this.#seen = [];
  }

  /** Answers each question once, and does not wait for it: the stream goes on meanwhile. */
  #answer(asked: string): void {
    if (this.#answered.has(asked)) return;
    this.#answered.add(asked);
    void persist(this.#server, `answer-${asked}-${this.#id}`, {
      message: message("yes", { taskId: this.#id }),
      configuration: { returnImmediately: true },
    });
  }
}

class Mismatch extends Error {}

/** Sends a message until there is an answer; the key makes it one message. */
export async function persist(
  server: Target,
  key: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  for (;;) {
    const headers = { "Idempotency-Key": key };
    const response = await call(server.url, "jsonrpc", "SendMessage", params, { headers }).catch(
      () => undefined,
    );
    const answer = response?.ok ? await answerOf(response).catch(() => undefined) : undefined;
    if (answer) return answer;
    await pause(100);
  }
}

/** All tasks that are listed, with their states. */
export async function statesListed({ url }: Target): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  for (let pageToken = ""; ; ) {
    const page = await answerOf(
      await call(url, "jsonrpc", "ListTasks", { pageSize: 20, ...(pageToken && { pageToken }) }),
    );
    for (const { id, status } of page.tasks as Task[]) states.set(id, status.state);
    pageToken = page.nextPageToken as string;
    if (pageToken === "") return states;
  }
}
