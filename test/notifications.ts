/** Notifications that a receiver must refuse, and good ones: the same for Node and for workerd. */
import { exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from "jose";
import { pushKeys, type Signed } from "../src/push/sign.ts";

export const ISSUER = "https://agents.example.com/agents/a";
export const AUDIENCE = "https://hooks.example.com";
const URL_OF_HOOK = `${AUDIENCE}/in/hook`;

export const BODY: string = JSON.stringify({
  statusUpdate: {
    taskId: "t",
    contextId: "c",
    status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-12-01T00:00:00.000Z" },
  },
});

/** A private JWK on P-256. */
export async function privateKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return exportJWK(privateKey);
}

export const key: JWK = await privateKey();
const keys = pushKeys({ PUSH_SIGNING_KEY: JSON.stringify(key) });
if (!keys) throw new Error("there is no key");
export const { sign, published } = keys;
export const jwks: Awaited<ReturnType<typeof published>> = await published();

let nth = 0;

/** What is signed, with changes; each has an id of its own. */
export function signed(changes: Partial<Signed> = {}): Signed {
  nth += 1;
  return {
    issuer: ISSUER,
    url: URL_OF_HOOK,
    id: `k-${nth}`,
    task: "t",
    seq: 7,
    body: BODY,
    ...changes,
  };
}

/** The request that a webhook gets. */
export function requestOf(
  { id, seq, body }: Signed,
  token: string | undefined,
  headers: Record<string, string> = {},
): Request {
  return new Request(URL_OF_HOOK, {
    method: "POST",
    body,
    headers: {
      "Content-Type": "application/a2a+json",
      "X-A2A-Notification-Id": id,
      "X-A2A-Notification-Seq": String(seq),
      ...(token !== undefined && { "X-A2A-Notification-Signature": token }),
      ...headers,
    },
  });
}

/** A token made by hand, of the claims of a good one with changes; `undefined` takes one away. */
async function forged(
  what: Signed,
  changes: Record<string, unknown>,
  {
    alg = "ES256",
    kid = jwks.keys[0]?.kid,
    secret,
  }: { alg?: string; kid?: string; secret?: Uint8Array } = {},
): Promise<string> {
  const [, payload = ""] = (await sign(what)).split(".");
  const claims = {
    ...(JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as object),
    ...changes,
  };
  const kept = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  const header = { alg, ...(kid !== undefined && { kid }) };
  return new SignJWT(kept).setProtectedHeader(header).sign(secret ?? { ...key, alg: "ES256" });
}

const now = () => Math.floor(Date.now() / 1000);
const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** Each makes a request that is refused with this code. */
export const REFUSED: readonly [title: string, code: string, make: () => Promise<Request>][] = [
  ["no signature", "unsigned", async () => requestOf(signed(), undefined)],
  [
    "Authorization of another scheme",
    "unsigned",
    async () => requestOf(signed(), undefined, { Authorization: "Basic dTpw" }),
  ],
  ["a signature that is no JWT", "invalid", async () => requestOf(signed(), "x.y.z")],
  [
    "alg none",
    "algorithm",
    async () => {
      const what = signed();
      const { issuer, id, task, seq } = what;
      const token = new UnsecuredJWT({ task, seq, body_sha256: "x" })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setJti(id)
        .setIssuedAt()
        .setExpirationTime("5m")
        .encode();
      return requestOf(what, token);
    },
  ],
  [
    "HS256 with the public key as its secret",
    "algorithm",
    async () => {
      const what = signed();
      return requestOf(what, await forged(what, {}, { alg: "HS256", secret: text(jwks.keys[0]) }));
    },
  ],
  [
    "a key that nobody published",
    "unknown_key",
    async () => {
      const what = signed();
      const other = pushKeys({ PUSH_SIGNING_KEY: JSON.stringify(await privateKey()) });
      return requestOf(what, await other?.sign(what));
    },
  ],
  [
    "a key that nobody published, under the name of one that is",
    "invalid",
    async () => {
      const what = signed();
      const kid = jwks.keys[0]?.kid;
      const other = pushKeys({ PUSH_SIGNING_KEY: JSON.stringify({ ...(await privateKey()), kid }) });
      return requestOf(what, await other?.sign(what));
    },
  ],
  [
    "another issuer",
    "issuer",
    async () => {
      const what = signed({ issuer: "https://agents.example.com" });
      return requestOf(what, await sign(what));
    },
  ],
  [
    "another audience",
    "audience",
    async () => {
      const what = signed({ url: "https://other.example.com/in/hook" });
      return requestOf(what, await sign(what));
    },
  ],
  [
    "a signature that has expired",
    "expired",
    async () => {
      const what = signed();
      return requestOf(what, await sign(what, Date.now() - 361_000));
    },
  ],
  [
    "a signature from the future",
    "expired",
    async () => {
      const what = signed();
      return requestOf(what, await sign(what, Date.now() + 65_000));
    },
  ],
  [
    "a signature that holds for a day",
    "expired",
    async () => {
      const what = signed();
      return requestOf(what, await forged(what, { iat: now() - 3_600, exp: now() + 86_400 }));
    },
  ],
  ...["iss", "aud", "iat", "exp", "jti", "task", "seq", "body_sha256"].map(
    (claim) =>
      [
        `a signature without ${claim}`,
        { iss: "issuer", aud: "audience", iat: "expired" }[claim] ?? "invalid",
        async () => {
          const what = signed();
          return requestOf(what, await forged(what, { [claim]: undefined }));
        },
      ] as [string, string, () => Promise<Request>],
  ),
  [
    "another body",
    "body",
    async () => {
      const what = signed();
      const token = await sign(what);
      return requestOf({ ...what, body: BODY.replace("COMPLETED", "FAILED") }, token);
    },
  ],
  [
    "a body with one space more",
    "body",
    async () => {
      const what = signed();
      return requestOf({ ...what, body: `${BODY} ` }, await sign(what));
    },
  ],
  [
    "a body that is no JSON",
    "body",
    async () => {
      const what = signed({ body: "hello" });
      return requestOf(what, await sign(what));
    },
  ],
  [
    "a body that is no StreamResponse",
    "body",
    async () => {
      const what = signed({ body: "{}" });
      return requestOf(what, await sign(what));
    },
  ],
  [
    "a body about another task",
    "task",
    async () => {
      const what = signed({ task: "u" });
      return requestOf(what, await sign(what));
    },
  ],
  [
    "another id in the header",
    "invalid",
    async () => {
      const what = signed();
      return requestOf(what, await sign(what), { "X-A2A-Notification-Id": "k-0" });
    },
  ],
  [
    "another seq in the header",
    "invalid",
    async () => {
      const what = signed();
      return requestOf(what, await sign(what), { "X-A2A-Notification-Seq": "8" });
    },
  ],
];
