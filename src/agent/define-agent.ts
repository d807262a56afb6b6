/** The definition of an agent: what a developer writes, checked once. */
import * as z from "zod";
import type { Caller } from "../protocol/caller.ts";
import { type AgentCard, AgentExtension, AgentProvider, AgentSkill } from "../protocol/card.ts";
import { A2AError, parse } from "../protocol/errors.ts";
import { message, optionalString, requiredList, requiredString } from "../protocol/proto-json.ts";
import { parseAllowEntry } from "../push/target.ts";
import type { CardSigning } from "../signature/sign.ts";
import type { AuthScheme } from "./auth-scheme.ts";
import { type Limits, LimitsSchema } from "./limits.ts";
import type { Turn, TurnResult } from "./turn.ts";

/** What only the developer of an agent can say about it. */
export interface AgentDefinition<Env = unknown> {
  /** Path segment of the agent (`/agents/<id>`) and part of who owns its tasks; the name in lower case when unset. */
  id?: string;
  name: string;
  description: string;
  /** Version of the agent, such as "1.0.0". */
  version: string;
  skills: AgentSkill[];
  /** Who may call: `open()`, `apiKey({…})`. There is no default. */
  auth: AuthScheme;
  /** The agent's work on one user message; what it returns ends the turn. */
  run(turn: Turn<Env>): TurnResult | Promise<TurnResult>;
  /** Called after a client canceled the task, for clean-up; it can change nothing of the task. */
  onCancel?(turn: Turn<Env>): void | Promise<void>;
  /** Media types the agent reads; `*` stands for any type or subtype. Default: text/plain. */
  inputModes?: string[];
  /** Media types the agent writes. Default: text/plain. */
  outputModes?: string[];
  /** Whether SendStreamingMessage and SubscribeToTask are served. Default: true. */
  streaming?: boolean;
  /** Whether the agent may answer with a Message and no Task (`turn.reply`). Default: false. */
  replies?: boolean;
  /** Webhooks. Without it push notifications are not supported. */
  push?: PushOptions;
  /** Bounds other than the defaults. */
  limits?: Partial<Limits>;
  /** Protocol extensions the agent declares (§4.6); a required one is enforced. */
  extensions?: AgentExtension[];
  /** What an authenticated caller sees changed in the card; undefined when there is none for this caller. */
  extendedCard?(caller: Caller): CardChanges | undefined | Promise<CardChanges | undefined>;
  /** How the public and the extended cards are signed: `signWith({…})` (§8.4). Unsigned when unset. */
  signing?: CardSigning;
  provider?: AgentProvider;
  documentationUrl?: string;
  iconUrl?: string;
}

/** What a caller may see otherwise than in the public card. */
export type CardChanges = Partial<
  Pick<
    AgentCard,
    "name" | "description" | "version" | "skills" | "provider" | "documentationUrl" | "iconUrl"
  >
>;

export interface PushOptions {
  /** Hosts that may be called: `example.com`, `*.example.com`, with an optional `:port` and `/path`. Nothing else is. */
  allow: string[];
  /** Most webhooks of one task. Default: 10. */
  maxConfigs?: number;
  /** Admits loopback hosts over plain http, for development. Default: false. */
  loopback?: boolean;
}

/** A definition that was checked, with its defaults filled in. */
export interface Agent {
  readonly id: string;
  readonly definition: AgentDefinition;
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly streaming: boolean;
  readonly replies: boolean;
  readonly push: Required<PushOptions> | undefined;
  readonly extensions: readonly AgentExtension[];
  readonly limits: Limits;
}

const mediaTypes = requiredList(
  z.string().regex(/^[^/\s;]+\/[^/\s;]+$/, "must be a media type such as text/plain"),
);

const Definition = message({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "must be lower-case letters, digits and hyphens, at most 63")
    .optional(),
  name: requiredString(),
  description: requiredString(),
  version: requiredString(),
  skills: requiredList(AgentSkill),
  auth: z.custom<AuthScheme>(
    (value) => typeof value === "object" && value !== null && "authenticate" in value,
    "must say who may call: open(), or apiKey({…})",
  ),
  run: z.custom<AgentDefinition["run"]>((value) => typeof value === "function", "must be a function"),
  inputModes: mediaTypes.default(["text/plain"]),
  outputModes: mediaTypes.default(["text/plain"]),
  streaming: z.boolean().default(true),
  replies: z.boolean().default(false),
  push: message({
    allow: z.array(z.string()),
    maxConfigs: z.int().min(1).max(100).default(10),
    loopback: z.boolean().default(false),
  }).optional(),
  extensions: z.array(AgentExtension).default([]),
  limits: z.preprocess((given) => given ?? {}, LimitsSchema),
  signing: z
    .custom<CardSigning>(
      (value) => typeof value === "object" && value !== null && "sign" in value,
      "must be signWith({…})",
    )
    .optional(),
  provider: AgentProvider.optional(),
  documentationUrl: optionalString(),
  iconUrl: optionalString(),
});

/**
 * Checks a definition and makes it an agent. Throws an error that names the field when it cannot be served.
 *
 * @example
 * defineAgent({ name: "Greeter", …, auth: open(), run: (turn) => `Hello, ${turn.text}!` })
 */
export function defineAgent<Env = unknown>(definition: AgentDefinition<Env>): Agent {
  try {
    const checked = parse(Definition, definition);
    for (const entry of checked.push?.allow ?? []) parseAllowEntry(entry);
    return {
      id: checked.id ?? slug(checked.name),
      // The environment is whatever the Worker was deployed with; only the author knows its type.
      definition: definition as AgentDefinition,
      inputModes: checked.inputModes,
      outputModes: checked.outputModes,
      streaming: checked.streaming,
      replies: checked.replies,
      push: checked.push,
      extensions: checked.extensions,
      limits: checked.limits,
    };
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    const problems = error.fields.map(({ field, description }) => `${field}: ${description}`);
    throw new Error(`defineAgent: ${problems.join("; ")}`);
  }
}

function slug(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-|-$/g, "");
  return id === "" ? "agent" : id;
}

/** The agents of a Worker by their id; two with the same id are refused. */
export function byId(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const map = new Map(agents.map((agent) => [agent.id, agent]));
  if (map.size < agents.length) {
    throw new Error(
      `Two agents have the same id: ${agents.map(({ id }) => id).join(", ")}. Give each its own \`id\`.`,
    );
  }
  return map;
}
