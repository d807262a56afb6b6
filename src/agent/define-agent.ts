/** The definition of an agent: what a developer writes, checked once. */
import * as z from "zod";
import type { Caller } from "../protocol/caller.ts";
import { type AgentCard, AgentExtension, AgentProvider } from "../protocol/card.ts";
import { A2AError, parse } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { OperationName } from "../protocol/operations.ts";
import { message, optionalString, requiredList, requiredString } from "../protocol/proto-json.ts";
import type { Task } from "../protocol/task.ts";
import { parseAllowEntry } from "../push/target.ts";
import type { CardSigning } from "../signature/sign.ts";
import type { AuditSink } from "./audit.ts";
import type { AuthScheme } from "./auth-scheme.ts";
import type { Duration } from "./duration.ts";
import { type CheckedLimits, duration, type Limits, LimitsSchema } from "./limits.ts";
import { type CheckedPush, type PushOptions, PushOptionsSchema } from "./push-options.ts";
import { type RateLimits, RateLimitsSchema } from "./rate-limit.ts";
import { SKILL_EXTENSION, Skill } from "./skill.ts";
import { refuseTenantName, type Tenants } from "./tenants.ts";
import type { Turn, TurnResult } from "./turn.ts";

/** What only the developer of an agent can say about it. */
export interface AgentDefinition<Env = unknown> {
  /** Path segment of the agent (`/agents/<id>`) and part of who owns its tasks; the name in lower case when unset. */
  id?: string;
  name: string;
  description: string;
  /** Version of the agent, such as "1.0.0". */
  version: string;
  skills: Skill[];
  /** Who may call: `open()`, `apiKey({…})`, `oidc({…})` and others, or a combination. There is no default. */
  auth: AuthScheme;
  /**
   * The tenants of the agent: a list, or what each caller may use. A request names one in `tenant`, or in REST as
   * `/{tenant}/…`; nothing is shared between them. Without it the agent has none. A request may always name none.
   */
  tenants?: Tenants;
  /**
   * Asked before every operation of a caller who was let in; anything but `true`, and an error, denies it (403). It
   * can only narrow: what is not the caller's stays unseen whatever it says. ListTasks is asked once, not for each task.
   */
  authorize?(asked: AuthorizeRequest): boolean | Promise<boolean>;
  /** The agent's work on one user message; what it returns ends the turn. */
  run(turn: Turn<Env>): TurnResult | Promise<TurnResult>;
  /**
   * Called after a client canceled the task, for clean-up. It is a turn of its own, with the message of the last one: its
   * steps and sleeps are durable, `turn.recall` tells what the turn had done, and nothing it publishes changes the task.
   */
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
  /** Where the records of calls that change state go. Default: the console, as JSON. */
  audit?: AuditSink;
  /**
   * Origins whose pages may call, such as `https://app.example.com`; never with cookies. An empty list is none. Default:
   * any.
   */
  origins?: string[];
  /** Bounds other than the defaults. */
  limits?: Partial<Limits>;
  /** How often a caller may call, counted by Cloudflare. Default: no limit. */
  rateLimit?: RateLimits;
  /** How long a task is kept after its end; then everything of it is gone. Default: 30 days. */
  retention?: Duration;
  /**
   * `"messageId"`: a message without `Idempotency-Key` has its messageId for one. Default: off, because clients reuse
   * messageIds.
   */
  idempotency?: "messageId";
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

/** What a caller is about to do. */
export interface AuthorizeRequest {
  caller: Caller;
  /** By its JSON-RPC name, such as "SendMessage". */
  operation: OperationName;
  /** The task that the request names, which is the caller's; costs a request to its object. */
  task: Task | undefined;
  /** The message that is sent. */
  message: Message | undefined;
  /** Id of the skill that the message is for, as `turn.skill`. */
  skill: string | undefined;
}

/** What a caller may see otherwise than in the public card. */
export type CardChanges = Partial<
  Pick<AgentCard, "name" | "description" | "version" | "provider" | "documentationUrl" | "iconUrl"> & {
    skills: Skill[];
  }
>;

/** A definition that was checked, with its defaults filled in. */
export interface Agent {
  readonly id: string;
  readonly definition: AgentDefinition;
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly streaming: boolean;
  readonly replies: boolean;
  readonly push: CheckedPush | undefined;
  readonly extensions: readonly AgentExtension[];
  readonly tenants: Tenants | undefined;
  /** Undefined is any. */
  readonly origins: readonly string[] | undefined;
  readonly rateLimit: z.infer<typeof RateLimitsSchema> | undefined;
  readonly limits: CheckedLimits;
  /** ms. */
  readonly retention: number;
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
  skills: requiredList(Skill),
  auth: z.custom<AuthScheme>(
    (value) => typeof value === "object" && value !== null && "authenticate" in value,
    "must say who may call: open(), or apiKey({…})",
  ),
  tenants: z
    .union([
      z.array(z.string().superRefine(tenantName)).min(1, "must have at least one element"),
      z.custom<Extract<Tenants, (...given: never) => unknown>>((value) => typeof value === "function"),
    ])
    .optional(),
  authorize: z
    .custom<AgentDefinition["authorize"]>((value) => typeof value === "function", "must be a function")
    .optional(),
  audit: z.custom<AuditSink>((value) => typeof value === "function", "must be a function").optional(),
  origins: z
    .array(z.string().refine(isOrigin, "must be an origin such as https://app.example.com"))
    .optional(),
  run: z.custom<AgentDefinition["run"]>((value) => typeof value === "function", "must be a function"),
  inputModes: mediaTypes.default(["text/plain"]),
  outputModes: mediaTypes.default(["text/plain"]),
  streaming: z.boolean().default(true),
  replies: z.boolean().default(false),
  push: PushOptionsSchema.optional(),
  extensions: z.array(AgentExtension).default([]),
  limits: z.preprocess((given) => given ?? {}, LimitsSchema),
  rateLimit: RateLimitsSchema.optional(),
  retention: duration("30 days"),
  idempotency: z.literal("messageId").optional(),
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

/** Clients find in the card how to name a skill that needs scopes. */
function withSkillExtension(
  skills: readonly Skill[],
  declared: readonly AgentExtension[],
): readonly AgentExtension[] {
  const known = declared.some(({ uri }) => uri === SKILL_EXTENSION);
  if (known || !skills.some(({ scopes }) => scopes?.length)) return declared;
  const description = "A message names its skill in its metadata";
  return [...declared, { uri: SKILL_EXTENSION, description }];
}

function isOrigin(text: string): boolean {
  return !text.includes("*") && URL.parse(text)?.origin === text;
}

function tenantName(name: string, context: z.RefinementCtx<string>): void {
  const problem = refuseTenantName(name);
  if (problem) context.addIssue({ code: "custom", message: problem });
}

/**
 * Checks a definition and makes it an agent. Throws an error that names the field when it cannot be served.
 *
 * @example
 * defineAgent({ name: "Greeter", …, auth: open(), run: (turn) => `Hello, ${turn.text}!` })
 */
export function defineAgent<Env = unknown>(definition: AgentDefinition<Env>): Agent {
  try {
    const checked = parse(Definition, definition);
    const unattainable = checked.skills.findIndex(({ scopes }) => scopes?.length);
    if (unattainable !== -1 && checked.auth.requirements.length === 0) {
      throw A2AError.field(`skills[${unattainable}].scopes`, "callers of open() have none");
    }
    for (const name of ["tasksPerOwner", "streamsPerOwner"] as const) {
      if (checked.limits[name] === undefined || checked.auth.listsTasks) continue;
      throw A2AError.field(`limits.${name}`, "callers of open() are one owner; see rateLimit");
    }
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
      extensions: withSkillExtension(definition.skills, checked.extensions),
      tenants: checked.tenants,
      origins: checked.origins,
      limits: checked.limits,
      rateLimit: checked.rateLimit,
      retention: checked.retention,
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
