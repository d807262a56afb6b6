/** Page tokens: where a page ended, by value, so that a token outlives the row it points behind. Opaque to clients. */
import { A2AError } from "./errors.ts";

/** `values` as a token; `scope` names the list it belongs to. */
export function encodePageToken(scope: string, values: readonly (string | number)[]): string {
  const bytes = new TextEncoder().encode(JSON.stringify([scope, ...values]));
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}

/** The values of a token of this scope; any other token is refused. */
export function decodePageToken(scope: string, token: string): unknown[] {
  try {
    const bytes = Uint8Array.from(atob(token.replace(/-/g, "+").replace(/_/g, "/")), (char) =>
      char.charCodeAt(0),
    );
    const decoded: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (Array.isArray(decoded) && decoded[0] === scope) return decoded.slice(1);
  } catch {
    // Not a token of ours: refused below like any other.
  }
  throw A2AError.field("pageToken", "is not a token of this list");
}
