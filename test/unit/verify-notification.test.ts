import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { NotificationError, type SeenStore, verifyNotification } from "durable-a2a/push";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemorySeen } from "../../src/push/seen.ts";
import { pushKeys } from "../../src/push/sign.ts";
import {
  AUDIENCE,
  BODY,
  ISSUER,
  jwks,
  key,
  privateKey,
  REFUSED,
  requestOf,
  sign,
  signed,
} from "../notifications.ts";

const options = { issuer: ISSUER, jwks, audience: AUDIENCE };

function codeOf(refused: Promise<unknown>): Promise<string> {
  return refused.then(
    () => "taken",
    (error: unknown) => {
      if (error instanceof NotificationError) return error.code;
      throw error;
    },
  );
}

describe("a notification is taken", () => {
  test("with what it says", async () => {
    const what = signed();
    const { release, ...taken } = await verifyNotification(requestOf(what, await sign(what)), options);
    expect(taken).toEqual({
      response: JSON.parse(BODY),
      id: what.id,
      seq: 7,
      taskId: "t",
      issuer: ISSUER,
    });
    expect(release).toBeTypeOf("function");
  });

  test("when its signature is in Authorization alone, and its headers are gone", async () => {
    const what = signed();
    const request = new Request(AUDIENCE, {
      method: "POST",
      body: BODY,
      headers: { Authorization: `Bearer ${await sign(what)}` },
    });
    expect((await verifyNotification(request, options)).id).toBe(what.id);
  });

  test("when its signature is as old, or as far ahead, as clocks may differ", async () => {
    for (const shift of [-355_000, 55_000]) {
      const what = signed();
      const request = requestOf(what, await sign(what, Date.now() + shift));
      expect(await codeOf(verifyNotification(request, options))).toBe("taken");
    }
  });

  test("as a Message that has no task", async () => {
    const body = JSON.stringify({
      message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "hi" }] },
    });
    const what = signed({ body });
    const { response } = await verifyNotification(requestOf(what, await sign(what)), options);
    expect(response.message?.parts).toEqual([{ text: "hi" }]);
  });
});

test.each(REFUSED)("%s is refused: %s", async (_, code, make) => {
  expect(await codeOf(verifyNotification(await make(), options))).toBe(code);
});

describe("a notification that came before", () => {
  test("is refused, to be answered 200, until it is released", async () => {
    const what = signed();
    const again = async () => verifyNotification(requestOf(what, await sign(what)), options);
    const first = await again();
    const refused = await again().catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: "NotificationError", code: "replayed", status: 200 });
    await first.release();
    expect(await codeOf(again())).toBe("taken");
  });

  test("is remembered where the receiver says; what is refused is not", async () => {
    const asked: string[] = [];
    const seen: SeenStore = {
      add: async (id) => {
        asked.push(id);
        return asked.length < 2;
      },
      delete: async () => {},
    };
    const what = signed();
    const request = async (changes = {}) => requestOf({ ...what, ...changes }, await sign(what));
    const with_ = { ...options, seen };
    expect(await codeOf(verifyNotification(await request({ body: "{}" }), with_))).toBe("body");
    expect(asked).toEqual([]);
    expect(await codeOf(verifyNotification(await request(), with_))).toBe("taken");
    expect(await codeOf(verifyNotification(await request(), with_))).toBe("replayed");
    expect(new Set(asked)).toEqual(new Set([JSON.stringify([ISSUER, what.id])]));
  });

  test("is remembered in memory among the last 10,000, for its time", () => {
    const seen = new MemorySeen();
    const later = Date.now() + 60_000;
    expect(seen.add("first", later)).toBe(true);
    for (let nth = 1; nth < 10_000; nth += 1) seen.add(`${nth}`, later);
    expect(seen.add("first", later)).toBe(false);
    expect(seen.add("one more", later)).toBe(true);
    expect(seen.add("first", later)).toBe(true);
    expect(seen.add("old", Date.now() - 1)).toBe(true);
    expect(seen.add("old", later)).toBe(true);
  });
});

describe("what the receiver expects", () => {
  test.each([
    [["t", "u"], "taken"],
    [["u"], "task"],
    [[], "task"],
    [async (id: string) => id === "t", "taken"],
    [() => false, "task"],
  ])("tasks %s: %s", async (tasks, code) => {
    const what = signed();
    const request = requestOf(what, await sign(what));
    expect(await codeOf(verifyNotification(request, { ...options, tasks }))).toBe(code);
  });

  test("several audiences", async () => {
    const what = signed();
    const request = requestOf(what, await sign(what));
    const audience = ["https://other.example.com", AUDIENCE];
    expect(await codeOf(verifyNotification(request, { ...options, audience }))).toBe("taken");
  });

  test.each([
    [0, "taken"],
    [-1, "too_large"],
  ])("a body of at most its bytes and %i: %s", async (more, code) => {
    const what = signed();
    const request = requestOf(what, await sign(what));
    const maxBytes = new TextEncoder().encode(BODY).byteLength + more;
    expect(await codeOf(verifyNotification(request, { ...options, maxBytes }))).toBe(code);
  });

  test("must be said: an audience, and an issuer or keys", async () => {
    const what = signed();
    const token = await sign(what);
    for (const wrong of [
      { jwks },
      { jwks, audience: "" },
      { jwks, audience: [] },
      { audience: AUDIENCE },
      { audience: AUDIENCE, issuer: "http://agents.example.com" },
      { audience: AUDIENCE, issuer: "nonsense" },
    ]) {
      const verified = verifyNotification(requestOf(what, token), wrong as typeof options);
      await expect(verified, JSON.stringify(wrong)).rejects.toThrow(TypeError);
    }
  });
});

describe("keys of an issuer", () => {
  /** An agent on this machine, whose keys are what `answer` gives. */
  async function agent(answer: () => { status?: number; body?: unknown; location?: string }) {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? "");
      const { status = 200, body, location } = answer();
      response.writeHead(status, location === undefined ? {} : { Location: location });
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return { issuer: `http://127.0.0.1:${port}/agents/a`, asked };
  }

  async function receive(issuer: string, from = sign) {
    const what = signed({ issuer });
    const request = requestOf(what, await from(what));
    return verifyNotification(request, { issuer, audience: AUDIENCE });
  }

  test("are fetched once from its URL", async () => {
    const { issuer, asked } = await agent(() => ({ body: jwks }));
    await receive(issuer);
    await receive(issuer);
    expect(asked).toEqual(["/agents/a/.well-known/jwks.json"]);
  });

  test("are the old one and the new one while it changes them", async () => {
    const next = await privateKey();
    const both = pushKeys({ PUSH_SIGNING_KEY: JSON.stringify({ keys: [next, key] }) });
    const set = await both?.published();
    const { issuer } = await agent(() => ({ body: set }));
    expect((await receive(issuer)).taskId).toBe("t");
    expect((await receive(issuer, both?.sign)).taskId).toBe("t");
  });

  test.each([
    ["do not come", { status: 500 }],
    ["are elsewhere", { status: 302, location: "https://example.com/jwks.json" }],
    ["are no keys", { body: "hello" }],
  ])("that %s: 503, to be tried again", async (_, answer) => {
    const { issuer } = await agent(() => answer);
    await expect(receive(issuer)).rejects.toMatchObject({ code: "keys", status: 503 });
  });
});
