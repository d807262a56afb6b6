/**
 * May we call this URL? Webhooks go to allowlisted hosts only (§13.2), checked when a config is stored and
 * again whenever it is used. The URL parser turns every notation of an IPv4 address (decimal, octal, hex,
 * short) into the dotted one, so one test finds them all.
 */
import { A2AError } from "../protocol/errors.ts";

interface AllowEntry {
  readonly host: string;
  /** `*.host`: any name below the host. */
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
  const match = /^(\*\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::(\d{1,5}))?(\/\S*)?$/i.exec(entry);
  if (!match?.[2]) {
    throw A2AError.field("push.allow", `"${entry}" is not a host such as example.com or *.example.com`);
  }
  return {
    host: match[2].toLowerCase(),
    below: match[1] !== undefined,
    port: match[3] ?? "443",
    path: match[4] ?? "/",
  };
}

/** Why the URL may not be called, or undefined when it may. */
export function refuseTarget(text: string, rules: TargetRules): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "must be an absolute URL";
  }
  if (url.username !== "" || url.password !== "") return "must not carry credentials";
  const host = url.hostname;
  if (rules.loopback && isLoopback(host) && /^https?:$/.test(url.protocol)) return undefined;
  if (url.protocol !== "https:") return "must be https";
  if (isAddress(host)) return "must name a host, not an address";
  if (isLocalName(host)) return "must name a public host";
  const port = url.port === "" ? "443" : url.port;
  const allowed = rules.allow
    .map(parseAllowEntry)
    .some((entry) => matches(entry, host, port, url.pathname));
  return allowed ? undefined : "is not on the list of hosts this agent may call";
}

function matches(entry: AllowEntry, host: string, port: string, path: string): boolean {
  const named = entry.below ? host.endsWith(`.${entry.host}`) : host === entry.host;
  const prefix = entry.path.endsWith("/") ? entry.path : `${entry.path}/`;
  return named && port === entry.port && (path === entry.path || path.startsWith(prefix));
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

function isAddress(host: string): boolean {
  return host.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}\.?$/.test(host);
}

function isLocalName(host: string): boolean {
  const labels = host.replace(/\.$/, "").split(".");
  const last = labels.at(-1) ?? "";
  return host.endsWith(".") || labels.length < 2 || ["localhost", "internal", "local"].includes(last);
}
