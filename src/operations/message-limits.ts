/** The bounds of a user message; the error names the field and the bound. */
import type { Limits } from "../agent/limits.ts";
import { byteLength } from "../protocol/byte-length.ts";
import { A2AError } from "../protocol/errors.ts";
import type { SendMessageRequest } from "../protocol/requests.ts";

export function checkMessageLimits({ message, metadata }: SendMessageRequest, limits: Limits): void {
  atMost("message.parts", "parts", message.parts.length, limits.parts);
  atMost("message.extensions", "extensions", message.extensions?.length ?? 0, limits.extensions);
  checkMetadata("metadata", metadata, limits);
  checkMetadata("message.metadata", message.metadata, limits);
  for (const [index, part] of message.parts.entries()) {
    checkMetadata(`message.parts[${index}].metadata`, part.metadata, limits);
  }
}

export function checkMetadata(field: string, metadata: object | undefined, limits: Limits): void {
  if (metadata) atMost(field, "bytes in JSON", byteLength(JSON.stringify(metadata)), limits.metadata);
}

function atMost(field: string, unit: string, size: number, limit: number): void {
  if (size > limit) throw A2AError.field(field, `has ${size} ${unit}; at most ${limit} are taken`);
}
