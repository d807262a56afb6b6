/** The agents that tests in workerd talk to, each under `/agents/<id>`; `script` is also at the root. */
import { type AgentDefinition, apiKey, defineAgent, open } from "durable-a2a";
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
