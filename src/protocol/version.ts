/** Which protocol version a request speaks (§3.6), and which extensions it wants (§3.2.6). */
import { A2AError } from "./errors.ts";

export const VERSION_HEADER = "A2A-Version";
export const IDEMPOTENCY_HEADER = "Idempotency-Key";
export const EXTENSIONS_HEADER = "A2A-Extensions";
export const PROTOCOL_VERSION = "1.0";

/**
 * The version that is asked for, or undefined when none is; one that is not served is refused. Without one (neither header nor query, or empty), the name of what
 * is called decides, so a v1 name is served as 1.0: kinder than §3.6.2, which would read it as 0.3.
 */
export function checkVersion(headers: Headers, query: URLSearchParams): string | undefined {
  // Names of service parameters are case-insensitive, also in a query (§3.2.6).
  const inQuery = [...query].find(([name]) => name.toLowerCase() === VERSION_HEADER.toLowerCase())?.[1];
  const asked = headers.get(VERSION_HEADER)?.trim() || inQuery?.trim();
  if (!asked) return undefined;
  if (/^1\.0(\.\d+)?$/.test(asked)) return PROTOCOL_VERSION;
  throw versionNotSupported();
}

/** Names of v0.3 methods have a slash, those of v1 have none. */
export function isVersion03Method(name: string): boolean {
  return /^(message|tasks|agent)\//.test(name);
}

export function versionNotSupported(): A2AError {
  return new A2AError("VERSION_NOT_SUPPORTED", {
    message: `Protocol version not supported: this agent speaks ${PROTOCOL_VERSION}`,
    metadata: { supported: PROTOCOL_VERSION },
  });
}

/** The URIs of `A2A-Extensions`, over all its header lines, each once. */
export function requestedExtensions(headers: Headers): string[] {
  const uris = (headers.get(EXTENSIONS_HEADER) ?? "").split(",").map((uri) => uri.trim());
  return [...new Set(uris.filter((uri) => uri !== ""))];
}
