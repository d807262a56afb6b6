/** Messages and their parts (§4.1.4 to §4.1.6). */
import * as z from "zod";
import {
  bytes,
  enumeration,
  message,
  oneof,
  optionalList,
  optionalString,
  requiredList,
  requiredString,
  struct,
} from "./proto-json.ts";

/** Longest id accepted anywhere in a request, in UTF-16 code units. */
export const MAX_ID_LENGTH = 256;

const Role = enumeration(["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"]);

/** One section of content: exactly one of `text`, `raw` (base64), `url` and `data` (any JSON value). */
export const Part = oneof(
  {
    text: z.string().optional(),
    raw: bytes.optional(),
    url: z.string().optional(),
    data: z.unknown().optional(),
    metadata: struct.optional(),
    filename: optionalString(),
    mediaType: optionalString(),
  },
  ["text", "raw", "url", "data"],
  "data",
);
export type Part = z.infer<typeof Part>;

/** One turn of the conversation, from the client or from the agent. */
export const Message = message({
  messageId: requiredString(MAX_ID_LENGTH),
  contextId: optionalString(MAX_ID_LENGTH),
  taskId: optionalString(MAX_ID_LENGTH),
  role: Role.refine((role) => role !== "ROLE_UNSPECIFIED", "must be ROLE_USER or ROLE_AGENT"),
  parts: requiredList(Part),
  metadata: struct.optional(),
  extensions: optionalList(z.string()),
  referenceTaskIds: optionalList(z.string().max(MAX_ID_LENGTH)),
});
export type Message = z.infer<typeof Message>;

/** The text of the parts that have any, one per line. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
}
