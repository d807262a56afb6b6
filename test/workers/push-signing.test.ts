/** Signed webhooks as they are sent, and the receiving side in workerd; its rules are tested in Node, case by case. */
import { env } from "cloudflare:workers";
import { pushDeliveries, replayPush } from "durable-a2a";
import { verifyNotification } from "durable-a2a/push";
import { describe, expect, test, vi } from "vitest";
import {
  AUDIENCE,
  ISSUER,
  jwks,
  key,
  privateKey,
  REFUSED,
  requestOf,
  sign,
  signed,
} from "../notifications.ts";
import { keyed, plain, script as scripted } from "./agents.ts";
import { send } from "./bindings.ts";
import { ORIGIN, script } from "./client.ts";
import { deploy } from "./deployment.ts";
import { pump, receive } from "./webhooks.ts";

const PATH = "/.well-known/jwks.json";
const SIGNING = { PUSH_SIGNING_KEY: JSON.stringify(key) };
const options = { issuer: ISSUER, jwks, audience: AUDIENCE };

describe("what a webhook is sent", () => {
  const task = (agent?: string) =>
    send(
      "rest",
      script({ do: "artifact", parts: [{ text: "ä✓" }] }),
      {},
      {
        ...(agent !== undefined && { agent, headers: { "X-API-Key": "alice-key" } }),
        configuration: { taskPushNotificationConfig: { url: "https://example.com/in/hook" } },
      },
    );

  test.each([
    ["at the root", undefined, ORIGIN],
    ["below /agents", "keyed", `${ORIGIN}/agents/keyed`],
  ])("is signed by the agent %s, for the origin of the webhook", async (_, agent, issuer) => {
    const received = receive();
    const { id } = await task(agent);
    await pump(SIGNING);
    expect(received).toHaveLength(2);
    for (const { request, seq, headers, body } of received) {
      const signature = headers.get("X-A2A-Notification-Signature");
      expect(headers.get("Authorization")).toBe(`Bearer ${signature}`);
      const verified = await verifyNotification(request, {
        issuer,
        jwks,
        audience: "https://example.com",
        tasks: [id],
      });
      expect(verified).toMatchObject({ taskId: id, seq, response: body });
    }
  });

  test("is signed anew when it is sent again, under the same id", async () => {
    const received = receive(() => new Response(null, { status: 503 }));
    const { id } = await task();
    await pump(SIGNING);
    const [{ id: config = "" } = {}] = await pushDeliveries(env, id);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    await replayPush(env, id, config, 4);
    await pump(SIGNING);
    const [first, second] = received;
    expect(second?.id).toBe(first?.id);
    const audience = "https://example.com";
    if (!second) throw new Error("nothing came again");
    await verifyNotification(second.request, { issuer: ORIGIN, jwks, audience });
    vi.useRealTimers();
  });

  test("is not sent unsigned when the key cannot be used", async () => {
    const received = receive();
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    await task();
    await pump({ PUSH_SIGNING_KEY: "{}" });
    expect(received).toEqual([]);
    expect(String(error.mock.calls[0]?.[1])).toContain("PUSH_SIGNING_KEY");
    error.mockRestore();
  });

  test("is unsigned without a key, which the log says once", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const fetch = deploy([scripted]);
    for (let nth = 0; nth < 2; nth += 1) await fetch(`${ORIGIN}/.well-known/agent-card.json`);
    await deploy([plain])(`${ORIGIN}/.well-known/agent-card.json`);
    await deploy([keyed], SIGNING)(`${ORIGIN}/.well-known/agent-card.json`);
    expect(warn.mock.calls.flat()).toEqual([expect.stringContaining("PUSH_SIGNING_KEY")]);
    warn.mockRestore();
  });
});

describe("the published keys", () => {
  test("are public parts alone, below the root and below each agent, for any page", async () => {
    const fetch = deploy([scripted, keyed], SIGNING);
    for (const base of ["", "/agents/script", "/agents/keyed"]) {
      const response = await fetch(ORIGIN + base + PATH);
      expect(response.status).toBe(200);
      expect(response.headers.get("Cache-Control")).toBe("public, max-age=300");
      expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
      expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
      const text = await response.text();
      expect(JSON.parse(text)).toEqual(jwks);
      expect(text).not.toContain(key.d);
      expect(Object.keys(jwks.keys[0] ?? {}).sort()).toEqual([
        "alg",
        "crv",
        "kid",
        "kty",
        "use",
        "x",
        "y",
      ]);
    }
  });

  test("are all that are in the secret, the one that signs first", async () => {
    const old = await privateKey();
    const secret = { PUSH_SIGNING_KEY: JSON.stringify({ keys: [key, { ...old, kid: "old" }] }) };
    const response = await deploy([scripted], secret)(ORIGIN + PATH);
    expect(await response.json()).toMatchObject({ keys: [jwks.keys[0], { kid: "old", x: old.x }] });
  });

  test("are none without a secret; a secret that is none is an error that shows nothing of it", async () => {
    expect(await (await deploy([scripted])(ORIGIN + PATH)).json()).toEqual({ keys: [] });
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const broken = await deploy([plain], { PUSH_SIGNING_KEY: "s3cret" })(ORIGIN + PATH);
    expect(broken.status).toBe(500);
    expect((await broken.text()) + String(error.mock.calls)).not.toContain("s3cret");
    error.mockRestore();
  });
});

describe("the receiving side in workerd", () => {
  test("takes a good notification, once", async () => {
    const what = signed();
    const token = await sign(what);
    expect((await verifyNotification(requestOf(what, token), options)).taskId).toBe("t");
    await expect(verifyNotification(requestOf(what, token), options)).rejects.toMatchObject({
      code: "replayed",
    });
  });

  test.each(REFUSED)("refuses %s: %s", async (_, code, make) => {
    await expect(verifyNotification(await make(), options)).rejects.toMatchObject({ code });
  });
});
