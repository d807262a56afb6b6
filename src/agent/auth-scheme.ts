/** A way to authenticate callers, as a value in an agent's definition. */
import type { SecurityScheme } from "../protocol/card.ts";

export interface AuthScheme {
  /** Key of the scheme in the card's `securitySchemes`; part of who owns a task. */
  readonly name: string;
  /** The card entry; undefined for an agent that is open to anyone. */
  readonly card: SecurityScheme | undefined;
  /** Value of `WWW-Authenticate` on a 401. */
  readonly challenge: string;
  /** Request headers the scheme reads, which browsers must be allowed to send. */
  readonly headers: readonly string[];
  /** Whether tasks are listed (ListTasks): never for strangers who share one owner. */
  readonly listsTasks: boolean;
  /** The name of the caller, or undefined when the credentials are missing or wrong. */
  authenticate(request: Request, env: unknown): Promise<string | undefined>;
}
