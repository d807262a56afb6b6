/** The card over HTTP: its validators and its freshness (§8.6; RFC 9110 §13). */
import { describe, expect, test } from "vitest";
import { keyed, script } from "./agents.ts";
import { call, ORIGIN } from "./client.ts";
import { deploy } from "./deployment.ts";

const PATH = "/.well-known/agent-card.json";

const get = (headers: Record<string, string> = {}, method = "GET") => call(PATH, { method, headers });

async function headersOf(answer: Response | Promise<Response>): Promise<Record<string, string | null>> {
  const { headers } = await answer;
  const names = ["ETag", "Last-Modified", "Cache-Control"];
  return Object.fromEntries(names.map((name) => [name, headers.get(name)]));
}

async function etagOf(answer: Response | Promise<Response>): Promise<string> {
  return (await headersOf(answer)).ETag ?? "";
}

describe("a card", () => {
  test("may be kept for a while by anyone, and has a tag and a date (§8.6.1)", async () => {
    const headers = await headersOf(get());
    expect(headers["Cache-Control"]).toMatch(/^public, max-age=[1-9]\d*$/);
    expect(headers.ETag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    const date = headers["Last-Modified"] ?? "";
    expect(new Date(date).toUTCString()).toBe(date);
    expect(Date.parse(date)).toBeLessThanOrEqual(Date.now());
  });

  test("keeps its tag and its date from request to request", async () => {
    expect(await headersOf(get())).toEqual(await headersOf(get({ Origin: "https://app.example" })));
  });

  test("has another tag when anything in it is another", async () => {
    const tags = [
      await etagOf(deploy([script])(ORIGIN + PATH)),
      await etagOf(deploy([script])(`https://other.example${PATH}`)),
      await etagOf(deploy([keyed])(ORIGIN + PATH)),
    ];
    expect(new Set(tags).size).toBe(3);
  });

  test("is dated by its deployment where that is known", async () => {
    const CF_VERSION_METADATA = { timestamp: "2026-03-04T05:06:07.890Z" };
    const fetch = deploy([script], { CF_VERSION_METADATA });
    const date = "Wed, 04 Mar 2026 05:06:07 GMT";
    expect((await headersOf(fetch(ORIGIN + PATH)))["Last-Modified"]).toBe(date);
    const since = async (text: string) =>
      (await fetch(ORIGIN + PATH, { headers: { "If-Modified-Since": text } })).status;
    expect(await since(date)).toBe(304);
    expect(await since("Wed, 04 Mar 2026 05:06:06 GMT")).toBe(200);
  });

  test("answers HEAD with the headers of GET and no body", async () => {
    const head = await get({}, "HEAD");
    expect(head.status).toBe(200);
    expect(head.headers.get("Content-Type")).toBe("application/json");
    expect(await head.text()).toBe("");
    expect(await headersOf(head)).toEqual(await headersOf(get()));
    expect((await get({ "If-None-Match": await etagOf(get()) }, "HEAD")).status).toBe(304);
  });

  test.each(["POST", "PUT", "DELETE"])("is not to be changed: %s is refused", async (method) => {
    expect((await get({}, method)).status).toBeGreaterThanOrEqual(404);
  });
});

describe("a card that is asked for again", () => {
  const matching: [title: string, tags: (etag: string) => string][] = [
    ["its tag", (etag) => etag],
    ["its tag, marked weak", (etag) => `W/${etag}`],
    ["its tag in a list", (etag) => `"a", ${etag} ,"b"`],
    ["its tag, marked weak, in a list without spaces", (etag) => `"a",W/${etag}`],
    ["any tag", () => "*"],
  ];
  test.each(matching)(
    "with %s is 304, without a body and with the same headers",
    async (_title, tags) => {
      const first = await get();
      const response = await get({ "If-None-Match": tags(await etagOf(first)) });
      expect(response.status).toBe(304);
      expect(await response.text()).toBe("");
      expect(await headersOf(response)).toEqual(await headersOf(first));
      expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    },
  );

  const differing: [title: string, tags: (etag: string) => string][] = [
    ["another tag", () => '"another"'],
    ["its tag without the quotes", (etag) => etag.slice(1, -1)],
    ["a part of its tag", (etag) => `${etag.slice(0, 5)}"`],
    ["an empty list", () => ""],
  ];
  test.each(differing)("with %s is given", async (_title, tags) => {
    const response = await get({ "If-None-Match": tags(await etagOf(get())) });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty("name", "Script");
  });

  test("since its date or later is 304", async () => {
    const { "Last-Modified": date } = await headersOf(get());
    const later = new Date(Date.parse(date ?? "") + 60_000).toUTCString();
    for (const since of [date ?? "", later]) {
      const response = await get({ "If-Modified-Since": since });
      expect(response.status).toBe(304);
      expect(await response.text()).toBe("");
    }
  });

  test("since a time before its date, or one that is none, is given", async () => {
    const { "Last-Modified": date } = await headersOf(get());
    const before = new Date(Date.parse(date ?? "") - 1000).toUTCString();
    for (const since of [before, "yesterday", ""]) {
      expect((await get({ "If-Modified-Since": since })).status).toBe(200);
    }
  });

  test("with another tag is given although its date is the same: the tag decides", async () => {
    const { "Last-Modified": date } = await headersOf(get());
    const response = await get({ "If-None-Match": '"another"', "If-Modified-Since": date ?? "" });
    expect(response.status).toBe(200);
  });
});
