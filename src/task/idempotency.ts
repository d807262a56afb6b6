/** The two kinds of keys that a repeated message is known by. Pure. */
import { IDEMPOTENCY_HEADER } from "../protocol/version.ts";
import type { Idempotency } from "./event.ts";

/** An `Idempotency-Key` has no space: the same text as a messageId is another key. */
const BY_MESSAGE = "messageId ";

export function messageKey(messageId: string): string {
  return BY_MESSAGE + messageId;
}

/** Where the client has put the key. */
export function fieldOf({ key }: Pick<Idempotency, "key">): string {
  return key.startsWith(BY_MESSAGE) ? "message.messageId" : IDEMPOTENCY_HEADER;
}
