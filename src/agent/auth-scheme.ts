/** A way to authenticate callers, as a value in an agent's definition. */
import type { SecurityRequirement, SecurityScheme } from "../protocol/card.ts";

/** Who the credentials of a request belong to. */
export interface Principal {
  /** Name of the scheme that let the caller in. */
  readonly scheme: string;
  /** Who vouches for the subject; a subject is one only together with it. */
  readonly issuer?: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** What else the agent is to know of the caller. Stored with each of the caller's messages. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** One scheme, or a combination of them: what the card says of it, and the check itself. */
export interface AuthScheme {
  /** The card's `securitySchemes` by name (§4.5.1); none for an agent that is open to anyone. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** The card's `securityRequirements`: a caller satisfies one of them, with every scheme that it names. */
  readonly requirements: readonly SecurityRequirement[];
  /** Request headers the scheme reads, which browsers must be allowed to send. */
  readonly headers: readonly string[];
  /** Names of the secrets (bindings) that it reads; without one of them nobody gets in, and the log says so. */
  readonly secrets?: readonly string[];
  /** Whether tasks are listed (ListTasks): never for strangers who share one owner. */
  readonly listsTasks: boolean;
  /** The values of `WWW-Authenticate` for a request that was refused; `missing` names the scopes it lacked (403). */
  challenges(request: Request, missing?: readonly string[]): readonly string[];
  /**
   * Who calls, or undefined when the credentials are missing or wrong. Throws an A2AError PERMISSION_DENIED when a
   * scope is missing, and UNAVAILABLE when who is to vouch for the caller cannot be reached.
   */
  authenticate(request: Request, env: unknown): Promise<Principal | undefined>;
}
