/** Why a notification is not to be used, and the HTTP status to answer it with. */
const STATUSES = {
  unsigned: 401,
  invalid: 401,
  algorithm: 401,
  unknown_key: 401,
  issuer: 401,
  audience: 401,
  expired: 401,
  body: 400,
  task: 403,
  too_large: 413,
  replayed: 200,
  keys: 503,
} as const;

/**
 * - `unsigned`: there is no signature
 * - `invalid`: the signature cannot be read, does not hold, or says something else than the headers
 * - `algorithm`: it is not ES256
 * - `unknown_key`: no key that is trusted made it
 * - `issuer`, `audience`: it is of another agent, or for another receiver
 * - `expired`: it is too old, or from the future
 * - `body`: the body is not what was signed, or no StreamResponse
 * - `task`: the body is about another task than was signed, or the task is not expected
 * - `too_large`: the body is longer than allowed
 * - `replayed`: it came before
 * - `keys`: the keys of the issuer cannot be fetched
 */
export type NotificationErrorCode = keyof typeof STATUSES;

export class NotificationError extends Error {
  override readonly name = "NotificationError";
  readonly code: NotificationErrorCode;
  /**
   * What to answer. A notification that came before is answered 200: the agent missed our first answer, and goes on with
   * this one. 503 has it tried again; the others stop the webhook, until its client puts it right.
   */
  readonly status: number;

  constructor(code: NotificationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = STATUSES[code];
  }
}
