/** Content and artifacts as an agent may write them. */
import type { Part } from "../protocol/message.ts";
import type { Struct } from "../protocol/proto-json.ts";

/** A string stands for a text part. */
export type Content = string | Part | readonly (string | Part)[];

export interface ArtifactInput {
  /** Default: one made from the turn and the place in it. */
  artifactId?: string;
  name?: string;
  description?: string;
  parts: Content;
  metadata?: Struct;
  extensions?: string[];
}

export interface ArtifactOptions extends ArtifactInput {
  /** Adds the parts to the artifact instead of replacing it. */
  append?: boolean;
  /** Says that the artifact is complete. */
  lastChunk?: boolean;
}

/** The content as a list of parts. */
export function toParts(content: Content | undefined): Part[] {
  if (content === undefined) return [];
  const list =
    typeof content === "string" || !Array.isArray(content) ? [content as string | Part] : content;
  return list.map((part) => (typeof part === "string" ? { text: part } : part));
}
