/** The agents that tests in workerd talk to, each under `/agents/<id>`; `script` is also at the root. */
import { type AgentDefinition, anyOf, apiKey, defineAgent, open } from "durable-a2a";
import { runScript, scriptOf } from "../lab/script.ts";

const scripted = {
  description: "Does what the script in its message says",
  version: "1.0.0",
  skills: [{ id: "script", name: "Script", description: "Runs a script of steps", tags: ["test"] }],
  async run(turn) {
    const script = scriptOf(turn.message.parts);
    if (script) return runScript(turn, script);
    return `You said: ${turn.text}`;
  },
} satisfies Partial<AgentDefinition>;

/** Everything on, replies too; its tasks are listed to anybody. */
export const script = defineAgent({
  ...scripted,
  id: "script",
  name: "Script",
  auth: open({ list: true }),
  inputModes: ["*/*"],
  replies: true,
  push: { allow: ["example.com", "*.hooks.example.com"], maxConfigs: 3 },
  extendedCard: () => ({ description: "The extended card" }),
});

/** The defaults: text in, text out, no replies, no push, no extended card; its tasks are not listed. */
export const plain = defineAgent({ ...scripted, id: "plain", name: "Plain", auth: open() });

/** No streaming. */
export const still = defineAgent({
  ...scripted,
  id: "still",
  name: "Still",
  auth: open(),
  streaming: false,
});

export const REQUIRED_EXTENSION = "https://example.com/extensions/required/v1";
export const OPTIONAL_EXTENSION = "https://example.com/extensions/optional/v1";

/** One extension is required, one is not; an extended card is declared but there is none. */
export const strict = defineAgent({
  ...scripted,
  id: "strict",
  name: "Strict",
  auth: open(),
  extensions: [{ uri: REQUIRED_EXTENSION, required: true }, { uri: OPTIONAL_EXTENSION }],
  extendedCard: () => undefined,
});

/** Callers have keys (`alice-key`, `bob-key`); the extended card greets them by name. */
export const keyed = defineAgent({
  ...scripted,
  id: "keyed",
  name: "Keyed",
  auth: apiKey(),
  push: { allow: ["example.com"] },
  extendedCard: ({ principal }) => ({ description: `For ${principal}` }),
});

/** As `keyed`, with a second kind of keys, and tenants that every caller may use, one with a slash in its name. */
export const shared = defineAgent({
  ...keyed.definition,
  id: "shared",
  name: "Shared",
  auth: anyOf(apiKey(), apiKey({ scheme: "partner", name: "X-Partner-Key" })),
  tenants: ["alpha", "beta", "a/b"],
});

/** Its callers may have two tasks in progress and two streams open. */
export const busy = defineAgent({
  ...scripted,
  id: "busy",
  name: "Busy",
  auth: apiKey(),
  tenants: ["alpha"],
  replies: true,
  limits: { tasksPerOwner: 2, streamsPerOwner: 2 },
});

/** Two of its three skills need scopes; says which one its message is for. */
export const skilled = defineAgent({
  id: "skilled",
  name: "Skilled",
  description: "Says which skill it was asked for",
  version: "1.0.0",
  skills: [
    { id: "read", name: "Read", description: "Reads", tags: ["test"] },
    { id: "write", name: "Write", description: "Writes", tags: ["test"], scopes: ["write"] },
    { id: "erase", name: "Erase", description: "Erases", tags: ["test"], scopes: ["write", "erase"] },
  ],
  auth: apiKey(),
  push: { allow: ["example.com"] },
  extendedCard: () => ({}),
  run: (turn) => (turn.text === "ask" ? turn.inputRequired() : (turn.skill ?? "none")),
});

/** Tells what it is given: the members of the turn that are about the message and its surroundings. */
export const mirror = defineAgent({
  id: "mirror",
  name: "Mirror",
  description: "Publishes what its turn knows",
  version: "1.0.0",
  skills: [
    { id: "one", name: "One", description: "The first skill", tags: ["test"] },
    { id: "two", name: "Two", description: "The second skill", tags: ["test"] },
  ],
  auth: apiKey(),
  extensions: [{ uri: OPTIONAL_EXTENSION }],
  async run(turn) {
    const { text, caller, attempt, skill, extensions, metadata } = turn;
    const data = {
      text,
      principal: caller.principal,
      attempt,
      skill: skill ?? null,
      extensions,
      metadata,
      acceptsText: turn.accepts("text/plain"),
      acceptsPng: turn.accepts("image/png"),
      task: turn.task.id,
      message: turn.message.messageId,
      bindings: Object.keys(turn.env as object).sort(),
      references: (await turn.references()).map(({ id }) => id),
      context: (await turn.context()).map(({ id }) => id),
    };
    await turn.artifact({ name: "mirror", parts: { data } });
  },
});

/** What the turns of `patient` saw, by task id. */
export const witnessed = new Map<string, string[]>();

/**
 * Waits as many ms as its text begins with, heedless of a cancel, then publishes an artifact and returns the text.
 * A text that ends with an exclamation mark ends the task itself, one with a question mark returns an artifact.
 */
export const patient = defineAgent({
  id: "patient",
  name: "Patient",
  description: "Takes its time",
  version: "1.0.0",
  skills: [{ id: "wait", name: "Wait", description: "Waits", tags: ["test"] }],
  auth: open(),
  async run(turn) {
    const { text } = turn;
    const saw = witnessed.get(turn.task.id) ?? [];
    witnessed.set(turn.task.id, saw);
    saw.push(`run ${text}`);
    turn.signal.addEventListener("abort", () => {
      saw.push("abort");
    });
    await new Promise((resolve) => setTimeout(resolve, Number.parseInt(text, 10)));
    await turn.artifact({ name: "late", parts: text });
    saw.push(`end ${text}`);
    if (text.endsWith("?"))
      return { name: "answer", description: "What it is", parts: [text, { data: 1 }] };
    return text.endsWith("!") ? turn.complete(text) : text;
  },
  onCancel(turn) {
    witnessed.get(turn.task.id)?.push(`onCancel ${turn.task.status.state} ${turn.signal.aborted}`);
  },
});

/** Streams the parts of its message, one every 20 ms, and publishes what came of it; the text "!" throws. */
export const streamer = defineAgent({
  id: "streamer",
  name: "Streamer",
  description: "Gives the parts back piece by piece",
  version: "1.0.0",
  skills: [{ id: "stream", name: "Stream", description: "Streams", tags: ["test"] }],
  auth: open(),
  inputModes: ["*/*"],
  async run(turn) {
    const whole = await turn.stream({ name: "pieces", description: "All of it" }, async function* () {
      for (const part of turn.message.parts) {
        if (part.text === "!") throw new Error("the source broke");
        yield part;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    await turn.artifact({ name: "whole", parts: { data: whole } });
  },
});

/** Small limits on what it may publish and on its streams. */
export const narrow = defineAgent({
  ...scripted,
  id: "narrow",
  name: "Narrow",
  auth: open(),
  limits: { artifacts: 3, event: 2_000, task: 20_000, streams: 2, keepalive: "1 second" },
});

/** Publishes once more after its turn is over: a text "ask" waits for input then, any other one is returned. */
export const careless = defineAgent({
  id: "careless",
  name: "Careless",
  description: "Leaves work behind that nobody awaits",
  version: "1.0.0",
  skills: [{ id: "leave", name: "Leave", description: "Leaves work behind", tags: ["test"] }],
  auth: open(),
  async run(turn) {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    await wait(100);
    void wait(40).then(async () => {
      await turn.artifact({ artifactId: "late", parts: "late" });
      await turn.working("late");
    });
    if (turn.text !== "ask") return turn.text;
    return turn.publish({ statusUpdate: { status: { state: "TASK_STATE_INPUT_REQUIRED" } } });
  },
});

/** A task may take 200 ms after its client's last message. */
export const hasty = defineAgent({
  ...scripted,
  id: "hasty",
  name: "Hasty",
  auth: apiKey(),
  push: { allow: ["example.com"] },
  limits: { taskDeadline: 200 },
});

/** Its tasks are kept for 100 ms after their end. */
export const fleeting = defineAgent({
  ...scripted,
  id: "fleeting",
  name: "Fleeting",
  auth: apiKey(),
  replies: true,
  push: { allow: ["example.com"] },
  retention: 100,
});

/** A message without an Idempotency-Key has its messageId for one. */
export const unique = defineAgent({
  ...scripted,
  id: "unique",
  name: "Unique",
  auth: apiKey(),
  idempotency: "messageId",
});

/** The same for callers without a name. */
export const uniqueOpen = defineAgent({
  ...scripted,
  id: "unique-open",
  name: "Unique for anybody",
  auth: open(),
  idempotency: "messageId",
});

/**
 * `patient` with a deadline of 500 ms. Of what its turn saw, `witnessed` tells; the clean-up of a text with "hang" never
 * ends.
 */
export const stubborn = defineAgent({
  ...patient.definition,
  id: "stubborn",
  name: "Stubborn",
  auth: apiKey(),
  push: { allow: ["example.com"] },
  limits: { taskDeadline: 500 },
  async onCancel(turn) {
    const saw = witnessed.get(turn.task.id);
    saw?.push("onCancel");
    turn.signal.addEventListener("abort", () => {
      saw?.push("abort of onCancel");
    });
    if (turn.text.includes("hang")) await new Promise(() => {});
  },
});

/** The code of `evolving`, which a test changes as a deploy does. */
export const deployed: Pick<AgentDefinition, "run"> = { run: (turn) => turn.text };

export const evolving = defineAgent({
  id: "evolving",
  name: "Evolving",
  description: "Does what was deployed last",
  version: "1.0.0",
  skills: [{ id: "evolve", name: "Evolve", description: "Changes", tags: ["test"] }],
  auth: apiKey(),
  push: { allow: ["example.com"] },
  run: (turn) => deployed.run(turn),
});
