import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { refuseAddresses, refuseWebhook } from "../../src/push/resolve.ts";

const RESOLVER = "https://dns.test/dns-query";
const HOST = "hooks.example.com";
const NOT_LOOKED_UP = "could not be looked up";
const NO_ADDRESS = "has no address";
const PRIVATE = "resolves to a private address";

interface DnsRecord {
  type: number;
  data: string;
}

const record = (data: string): DnsRecord => ({ type: data.includes(":") ? 28 : 1, data });

/** A fetcher that answers the questions for A and for AAAA. */
function answering(a: () => Response, aaaa: () => Response = () => answer()): typeof fetch {
  return async (input) => (new URL(String(input)).searchParams.get("type") === "A" ? a() : aaaa());
}

function answer(...records: DnsRecord[]): Response {
  return Response.json({ Status: 0, TC: false, Answer: records });
}

function refuse(fetcher: typeof fetch): Promise<string | undefined> {
  return refuseAddresses(HOST, RESOLVER, fetcher);
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a name with this address may be called", () => {
  test.each([
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2A00:1450:4001::200E",
    "2001:200::",
    "2001:db7:ffff::1",
    "2001:db9::",
    "2003::",
    "3ffe:ffff::",
    "3fff:1000::",
    // 1.1.1.1, translated.
    "64:ff9b::101:101",
    "64:ff9b::1.1.1.1",
    "2002:101:101::",
  ])("%s", async (address) => {
    expect(await refuse(answering(() => answer(record(address))))).toBeUndefined();
    expect(
      await refuse(
        answering(
          () => answer(),
          () => answer(record(address)),
        ),
      ),
    ).toBeUndefined();
  });
});

describe("a name with this address may not be called", () => {
  test.each([
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.255",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:1.1.1.1",
    "::ffff:0:7f00:1",
    "100::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "febf:ffff::1",
    "fec0::1",
    "ff02::1",
    "2001::1",
    "2001:10::1",
    "2001:1ff:ffff::1",
    "2001:db8::1",
    "2001:db8:ffff:ffff::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "5f00::1",
    "4000::1",
    // Private addresses, translated.
    "64:ff9b::a00:1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::a00:1",
    "2002:a00:1::",
    "2002:7f00:1:1::1",
    "2002:a9fe:a9fe::1",
  ])("%s", async (address) => {
    expect(await refuse(answering(() => answer(record(address))))).toBe(PRIVATE);
    const one = () => answer(record("1.1.1.1"));
    const both = () => answer(record("1.1.1.1"), record(address), record("2606:4700::1111"));
    expect(await refuse(answering(both))).toBe(PRIVATE);
    expect(await refuse(answering(one, both))).toBe(PRIVATE);
  });

  test("at the end of a chain of aliases", async () => {
    const alias = (to: string): DnsRecord => ({ type: 5, data: to });
    const chain = (end: string) =>
      answering(() => answer(alias("a.example.net."), alias("b.example.net."), record(end)));
    expect(await refuse(chain("10.0.0.1"))).toBe(PRIVATE);
    expect(await refuse(chain("1.1.1.1"))).toBeUndefined();
  });
});

describe("a name that cannot be looked up may not be called", () => {
  const json = (body: unknown) => () => Response.json(body);
  const good = () => answer(record("1.1.1.1"));
  const failures: [title: string, answer: () => Response, why: string][] = [
    [
      "the resolver cannot be reached",
      () => {
        throw new TypeError("fetch failed");
      },
      NOT_LOOKED_UP,
    ],
    ["500", () => new Response("{}", { status: 500 }), NOT_LOOKED_UP],
    [
      "404",
      () => Response.json({ Status: 0, Answer: [record("1.1.1.1")] }, { status: 404 }),
      NOT_LOOKED_UP,
    ],
    [
      "203",
      () => Response.json({ Status: 0, Answer: [record("1.1.1.1")] }, { status: 203 }),
      NOT_LOOKED_UP,
    ],
    ["a redirect", () => Response.redirect("https://evil.test/", 302), NOT_LOOKED_UP],
    ["204", () => new Response(null, { status: 204 }), NOT_LOOKED_UP],
    ["HTML", () => new Response("<html>"), NOT_LOOKED_UP],
    ["an empty body", () => new Response(""), NOT_LOOKED_UP],
    ["null", json(null), NOT_LOOKED_UP],
    ["no status", json({ Answer: [record("1.1.1.1")] }), NOT_LOOKED_UP],
    ["no list of answers", json({ Status: 0, Answer: "1.1.1.1" }), NOT_LOOKED_UP],
    ["SERVFAIL", json({ Status: 2 }), NOT_LOOKED_UP],
    ["REFUSED", json({ Status: 5, Answer: [record("1.1.1.1")] }), NOT_LOOKED_UP],
    ...[
      "",
      "1.1.1",
      "1.1.1.1.1",
      "256.1.1.1",
      "01.1.1.1",
      "0x1.1.1.1",
      "1.1.1.1:53",
      "example.com",
      "2606::4700::1",
      "2606:4700",
      "fe80::1%eth0",
      "[2606:4700::1]",
      "2606:4700::1]/x",
    ].map((data): [string, () => Response, string] => [
      `an address that is none: "${data}"`,
      () => answer({ type: data.includes(":") ? 28 : 1, data }),
      NOT_LOOKED_UP,
    ]),
  ];
  test.each(failures)("%s", async (_title, bad, why) => {
    expect(await refuse(answering(bad))).toBe(why);
    expect(await refuse(answering(good, bad))).toBe(why);
  });

  const nothing: [title: string, answer: () => Response][] = [
    ["there is no such name", json({ Status: 3 })],
    ["it has no answers", json({ Status: 0 })],
    ["it has an empty list of answers", json({ Status: 0, Answer: [] })],
    ["it has only an alias", json({ Status: 0, Answer: [{ type: 5, data: "a.example.net." }] })],
    ["it has only a text", json({ Status: 0, Answer: [{ type: 16, data: "1.1.1.1" }] })],
  ];
  test.each(nothing)("%s", async (_title, empty) => {
    expect(await refuse(answering(empty, empty))).toBe(NO_ADDRESS);
    expect(await refuse(answering(good, empty))).toBeUndefined();
  });
});

describe("a resolver on this machine", () => {
  /** Its URL, and what it was asked. */
  async function resolver(listener: RequestListener): Promise<{ url: string; asked: string[] }> {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.accept}`);
      listener(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dns-query`, asked };
  }

  const named: RequestListener = ({ url }, response) => {
    const { searchParams } = new URL(url ?? "", "http://dns.test");
    const addresses = { "public.test": "1.1.1.1", "inside.test": "10.0.0.1" }[
      searchParams.get("name") ?? ""
    ];
    const found = addresses !== undefined && searchParams.get("type") === "A";
    response.setHeader("content-type", "application/dns-json");
    response.end(
      JSON.stringify({ Status: addresses ? 0 : 3, ...(found && { Answer: [record(addresses)] }) }),
    );
  };

  test("is asked for both kinds of addresses, in JSON", async () => {
    const { url, asked } = await resolver(named);
    expect(await refuseAddresses("public.test", url)).toBeUndefined();
    expect(await refuseAddresses("inside.test", url)).toBe(PRIVATE);
    expect(await refuseAddresses("unknown.test", url)).toBe(NO_ADDRESS);
    expect(asked.slice(0, 2).sort()).toEqual([
      "GET /dns-query?name=public.test&type=A application/dns-json",
      "GET /dns-query?name=public.test&type=AAAA application/dns-json",
    ]);
    expect(asked).toHaveLength(6);
    expect(await refuseAddresses("public.test", `${url}?key=k`)).toBeUndefined();
    expect(asked.at(-1)).toContain("/dns-query?key=k&name=public.test&type=A");
  });

  test("is not followed to another one", async () => {
    const other = await resolver(named);
    const { url } = await resolver(({ url: path }, response) => {
      response.writeHead(307, { location: new URL(path ?? "", other.url).href }).end();
    });
    expect(await refuseAddresses("public.test", url)).toBe(NOT_LOOKED_UP);
    expect(other.asked).toEqual([]);
  });

  test.each<[title: string, listener: RequestListener]>([
    ["says nothing", () => {}],
    [
      "does not come to an end",
      (_, response) => {
        response.write('{"Status":0,');
      },
    ],
  ])("is given five seconds when it %s", async (_title, listener) => {
    const { url } = await resolver(listener);
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const spy = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout(50));
    expect(await refuseAddresses("public.test", url)).toBe(NOT_LOOKED_UP);
    expect(spy).toHaveBeenCalledExactlyOnceWith(5_000);
  });

  test("that is not there refuses every name", async () => {
    expect(await refuseAddresses("public.test", "http://127.0.0.1:1/")).toBe(NOT_LOOKED_UP);
  });
});

describe("a webhook", () => {
  const rules = { allow: ["example.com"], loopback: true, resolver: RESOLVER };
  const inside = () => vi.fn(answering(() => answer(record("10.0.0.1"))));

  test("on the allowlist is looked up, if the rules name a resolver", async () => {
    const fetcher = inside();
    expect(await refuseWebhook("https://EXAMPLE.com:443/hook", rules, fetcher)).toBe(PRIVATE);
    const asked = fetcher.mock.calls.map(([url]) => new URL(String(url)).searchParams.get("name"));
    expect(asked).toEqual(["example.com", "example.com"]);
    const withoutResolver = { ...rules, resolver: undefined };
    expect(await refuseWebhook("https://example.com/", withoutResolver, fetcher)).toBeUndefined();
    expect(fetcher).toHaveBeenCalledTimes(2);
  });

  test("that is refused anyway, or on this machine, is not looked up", async () => {
    const fetcher = inside();
    expect(await refuseWebhook("https://evil.com/", rules, fetcher)).toContain("not on the list");
    expect(await refuseWebhook("http://localhost:9000/", rules, fetcher)).toBeUndefined();
    expect(await refuseWebhook("http://127.0.0.1/", rules, fetcher)).toBeUndefined();
    expect(await refuseWebhook("http://[::1]/", rules, fetcher)).toBeUndefined();
    expect(fetcher).not.toHaveBeenCalled();
  });
});
