/**
 * Where a host's name leads, asked of a DNS-over-HTTPS server (`application/dns-json`) when the agent names one. A
 * name with any address that is not public is refused, and so is one that cannot be looked up. The platform resolves
 * the name again when it calls it: this finds names that point inside, not an attacker who changes them in between.
 */
import * as z from "zod";
import { isLoopback, refuseTarget, type TargetRules } from "./target.ts";

/** How long the resolver may take, in ms. */
const TIMEOUT = 5_000;

const TYPES = { A: 1, AAAA: 28 } as const;
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

const DnsAnswer = z.object({
  Status: z.int(),
  Answer: z.array(z.object({ type: z.int(), data: z.string() })).default([]),
});

interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

interface Range extends Address {
  readonly prefix: number;
}

/** IPv4 addresses that are private, of this machine or link, or reserved (IANA's special-purpose registry). */
const CLOSED_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Azure's own services have this public address.
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
].map(range);

/** All public IPv6 addresses are in here; the closed ones are Teredo and its like, and documentation. */
const OPEN_IPV6 = range("2000::/3");
const CLOSED_IPV6 = ["2001::/23", "2001:db8::/32", "3fff::/20"].map(range);

/** IPv6 addresses that lead to the IPv4 address inside them, so many bits from the right. */
const EMBEDDING: readonly [range: Range, shift: bigint][] = [
  [range("64:ff9b::/96"), 0n],
  [range("2002::/16"), 80n],
];

export type WebhookRules = TargetRules & { readonly resolver?: string | undefined };

/** The one reason of a look-up that is not expected to pass. */
export const PRIVATE_ADDRESS = "resolves to a private address";

/** Why the URL may not be called: `refuseTarget`, and where the rules name a resolver what it says of the host. */
export async function refuseWebhook(
  url: string,
  rules: WebhookRules,
  fetcher: typeof fetch = fetch,
): Promise<string | undefined> {
  const refused = refuseTarget(url, rules);
  if (refused || rules.resolver === undefined) return refused;
  const { hostname } = new URL(url);
  // Only the development switch lets loopback come here.
  return isLoopback(hostname) ? undefined : refuseAddresses(hostname, rules.resolver, fetcher);
}

/** Why the addresses of a host may not be called, or undefined when all of them may. */
export async function refuseAddresses(
  host: string,
  resolver: string,
  fetcher: typeof fetch = fetch,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(TIMEOUT);
  let found: string[];
  try {
    const types = ["A", "AAAA"] as const;
    found = (await Promise.all(types.map((type) => ask(host, type, resolver, fetcher, signal)))).flat();
  } catch {
    return "could not be looked up";
  }
  if (found.length === 0) return "has no address";
  const addresses = found.map(readAddress);
  if (addresses.includes(undefined)) return "could not be looked up";
  return addresses.every((address) => address && isPublic(address)) ? undefined : PRIVATE_ADDRESS;
}

/** The addresses in an answer. A chain of aliases is followed by the resolver, and comes in the same answer. */
async function ask(
  host: string,
  type: keyof typeof TYPES,
  resolver: string,
  fetcher: typeof fetch,
  signal: AbortSignal,
): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", host);
  url.searchParams.set("type", type);
  const headers = { accept: "application/dns-json" };
  const response = await fetcher(url.href, { headers, redirect: "manual", signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the resolver answered ${response.status}`);
  }
  const { Status, Answer } = DnsAnswer.parse(await response.json());
  if (Status !== NO_ERROR && Status !== NO_SUCH_NAME) throw new Error(`DNS status ${Status}`);
  const wanted: readonly number[] = Object.values(TYPES);
  return Answer.filter((record) => wanted.includes(record.type)).map(({ data }) => data);
}

function isPublic(address: Address): boolean {
  if (address.bits === 32) return !CLOSED_IPV4.some((closed) => isWithin(address, closed));
  const embedding = EMBEDDING.find(([outer]) => isWithin(address, outer));
  if (embedding)
    return isPublic({ bits: 32, value: BigInt.asUintN(32, address.value >> embedding[1]) });
  return isWithin(address, OPEN_IPV6) && !CLOSED_IPV6.some((closed) => isWithin(address, closed));
}

function isWithin(address: Address, { bits, value, prefix }: Range): boolean {
  const rest = BigInt(bits - prefix);
  return address.bits === bits && address.value >> rest === value >> rest;
}

function range(text: string): Range {
  const [start = "", prefix] = text.split("/");
  const address = readAddress(start);
  if (!address) throw new TypeError(`no range of addresses: ${text}`);
  return { ...address, prefix: Number(prefix) };
}

/** An address as DNS answers have it; undefined when the text is none. */
function readAddress(text: string): Address | undefined {
  if (!text.includes(":")) {
    // The parser knows other notations too, which it would change.
    if (!/^\d+(\.\d+){3}$/.test(text) || URL.parse(`http://${text}`)?.hostname !== text) return;
    return { bits: 32, value: joined(text.split(".").map(Number), 8n) };
  }
  if (!/^[\da-f:.]+$/i.test(text)) return;
  const hex = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1);
  if (hex === undefined) return;
  const [left = [], right = []] = hex.split("::").map((half) =>
    half
      .split(":")
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16)),
  );
  const zeros = new Array<number>(8 - left.length - right.length).fill(0);
  return { bits: 128, value: joined([...left, ...zeros, ...right], 16n) };
}

function joined(groups: readonly number[], width: bigint): bigint {
  return groups.reduce((value, group) => (value << width) | BigInt(group), 0n);
}
