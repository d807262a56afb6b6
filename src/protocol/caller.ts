/** Who calls, and how: built once at the edge, passed first to every operation, sent to the objects. */
export interface Caller {
  /** Name of the security scheme that let the caller in. */
  readonly scheme: string;
  /** Who it is under that scheme; empty for the anonymous callers of an `open()` agent. */
  readonly principal: string;
  /** The tenant named in the request; empty when there is none. */
  readonly tenant: string;
  /** URIs of the extensions that the request asks for and the agent declares. */
  readonly extensions: readonly string[];
  /** Names this request in answers and in the log. */
  readonly requestId: string;
  /** Seq of the last event the caller saw of a stream (`Last-Event-ID`). */
  readonly lastEventId?: number;
  /** `Idempotency-Key` of the request. */
  readonly idempotencyKey?: string;
}

/** The owner of what a caller makes, as one string: agent, tenant, scheme and subject (§13.1). */
export function ownerOf(
  agentId: string,
  caller: Pick<Caller, "tenant" | "scheme" | "principal">,
): string {
  return JSON.stringify([agentId, caller.tenant, caller.scheme, caller.principal]);
}
