/**
 * May we call this URL? Webhooks go to allowlisted hosts only (§13.2), checked when a config is stored and
 * again whenever it is used. The URL parser turns every notation of an IPv4 address (decimal, octal, hex,
 * short) into the dotted one, so one test finds them all. What it would decode, strip or resolve on the way is
 * refused, so that the text that was read is what is called.
 */
import { A2AError } from "../protocol/errors.ts";

const MAX_LENGTH = 2_048;

interface AllowEntry {
  readonly host: string;
  /** `*.host`: any name below the host, however deep. */
  readonly below: boolean;
  readonly port: string;
  readonly path: string;
}

export interface TargetRules {
  readonly allow: readonly string[];
  /** Admits loopback hosts over plain http, any port. */
  readonly loopback: boolean;
}

/** An entry of the allowlist: `example.com`, `*.example.com`, `example.com:8443/hooks`. */
export function parseAllowEntry(entry: string): AllowEntry {
  const refused = (why: string) => A2AError.field("push.allow", `"${entry}" ${why}`);
  const match = /^(\*\.)?([\w.-]+)(?::(\d+))?(\/.*)?$/.exec(entry);
  if (!match?.[2]) throw refused("is not a host such as example.com or *.example.com");
  const [, below, name, port = "443", path = "/"] = match;
  const host = name.toLowerCase();
  const url = URL.parse(`https://${host}${path}`);
  if (url?.host !== host || refuseHost(host)) throw refused("does not name a public host");
  if (!/^[1-9]/.test(port) || Number(port) > 65_535) throw refused("has no port from 1 to 65535");
  if (url.pathname !== path || climbs(path)) throw refused("has no path as it stands in a URL");
  return { host, below: below !== undefined, port, path };
}

/** Why the URL may not be called, or undefined when it may. */
export function refuseTarget(text: string, rules: TargetRules): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  if (!/^[\x21-\x7e]*$/.test(text) || text.includes("\\")) {
    return "must be printable ASCII without spaces and backslashes";
  }
  const url = URL.parse(text);
  if (!url) return "must be an absolute URL";
  if (url.username !== "" || url.password !== "") return "must not carry credentials";
  const loopback = rules.loopback && isLoopback(url.hostname);
  if (url.protocol !== "https:" && !(loopback && url.protocol === "http:")) return "must be https";
  const refused = loopback ? undefined : refuseHost(url.hostname);
  if (refused) return refused;
  if (text.includes("#")) return "must not have a fragment";
  if (!isPlain(text, url)) return "must have its host, port and path as they are called";
  if (climbs(url.pathname)) return "must not have dot segments or control characters in its path";
  if (loopback) return undefined;
  const allowed = rules.allow.map(parseAllowEntry).some((entry) => matches(entry, url));
  return allowed ? undefined : "is not on the list of hosts this agent may call";
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

function refuseHost(host: string): string | undefined {
  const isAddress = host.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
  if (isAddress) return "must name a host, not an address";
  const isName = /^[\w-]+(\.[\w-]+)+$/.test(host);
  const isLocal = /\.(localhost|localdomain|internal|local)$/.test(host);
  return isName && !isLocal ? undefined : "must name a public host";
}

function matches(entry: AllowEntry, { hostname, port, pathname }: URL): boolean {
  const named = entry.below ? hostname.endsWith(`.${entry.host}`) : hostname === entry.host;
  const prefix = entry.path.endsWith("/") ? entry.path : `${entry.path}/`;
  const inside = pathname === entry.path || pathname.startsWith(prefix);
  return named && (port || "443") === entry.port && inside;
}

/** Whether the parser took host, port and path from the text as they stand there. */
function isPlain(text: string, url: URL): boolean {
  const [, authority = "", path] = /^https?:\/\/([^/?]*)([^?]*)/i.exec(text) ?? [];
  const host = authority.toLowerCase();
  const defaultPort = url.protocol === "https:" ? ":443" : ":80";
  const called = host === url.host || host === `${url.host}${defaultPort}`;
  return called && (path || "/") === url.pathname;
}

/**
 * Whether a server that decodes the path, once or more often, may find a way out of it: `%2e%2e%2f`, `%252e`,
 * `..;` (a path parameter), a backslash.
 */
function climbs(path: string): boolean {
  let decoded = path;
  let before: string;
  do {
    before = decoded;
    decoded = before.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  } while (decoded !== before);
  return /[^ -\uffff]|[\x7f\\]|(^|\/)\.\.?(;|\/|$)/.test(decoded);
}
