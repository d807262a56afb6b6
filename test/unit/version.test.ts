/** Which versions are served, and which extensions a request names. */
import { describe, expect, test } from "vitest";
import { checkVersion, isVersion03Method, requestedExtensions } from "../../src/protocol/version.ts";

function ask(header: string | undefined, query = ""): () => void {
  const headers = new Headers(header === undefined ? {} : { "a2a-version": header });
  return () => checkVersion(headers, new URLSearchParams(query));
}

const refused = expect.objectContaining({
  reason: "VERSION_NOT_SUPPORTED",
  metadata: { supported: "1.0" },
});

describe("A2A-Version", () => {
  test.each(["1.0", "1.0.0", "1.0.1", " 1.0 "])("%j is served", (version) => {
    expect(ask(version)).not.toThrow();
    expect(ask(undefined, new URLSearchParams({ "A2A-Version": version }).toString())).not.toThrow();
  });

  test.each(["0.3", "0.3.0", "1", "1.1", "1.7", "2.0", "99.0", "1.0.x", "v1.0", "1.0, 1.0", "latest"])(
    "%j is refused (V-01)",
    (version) => {
      expect(ask(version)).toThrow(refused);
      expect(ask(undefined, new URLSearchParams({ "A2A-Version": version }).toString())).toThrow(
        refused,
      );
    },
  );

  test("none, or an empty one, is served: what is called decides (V-02)", () => {
    expect(ask(undefined)).not.toThrow();
    expect(ask("")).not.toThrow();
    expect(ask("  ", "A2A-Version=")).not.toThrow();
  });

  test("the header wins over the query, an empty header does not", () => {
    expect(ask("1.0", "A2A-Version=99.0")).not.toThrow();
    expect(ask("99.0", "A2A-Version=1.0")).toThrow(refused);
    expect(ask("", "A2A-Version=99.0")).toThrow(refused);
  });

  test("v0.3 methods are known by their names", () => {
    for (const name of ["message/send", "tasks/get", "agent/getAuthenticatedExtendedCard"]) {
      expect(isVersion03Method(name)).toBe(true);
    }
    for (const name of ["SendMessage", "GetTask", "messages/send", "other/method", ""]) {
      expect(isVersion03Method(name)).toBe(false);
    }
  });
});

describe("A2A-Extensions", () => {
  test("lists are split, trimmed and joined over header lines, each URI once", () => {
    const headers = new Headers();
    headers.append("A2A-Extensions", "https://a.example/x , https://b.example/y,,");
    headers.append("A2A-Extensions", "https://a.example/x,https://c.example/z");
    expect(requestedExtensions(headers)).toEqual([
      "https://a.example/x",
      "https://b.example/y",
      "https://c.example/z",
    ]);
  });

  test("no header is no extension, and the v0.3 spelling is another header (C-18)", () => {
    expect(requestedExtensions(new Headers())).toEqual([]);
    expect(requestedExtensions(new Headers({ "X-A2A-Extensions": "https://a.example" }))).toEqual([]);
  });
});
