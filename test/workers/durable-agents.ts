/** Agents whose turns outlive their objects. Tests reach into them by the text of the message. */
import {
  AnswerTimeoutError,
  apiKey,
  defineAgent,
  NonRetryableError,
  open,
  type Turn,
} from "durable-a2a";
import { runScript, scriptOf } from "../lab/script.ts";

const common = {
  version: "1.0.0",
  skills: [{ id: "run", name: "Run", description: "Runs", tags: ["test"] }],
  auth: open(),
};

/** Where the turn of a message is to stop for ever, so that it can be cut off just there. */
const gates = new Map<string, string>();
/** What was really run, by the text of the message. */
export const executed = new Map<string, string[]>();

/**
 * Stops the turn of the message with this text when it comes to `place`; the function resolves when it is there. It looks
 * again and again: a promise that the object resolves would go on within the object, which must not abort itself.
 */
export function stopAt(text: string, place: string): () => Promise<void> {
  gates.set(text, place);
  return async () => {
    while (gates.has(text)) await new Promise((resolve) => setTimeout(resolve, 5));
  };
}

async function pass(turn: Turn, place: string): Promise<void> {
  if (gates.get(turn.text) !== place) return;
  gates.delete(turn.text);
  await new Promise(() => {});
}

function note({ text }: Turn, what: string): void {
  executed.set(text, [...(executed.get(text) ?? []), what]);
}

/** The places of `long` at which a turn can be cut off. */
export const PLACES = [
  ...["begin", "in a", "a", "artifact", "sleep", "ask", "in stream", "stream", "working", "in b", "b"],
  ...["authorize", "in loop", "loop", "in words", "words", "append", "end"],
] as const;

/** A turn of ten durable calls and what lies between them. */
export const long = defineAgent({
  ...common,
  id: "long",
  name: "Long",
  description: "Ten durable calls",
  async run(turn) {
    const at = (place: (typeof PLACES)[number]) => pass(turn, place);
    const step = (name: string, place: (typeof PLACES)[number]) =>
      turn.step(name, async ({ attempt }) => {
        note(turn, name);
        await at(place);
        return { name, attempt };
      });
    await at("begin");
    const a = await step("a", "in a");
    await at("a");
    await turn.artifact({ name: "first", parts: { data: a } });
    await at("artifact");
    await turn.sleep("nap", 30);
    await at("sleep");
    const color = await turn.ask("color", "Which color?");
    await at("ask");
    await turn.stream({ name: "echo" }, async function* () {
      note(turn, "echo");
      yield `${color.parts[0]?.text}, `;
      await at("in stream");
      yield "it is";
    });
    await at("stream");
    await turn.working("Half way");
    await at("working");
    await step("b", "in b");
    await at("b");
    const authorized = await turn.authorize("door", "Please unlock");
    await at("authorize");
    for (let round = 0; round < 2; round++) await step("round", "in loop");
    await at("loop");
    await turn.stream({ artifactId: "words" }, async function* () {
      note(turn, "words");
      yield { data: 1 };
      await at("in words");
      yield { data: 2 };
    });
    await at("words");
    await turn.artifact({ artifactId: "words", parts: { data: 3 }, append: true });
    await at("append");
    await turn.sleep("again", 10);
    const how = authorized.via === "message" ? authorized.message.parts[0]?.text : authorized.value;
    await at("end");
    note(turn, `attempt ${turn.attempt}`);
    return { name: "end", parts: { data: { how } } };
  },
  onCancel: async (turn) => {
    await turn.step("refund", () => note(turn, `refund of ${JSON.stringify(turn.recall("a"))}`));
    await pass(turn, "clean-up");
    await turn.artifact({ name: "late", parts: "late" });
    await turn.sleep("breath", 20);
    await turn.step("bye", () => note(turn, "bye"));
  },
});

/** What a case gives back is published as data. */
type Case = (turn: Turn) => Promise<unknown>;

const now = () => Date.now();

/** Each by its name; the text of a message is that of a case, and more behind a space. */
export const CASES = {
  async values(turn) {
    const date = { nested: [1, { two: null }], dropped: undefined };
    return [
      await turn.step("none", () => undefined),
      await turn.step("null", () => null),
      await turn.step("false", async () => false),
      await turn.step("object", () => date),
      "dropped" in (await turn.step("same", () => date)),
    ].map((value) => (value === undefined ? "undefined" : value));
  },
  async retried(turn) {
    const begun = now();
    const tries: number[] = [];
    const value = await turn.step(
      "flaky",
      ({ attempt }) => {
        tries.push(attempt);
        if (attempt < 3) throw new Error("not yet");
        return "done";
      },
      { backoff: { first: 40, factor: 2 } },
    );
    return { value, tries, slow: now() - begun >= 60 };
  },
  async exhausted(turn) {
    let tries = 0;
    const failing = () => {
      tries += 1;
      throw new TypeError("never");
    };
    const options = { retries: 1, backoff: { first: 1 } };
    const { name, message } = await turn
      .step<Error>("failing", failing, options)
      .catch((error) => error);
    return { tries, name, message };
  },
  async final(turn) {
    let tries = 0;
    const error = await turn
      .step("final", () => {
        tries += 1;
        throw new NonRetryableError("no use");
      })
      .catch((reason) => reason);
    return { tries, message: error.message };
  },
  async slow(turn) {
    let aborted = false;
    const error = await turn
      .step(
        "slow",
        ({ signal }) => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          return new Promise(() => {});
        },
        { timeout: 30, retries: 0 },
      )
      .catch((reason) => reason);
    return { aborted, name: (error as Error).name };
  },
  async brief(turn) {
    await turn.sleep("brief", 500);
    note(turn, `awake in attempt ${turn.attempt}`);
    return null;
  },
  async parallel(turn) {
    return Promise.all(["x", "y", "z"].map((name) => turn.step(name, async () => name)));
  },
  twice: (turn) => Promise.all([turn.step("same", () => 1), turn.step("same", () => 2)]),
  nested: (turn) => turn.step("outer", () => turn.step("inner", () => 1)),
  nestedLater: (turn) =>
    turn.step("outer", async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return turn.sleep("inner", 1);
    }),
  publishing: (turn) => turn.step("outer", () => turn.artifact({ parts: "x" })),
  date: (turn) => turn.step("date", () => ({ when: [new Date(0)] })),
  big: (turn) => turn.step("big", () => "x".repeat(1024 * 1024 - 2)).then((text) => text.length),
  tooBig: (turn) => turn.step("too big", () => "x".repeat(1024 * 1024 - 1)),
  duration: (turn) => turn.sleep("nap", "3 fortnights" as never),
  retries: (turn) => turn.step("often", () => 1, { retries: -1 }),
  factor: (turn) => turn.step("flat", () => 1, { backoff: { factor: Number.NaN } }),
  nameless: (turn) => turn.step("", () => 1),
  async caught(turn) {
    await turn.step("date", () => new Date(0)).catch(() => {});
    return "went on";
  },
  twoQuestions: (turn) => Promise.all([turn.ask("one", "1?"), turn.ask("two", "2?")]),
  async changed(turn) {
    if (turn.attempt === 1) await turn.step("thing", () => 1);
    else await turn.sleep("thing", 1);
    await pass(turn, "changed");
    return "silently wrong";
  },
  async renamed(turn) {
    const old = await turn.step(turn.attempt === 1 ? "old name" : "new name", () => {
      note(turn, `run ${turn.attempt}`);
      return turn.attempt;
    });
    const kept = await turn.step("kept", () => turn.attempt);
    await pass(turn, "renamed");
    return { old, kept };
  },
  async loop(turn) {
    const answers: (string | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      const answer = await turn.ask("next", `number ${i}?`);
      answers.push(answer.parts[0]?.text);
    }
    return answers;
  },
  async lateQuestion(turn) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return (await turn.ask("late", "And now?")).parts[0]?.text;
  },
  async unanswered(turn) {
    const error = await turn.ask("color", "Which?", { timeout: 40 }).catch((reason) => reason);
    return { is: error instanceof AnswerTimeoutError, state: turn.task.status.state };
  },
  unansweredAndUncaught: (turn) => turn.ask("color", "Which?", { timeout: 40 }),
  long: (turn) => turn.sleep("long", "1 hour").then(() => turn.attempt),
  async race(turn) {
    const work = turn.step("work", async () => {
      await pass(turn, "race");
      return "work won";
    });
    return Promise.race([turn.sleep("limit", "1 hour").then(() => "time is up"), work]);
  },
  /** Races a long sleep against a step, and asks then: the sleep ends while the question is open. */
  async outlived(turn) {
    const work = turn.step("work", () => "work");
    const first = await Promise.race([turn.sleep("limit", "1 hour").then(() => "time"), work]);
    note(turn, `attempt ${turn.attempt}`);
    return [first, (await turn.ask("late", "And now?")).parts[0]?.text];
  },
  /** In a later run it takes a while until it comes to its question. */
  async slowToAsk(turn) {
    if (turn.attempt > 1) await new Promise((resolve) => setTimeout(resolve, 200));
    return (await turn.ask("color", "Which?")).parts[0]?.text;
  },
  /** Leaves a step behind that ends in the next turn, which has one of the same name. */
  async leaves(turn) {
    const result = turn.text.split(" ")[1];
    const delay = result === "one" ? 150 : 0;
    const step = turn.step("same", async () => {
      await new Promise((resolve) => setTimeout(resolve, delay));
      return result;
    });
    if (result === "one") return turn.inputRequired("more?");
    await new Promise((resolve) => setTimeout(resolve, 200));
    await pass(turn, "left");
    return step;
  },
  /** Asks, and goes on without the answer. */
  async overtaken(turn) {
    return Promise.race([turn.ask("color", "Which?").then(() => "answer"), turn.step("a", () => "a")]);
  },
  authorize: (turn) => turn.authorize("calendar", "Let me in").then((given) => given as object),
  hang: (turn) => pass(turn, "hang").then(() => "never"),
  stuck: async (turn) => {
    note(turn, `attempt ${turn.attempt}`);
    await new Promise(() => {});
  },
  differing: async (turn) => {
    const { attempt } = turn;
    await turn.working("same");
    await turn.artifact({ artifactId: "same", parts: "same" });
    await turn.artifact({ artifactId: "list", parts: "1" });
    await turn.artifact({ artifactId: "list", parts: attempt === 1 ? "2" : "two", append: true });
    if (attempt === 1) await turn.artifact({ artifactId: "list", parts: "3", append: true });
    await turn.artifact({ artifactId: "short", parts: "a" });
    if (attempt === 1) await turn.artifact({ artifactId: "short", parts: "b", append: true });
    await turn.working(`run ${attempt}`);
    await turn.working("same");
    await pass(turn, "differing");
  },
} satisfies Record<string, Case>;

async function runCase(turn: Turn) {
  const name = turn.text.split(" ")[0] as keyof typeof CASES;
  const data = await CASES[name](turn);
  return { name: "result", parts: { data: data ?? null } };
}

export const durable = defineAgent({
  ...common,
  id: "durable",
  name: "Durable",
  description: "Cases",
  run: runCase,
});

/** Gives up after two runs in vain. */
export const impatient = defineAgent({
  ...common,
  id: "impatient",
  name: "Impatient",
  description: "Cases with little patience",
  limits: { restarts: 2, stalled: 0 },
  run: runCase,
});

/** Its tasks fail when the client says nothing for 150 ms. */
export const brief = defineAgent({
  ...common,
  auth: apiKey(),
  id: "brief",
  name: "Brief",
  description: "Has little time",
  inputModes: ["*/*"],
  limits: { taskDeadline: 150 },
  run: (turn) => runScript(turn, scriptOf(turn.message.parts) ?? []),
});

/** A message has its messageId for an Idempotency-Key. */
export const merging = defineAgent({
  ...common,
  auth: apiKey(),
  id: "merging",
  name: "Merging",
  description: "Merges messages of one id",
  idempotency: "messageId",
  run(turn) {
    note(turn, "run");
    return turn.text;
  },
});
