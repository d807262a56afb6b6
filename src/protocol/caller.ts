/** Who calls, and how: built once at the edge, passed first to every operation, sent to the objects. */
export interface Caller {
  /** Name of the security scheme that let the caller in; those of a group are joined by `+`. */
  readonly scheme: string;
  /** Who vouches for the name, where the scheme has such: the issuer of a token or of a certificate. */
  readonly issuer?: string;
  /** Who it is under that scheme and issuer; empty for the anonymous callers of an `open()` agent. */
  readonly principal: string;
  /** What the caller may do, in the words of the scheme: the scopes of a token, or those beside a key. */
  readonly scopes: readonly string[];
  /** The claims of the caller's token that the scheme was told to keep; the token itself is never kept. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The tenant named in the request; empty when there is none. */
  readonly tenant: string;
  /** URIs of the extensions that the request asks for and the agent declares. */
  readonly extensions: readonly string[];
  /** Names this request in answers and in the log. */
  readonly requestId: string;
  /** The trace the request belongs to, from its `traceparent` (W3C Trace Context). */
  readonly traceId?: string;
  /** Seq of the last event the caller saw of a stream (`Last-Event-ID`). */
  readonly lastEventId?: number;
  /** `Idempotency-Key` of the request. */
  readonly idempotencyKey?: string;
}

/** What of a caller says whose its tasks are. */
export type Identity = Pick<Caller, "tenant" | "scheme" | "issuer" | "principal">;

/** The owner of what a caller makes, as one string: agent, tenant, scheme with issuer, and subject (§13.1). */
export function ownerOf(agentId: string, caller: Identity): string {
  return JSON.stringify([agentId, caller.tenant, authorityOf(caller), caller.principal]);
}

/** Scheme and issuer as one text. Names of schemes have no spaces, so it is one text for one pair. */
export function authorityOf({ scheme, issuer }: Identity): string {
  return issuer === undefined ? scheme : `${scheme} ${issuer}`;
}
