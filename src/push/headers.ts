/** Can the secrets of a webhook be sent in headers, just as they are? Asked when it is stored, and again before it is called. */
import { MAX_ID_LENGTH } from "../protocol/message.ts";
import type { TaskPushNotificationConfig } from "../protocol/requests.ts";

/** Longest token and longest credentials, in characters. */
const MAX_HEADER_LENGTH = 8_192;
/** A scheme (RFC 9110 §5.6.2, §11.1). */
const HTTP_TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The field that cannot be sent and why, or undefined when all can. */
export function refuseHeaders({
  token,
  authentication: { scheme = "Bearer", credentials } = { scheme: "Bearer" },
}: Pick<TaskPushNotificationConfig, "token" | "authentication">):
  | { field: string; why: string }
  | undefined {
  const isScheme = HTTP_TOKEN.test(scheme) && scheme.length <= MAX_ID_LENGTH;
  const refused = {
    token: refuseHeader(token),
    "authentication.scheme": isScheme ? undefined : "must be an HTTP token such as Bearer",
    "authentication.credentials": refuseHeader(credentials),
  };
  for (const [field, why] of Object.entries(refused)) if (why !== undefined) return { field, why };
  return undefined;
}

/** Spaces at the ends of a header would be lost. */
function refuseHeader(value = ""): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(value)) return "must be printable ASCII";
  if (value.trim() !== value) return "must not begin or end with a space";
  return value.length > MAX_HEADER_LENGTH
    ? `must have at most ${MAX_HEADER_LENGTH} characters`
    : undefined;
}
