/** Skills: which one a message is for, and what a caller needs for it. */
import * as z from "zod";
import { type AgentSkill, AgentSkill as AgentSkillSchema } from "../protocol/card.ts";
import { A2AError } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";
import { requireScopes, scopeNames } from "./scopes.ts";

/**
 * Our extension that says how a message names its skill: `metadata` of the message has a member of this name,
 * `{"skill":"<id>"}` (docs/who-may-call.md). An agent whose skills have scopes declares it.
 */
export const SKILL_EXTENSION = "urn:durable-a2a:skill:v1";

/** A skill of an agent, as the card shows it, and the scopes a caller needs for it. */
export interface Skill extends Omit<AgentSkill, "securityRequirements"> {
  /** Scopes that a message for this skill needs; the card's requirements of the skill are made from them. Default: none. */
  scopes?: string[];
}

/** Requirements that nothing checks would be a promise that nobody keeps. */
export const Skill = AgentSkillSchema.and(
  z.looseObject({
    scopes: scopeNames.nullish(),
    securityRequirements: z
      .custom((value) => value == null, "is made from `scopes`, which are checked")
      .optional(),
  }),
);

/**
 * The skill that a message is for: the one that its metadata name under SKILL_EXTENSION or as `skill`, or those of the
 * request; else the agent's only one. Undefined when it names none that the agent has.
 */
export function skillOf(
  skills: readonly Skill[],
  message: Message,
  metadata: Struct | undefined,
): Skill | undefined {
  const asked = inExtension(message) ?? message.metadata?.skill ?? metadata?.skill;
  if (asked === undefined) return skills.length === 1 ? skills[0] : undefined;
  return skills.find(({ id }) => id === asked);
}

/**
 * Refuses a message whose caller lacks a scope of its skill. One that names no skill may be about any, and needs the
 * scopes of all.
 */
export function requireSkill(
  skills: readonly Skill[],
  message: Message,
  metadata: Struct | undefined,
  granted: readonly string[],
): Skill | undefined {
  const skill = skillOf(skills, message, metadata);
  if (!skill && inExtension(message) !== undefined) {
    throw A2AError.field(`message.metadata.${SKILL_EXTENSION}.skill`, "is no skill of this agent");
  }
  const needed = (skill ? [skill] : skills).flatMap(({ scopes }) => scopes ?? []);
  const what = skill ? `the skill ${skill.id}` : "a message that names no skill";
  requireScopes(granted, [...new Set(needed)], what);
  return skill;
}

function inExtension({ metadata }: Message): unknown {
  const named = metadata?.[SKILL_EXTENSION];
  if (named === undefined) return undefined;
  // What is there and cannot be read names no skill; it is not as good as absent.
  return typeof named === "object" && named !== null ? ((named as Struct).skill ?? null) : null;
}
