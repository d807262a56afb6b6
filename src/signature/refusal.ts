/** Why a card is not trusted. */

/**
 * - `unsigned`: the card has no signatures
 * - `malformed`: the card or the signature cannot be read
 * - `algorithm`: the signature's algorithm is not among those allowed; `none` never is
 * - `unknown_key`: no trusted key has its `kid` and suits its algorithm
 * - `foreign_key_set`: its key is elsewhere, at a `jku` that is not allowed
 * - `key_set_unavailable`: the key set at its `jku` cannot be fetched or read
 * - `mismatch`: the signature is not one of this card by that key
 */
export type RefusalCode =
  | "unsigned"
  | "malformed"
  | "algorithm"
  | "unknown_key"
  | "foreign_key_set"
  | "key_set_unavailable"
  | "mismatch";

export interface Refusal {
  code: RefusalCode;
  message: string;
  /** Key that the signature names, where it can be read. */
  kid?: string;
}

/** No signature of the card can be trusted (§8.4.3); `refusals` says of each why, in order, or of the card as a whole. */
export class CardSignatureError extends Error {
  override readonly name = "CardSignatureError";
  readonly refusals: readonly Refusal[];

  constructor(refusals: readonly Refusal[]) {
    const reasons = refusals.map(({ kid, message }) => (kid ? `${said(kid)}: ${message}` : message));
    super(`The agent card is not to be trusted: ${reasons.join("; ")}`);
    this.refusals = refusals;
  }
}

/** Text of a stranger, for a message of ours: quoted, and not longer than 100 characters. */
export function said(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
