/** Scopes: what a caller may do, in the words of the scheme that let it in (§7.5). */
import * as z from "zod";
import { A2AError } from "../protocol/errors.ts";

/** A scope is a word: tokens list them with spaces between (RFC 6749 §3.3). */
export const scopeNames = z.array(
  z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be printable ASCII without spaces and quotes"),
);

/** Throws PERMISSION_DENIED with the names of the scopes that are missing; `what` needs them. */
export function requireScopes(
  granted: readonly string[],
  needed: readonly string[],
  what: string,
): void {
  const missing = needed.filter((scope) => !granted.includes(scope));
  if (missing.length === 0) return;
  const scopes = missing.join(" ");
  throw new A2AError("PERMISSION_DENIED", {
    message: `Permission denied: ${what} needs the ${missing.length === 1 ? "scope" : "scopes"} ${scopes}`,
    metadata: { scopes },
  });
}
