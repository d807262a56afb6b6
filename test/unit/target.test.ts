import { describe, expect, test } from "vitest";
import { parseAllowEntry, refuseTarget } from "../../src/push/target.ts";

const rules = { allow: ["example.com", "*.hooks.example.com", "other.org:8443/in"], loopback: false };

describe("a webhook on the allowlist may be called", () => {
  test.each([
    "https://example.com",
    "https://example.com/hook?x=1#y",
    "https://EXAMPLE.com:443/hook",
    "https://a.hooks.example.com/",
    "https://a.b.hooks.example.com/",
    "https://other.org:8443/in",
    "https://other.org:8443/in/deeper",
  ])("%s", (url) => {
    expect(refuseTarget(url, rules)).toBeUndefined();
  });
});

describe("a webhook that may not be called is refused with the reason (W-01)", () => {
  const hostile: [url: string, why: string][] = [
    ["not a url", "must be an absolute URL"],
    ["/hook", "must be an absolute URL"],
    ["", "must be an absolute URL"],
    ["http://example.com/", "must be https"],
    ["ftp://example.com/", "must be https"],
    ["file:///etc/passwd", "must be https"],
    ["javascript:alert(1)", "must be https"],
    ["data:text/plain,hi", "must be https"],
    ["https://user:pass@example.com/", "must not carry credentials"],
    ["https://user@example.com/", "must not carry credentials"],
    ["https://example.com@evil.com/", "must not carry credentials"],
    ["https://127.0.0.1/", "must name a host, not an address"],
    ["https://127.1/", "must name a host, not an address"],
    ["https://2130706433/", "must name a host, not an address"],
    ["https://0x7f.1/", "must name a host, not an address"],
    ["https://0x7f000001/", "must name a host, not an address"],
    ["https://0177.0.0.1/", "must name a host, not an address"],
    ["https://169.254.169.254/latest/meta-data", "must name a host, not an address"],
    ["https://10.0.0.1/", "must name a host, not an address"],
    ["https://100.64.0.1/", "must name a host, not an address"],
    ["https://93.184.216.34/", "must name a host, not an address"],
    ["https://127.0.0.1./", "must name a host, not an address"],
    ["https://１２７.0.0.1/", "must name a host, not an address"],
    ["https://[::1]/", "must name a host, not an address"],
    ["https://[::ffff:10.0.0.1]/", "must name a host, not an address"],
    ["https://[fd00::1]/", "must name a host, not an address"],
    ["https://localhost/", "must name a public host"],
    ["https://api.localhost/", "must name a public host"],
    ["https://intranet/", "must name a public host"],
    ["https://metadata.google.internal/", "must name a public host"],
    ["https://printer.local/", "must name a public host"],
    ["https://example.com./", "must name a public host"],
    ["https://evil.com/", "is not on the list of hosts this agent may call"],
    ["https://example.com.evil.com/", "is not on the list of hosts this agent may call"],
    ["https://evilexample.com/", "is not on the list of hosts this agent may call"],
    ["https://hooks.example.com/", "is not on the list of hosts this agent may call"],
    ["https://evilhooks.example.com/", "is not on the list of hosts this agent may call"],
    ["https://example.com:8443/", "is not on the list of hosts this agent may call"],
    ["https://other.org/in", "is not on the list of hosts this agent may call"],
    ["https://other.org:8443/", "is not on the list of hosts this agent may call"],
    ["https://other.org:8443/inside", "is not on the list of hosts this agent may call"],
    ["https://other.org:8443/in/../out", "is not on the list of hosts this agent may call"],
    ["https://ex\u00adample.org/", "is not on the list of hosts this agent may call"],
  ];
  test.each(hostile)("%s", (url, why) => {
    expect(refuseTarget(url, rules)).toBe(why);
  });

  test("an empty allowlist admits nothing", () => {
    expect(refuseTarget("https://example.com/", { allow: [], loopback: false })).toBeDefined();
  });
});

describe("for development, loopback over plain http", () => {
  const development = { allow: [], loopback: true };
  test.each([
    "http://127.0.0.1:9000/hook",
    "http://localhost:1/",
    "https://127.0.0.2/",
    "http://[::1]:8/",
  ])("may be called: %s", (url) => {
    expect(refuseTarget(url, development)).toBeUndefined();
  });
  test.each([
    "http://10.0.0.1/",
    "http://169.254.169.254/",
    "http://0.0.0.0/",
    "http://example.com/",
    "ftp://127.0.0.1/",
  ])("is not any other address: %s", (url) => {
    expect(refuseTarget(url, development)).toBeDefined();
  });
});

test.each([
  "",
  "https://example.com",
  "example.com/a b",
  "*",
  "*.*.com",
  "a..b",
  "exa mple.com",
  "host:port",
])("an entry of the allowlist that is none is refused: %j", (entry) => {
  expect(() => parseAllowEntry(entry)).toThrow("push.allow");
});
