/**
 * The receiving side of webhooks: is this notification from the agent it says, for us, whole, and new? For any runtime
 * with the web's own `Request`. What is refused is refused before the content is used.
 */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { StreamResponse } from "../protocol/task.ts";
import { isKeySetUrl } from "../signature/key-set.ts";
import { NotificationError } from "./notification-error.ts";
import { MemorySeen, type SeenStore } from "./seen.ts";
import { LIFETIME, sha256 } from "./sign.ts";

const SIGNATURE_HEADER = "X-A2A-Notification-Signature";
/** How long the keys of an issuer may take to arrive, in ms. */
const KEYS_TIMEOUT = 5_000;
/** Most issuers whose keys are remembered. */
const MOST_ISSUERS = 100;
/** How long a notification counts as seen, in ms: as long as senders try by default. */
const SEEN_MS = 24 * 60 * 60 * 1000;

export interface VerifyNotificationOptions {
  /**
   * The agent's public URL, which must be the signature's `iss`. Its keys are fetched from
   * `<issuer>/.well-known/jwks.json`, unless `jwks` has them: over https, or from this machine.
   */
  issuer?: string;
  /** The agent's public keys; then nothing is fetched. */
  jwks?: JSONWebKeySet;
  /** Origin of the URL that the agent was given, such as `https://hooks.example.com`; or several. */
  audience: string | string[];
  /** The tasks that notifications are expected of. Default: any of the issuer. */
  tasks?: Iterable<string> | ((taskId: string) => boolean | Promise<boolean>);
  /** Where ids of notifications are remembered. Default: in memory, the last 10,000. */
  seen?: SeenStore;
  /** By how much clocks may differ, in seconds. Default: 60. */
  clockTolerance?: number;
  /** Longest body, in bytes. Default: 8 MiB. */
  maxBytes?: number;
}

/** A notification that can be trusted. */
export interface VerifiedNotification {
  /** What happened (§4.3.3). */
  response: StreamResponse;
  /** Names the event; it is the same when it is sent again. */
  id: string;
  /** Its place in the log of the task. */
  seq: number;
  taskId: string;
  issuer: string;
  /** Forgets that it came. Call it when you could not use it, then answer with a 5xx: the agent sends it again. */
  release(): Promise<void>;
}

interface Claims {
  iss: string;
  jti: string;
  task: string;
  seq: number;
  body_sha256: string;
}

const inMemory = new MemorySeen();
const keySets = new Map<string, JWTVerifyGetKey>();

/**
 * Checks a request to a webhook: signature, sender, time, audience, body, task, and that it was not seen before. Reads the
 * body. Throws a `NotificationError`, whose `status` is what to answer; and a `TypeError` when the options cannot be used.
 *
 * @example
 * const { response, taskId } = await verifyNotification(request, {
 *   issuer: "https://agents.example.com",
 *   audience: "https://hooks.example.com",
 * });
 */
export async function verifyNotification(
  request: Request,
  options: VerifyNotificationOptions,
): Promise<VerifiedNotification> {
  const { tasks, seen = inMemory, maxBytes = 8 * 1024 * 1024 } = options;
  const claims = await verifyToken(tokenOf(request.headers), options);
  const { jti: id, seq, task: taskId, iss: issuer } = claims;
  for (const [name, value] of [
    ["X-A2A-Notification-Id", id],
    ["X-A2A-Notification-Seq", String(seq)],
  ] as const) {
    if ((request.headers.get(name) ?? value) === value) continue;
    throw new NotificationError("invalid", `${name} is not what was signed`);
  }
  const body = await readBody(request, maxBytes);
  if ((await sha256(body)) !== claims.body_sha256) {
    throw new NotificationError("body", "the body is not the one that was signed");
  }
  const response = readResponse(body);
  const about = taskIdOf(response);
  if (about !== undefined && about !== taskId) {
    throw new NotificationError("task", "the body is about another task than was signed");
  }
  if (tasks !== undefined && !(await isExpected(taskId, tasks))) {
    throw new NotificationError("task", "the task is none of those that are expected");
  }
  const named = JSON.stringify([issuer, id]);
  if (!(await seen.add(named, Date.now() + SEEN_MS))) {
    throw new NotificationError("replayed", "the notification came before");
  }
  return { response, id, seq, taskId, issuer, release: async () => seen.delete(named) };
}

function tokenOf(headers: Headers): string {
  const signature = headers.get(SIGNATURE_HEADER);
  if (signature !== null) return signature;
  const [, bearer] = /^bearer +(\S+)$/i.exec(headers.get("Authorization") ?? "") ?? [];
  if (bearer === undefined) throw new NotificationError("unsigned", "there is no signature");
  return bearer;
}

async function verifyToken(token: string, options: VerifyNotificationOptions): Promise<Claims> {
  const { issuer, audience, clockTolerance = 60 } = options;
  if (audience === undefined || audience.length === 0) {
    throw new TypeError("verifyNotification: name the `audience`, the origin of the webhook's URL");
  }
  let payload: JWTPayload;
  try {
    ({ payload } = await jwtVerify(token, keysOf(options), {
      algorithms: ["ES256"],
      ...(issuer !== undefined && { issuer }),
      audience,
      clockTolerance,
      // Also refuses a signature from the future.
      maxTokenAge: LIFETIME,
      requiredClaims: ["iss", "aud", "iat", "exp", "jti"],
    }));
  } catch (error) {
    throw refusalOf(error);
  }
  const { iss, jti, task, seq, body_sha256 } = payload;
  const complete =
    typeof iss === "string" &&
    typeof jti === "string" &&
    typeof task === "string" &&
    Number.isSafeInteger(seq) &&
    typeof body_sha256 === "string";
  if (!complete) throw new NotificationError("invalid", "the signature lacks a claim");
  return { iss, jti, task, seq: Number(seq), body_sha256 };
}

/** The keys to trust. Those of an issuer are fetched when they are needed, and again for a key that is not among them. */
function keysOf({ issuer, jwks }: VerifyNotificationOptions): JWTVerifyGetKey {
  if (jwks !== undefined) return createLocalJWKSet(jwks);
  const url = `${issuer?.replace(/\/+$/, "")}/.well-known/jwks.json`;
  if (issuer === undefined || !isKeySetUrl(url)) {
    throw new TypeError("verifyNotification: name the `issuer` by its https URL, or its `jwks`");
  }
  const known = keySets.get(url);
  if (known) return known;
  const remote = createRemoteJWKSet(new URL(url), { timeoutDuration: KEYS_TIMEOUT });
  const keys: JWTVerifyGetKey = async (header, token) => {
    try {
      return await remote(header, token);
    } catch (cause) {
      if (isNoKey(cause)) throw cause;
      throw new NotificationError("keys", "the keys of the issuer cannot be fetched", { cause });
    }
  };
  if (keySets.size >= MOST_ISSUERS) keySets.clear();
  keySets.set(url, keys);
  return keys;
}

function isNoKey(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some(
    (kind) => error instanceof kind,
  );
}

function refusalOf(cause: unknown): Error {
  if (cause instanceof NotificationError || cause instanceof TypeError) return cause;
  if (cause instanceof errors.JWTExpired) {
    return new NotificationError("expired", "the signature has expired", { cause });
  }
  if (cause instanceof errors.JWTClaimValidationFailed) {
    const code = { aud: "audience", iss: "issuer", iat: "expired" } as const;
    const known = code[cause.claim as keyof typeof code];
    return new NotificationError(known ?? "invalid", `the claim "${cause.claim}" does not hold`, {
      cause,
    });
  }
  if (cause instanceof errors.JOSEAlgNotAllowed) {
    return new NotificationError("algorithm", "the signature is not ES256", { cause });
  }
  if (isNoKey(cause)) {
    return new NotificationError("unknown_key", "no key that is trusted made the signature", { cause });
  }
  return new NotificationError("invalid", "the signature does not hold", { cause });
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || !value) break;
    length += value.byteLength;
    if (length > maxBytes) {
      await reader?.cancel();
      throw new NotificationError("too_large", `the body has more than ${maxBytes} bytes`);
    }
    chunks.push(value);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.byteLength;
  }
  return body;
}

function readResponse(body: Uint8Array): StreamResponse {
  try {
    return StreamResponse.parse(JSON.parse(new TextDecoder().decode(body)));
  } catch (cause) {
    throw new NotificationError("body", "the body is no StreamResponse", { cause });
  }
}

function taskIdOf(response: StreamResponse): string | undefined {
  const { task, message, statusUpdate, artifactUpdate } = response;
  return task?.id ?? message?.taskId ?? statusUpdate?.taskId ?? artifactUpdate?.taskId;
}

async function isExpected(
  taskId: string,
  tasks: NonNullable<VerifyNotificationOptions["tasks"]>,
): Promise<boolean> {
  return typeof tasks === "function" ? tasks(taskId) : new Set(tasks).has(taskId);
}
