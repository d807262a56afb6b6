import { describe, expect, test } from "vitest";
import { parseAllowEntry, refuseTarget } from "../../src/push/target.ts";
import { ALLOWED, HOSTILE_URLS } from "../hostile-webhooks.ts";

const rules = { allow: [...ALLOWED, "other.org:8443/in"], loopback: false };

describe("a webhook on the allowlist may be called", () => {
  test.each([
    "https://example.com",
    "https://example.com/",
    "https://example.com?x=1",
    "https://example.com/hook?x=1&y=%0a",
    "https://example.com/hook?to=https://evil.com/../x;'y'",
    "https://EXAMPLE.com:443/hook",
    "HTTPS://example.com/hook",
    "https://example.com/.well-known/a2a",
    "https://example.com/...//a..b/..c/d..",
    "https://example.com/group%2Fproject/100%25/%C3%BC/a;b=c",
    "https://a.hooks.example.com/",
    "https://a.b.hooks.example.com/",
    "https://xn--bcher-kva.hooks.example.com/",
    "https://a_b.hooks.example.com/",
    "https://other.org:8443/in",
    "https://other.org:8443/in?x",
    "https://other.org:8443/in/",
    "https://other.org:8443/in/deeper",
    `https://example.com/${"a".repeat(2_028)}`,
  ])("%s", (url) => {
    expect(refuseTarget(url, rules)).toBeUndefined();
  });
});

describe("a webhook that may not be called is refused with the reason (W-01)", () => {
  test.each(HOSTILE_URLS)("%j", (url, why) => {
    expect(refuseTarget(url, rules)).toBe(why);
  });

  test.each([
    "https://other.org/in",
    "https://other.org:443/in",
    "https://other.org:8443",
    "https://other.org:8443/",
    "https://other.org:8443/i",
    "https://other.org:8443/IN",
    "https://other.org:8443/inside",
    "https://other.org:8443//in",
    "https://other.org:8443/%69n",
    "https://other.org:8443/in%2fdeeper",
    "https://other.org:8443/in;/deeper",
    "https://other.org:8443/out/in",
    "https://other.org:8443/?/in",
  ])("outside of the listed port and path: %s", (url) => {
    expect(refuseTarget(url, rules)).toBe("is not on the list of hosts this agent may call");
  });

  test("an entry that ends with a slash has only what is below it", () => {
    const below = { allow: ["example.com/in/"], loopback: false };
    expect(refuseTarget("https://example.com/in/x", below)).toBeUndefined();
    expect(refuseTarget("https://example.com/in", below)).toBeDefined();
  });

  test("an empty allowlist admits nothing", () => {
    expect(refuseTarget("https://example.com/", { allow: [], loopback: false })).toBeDefined();
  });
});

describe("for development, loopback over plain http", () => {
  const development = { allow: ["example.com"], loopback: true };
  test.each([
    "http://127.0.0.1:9000/hook",
    "http://127.0.0.1:80/hook",
    "http://localhost:1/",
    "http://LOCALHOST:1/",
    "https://127.0.0.2/",
    "https://localhost:8443/",
    "http://[::1]:8/",
    "https://example.com/",
  ])("may be called: %s", (url) => {
    expect(refuseTarget(url, development)).toBeUndefined();
  });
  test.each([
    "http://10.0.0.1/",
    "http://169.254.169.254/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://128.0.0.1/",
    "http://example.com/",
    "http://localhost.evil.com/",
    "http://evil.localhost/",
    "http://127.0.0.1.nip.io/",
    "https://evil.com/",
    // Loopback, in ways that only hide it.
    "http://localhost./",
    "http://127.1:9000/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://127.0.0.1./",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://user@localhost/",
    "http:localhost",
    "http://localhost/\n",
    "http://localhost/a/%2e%2e%2fb",
  ])("is not any other address or spelling: %j", (url) => {
    expect(refuseTarget(url, development)).toBeDefined();
  });
});

test.each(["ftp://127.0.0.1/", "ws://localhost/"])("loopback over %s must be http or https", (url) => {
  expect(refuseTarget(url, { allow: [], loopback: true })).toBe("must be https");
});

describe("an entry of the allowlist", () => {
  test.each([
    ["example.com", { host: "example.com", below: false, port: "443", path: "/" }],
    ["*.Example.com", { host: "example.com", below: true, port: "443", path: "/" }],
    ["example.com:443", { host: "example.com", below: false, port: "443", path: "/" }],
    ["example.com:1", { host: "example.com", below: false, port: "1", path: "/" }],
    [
      "a_b.example.com:65535/in/",
      { host: "a_b.example.com", below: false, port: "65535", path: "/in/" },
    ],
    ["*.example.com/a%20b", { host: "example.com", below: true, port: "443", path: "/a%20b" }],
  ])("%s is read", (entry, read) => {
    expect(parseAllowEntry(entry)).toEqual(read);
  });

  test.each([
    "",
    "*",
    "*.",
    ".",
    "https://example.com",
    "user@example.com",
    "exa mple.com",
    " example.com",
    "example.com\n",
    "*.*.com",
    "*example.com",
    "a.*.example.com",
    "b\u00fccher.example.com",
    "[::1]",
    "host:port",
    "example.com:",
    "example.com?x",
  ])("is no host: %j", (entry) => {
    expect(() => parseAllowEntry(entry)).toThrow("push.allow");
  });

  // Nothing of these would ever be called, or far too much.
  test.each([
    "a..b",
    ".example.com",
    "example.com.",
    "com",
    "*.com",
    "localhost",
    "localhost:9000",
    "*.localhost",
    "*.internal",
    "metadata.google.internal",
    "*.local",
    "10.0.0.1",
    "0x7f.1",
    "2130706433",
    "1.2.3.4.5",
  ])("is no public host: %j", (entry) => {
    expect(() => parseAllowEntry(entry)).toThrow("does not name a public host");
  });

  test.each(["0", "00", "0443", "65536", "99999", "100000"])("has no port %s", (port) => {
    expect(() => parseAllowEntry(`example.com:${port}`)).toThrow("has no port");
  });

  test.each([
    "/a b",
    "/a/../b",
    "/a/%2e%2e/b",
    "/a/%2e%2e%2fb",
    "/a\\b",
    "/a?b",
    "/a#b",
    "/\u00fc",
    "/..;/",
  ])("has no path %j", (path) => {
    expect(() => parseAllowEntry(`example.com${path}`)).toThrow("has no path");
  });
});
