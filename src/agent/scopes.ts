/** Scopes: what a caller may do, in the words of the scheme that let it in (§7.5). */
import { A2AError } from "../protocol/errors.ts";

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
