/** Tenants: spaces of an agent that share its card and nothing else (`tenant` of every request, §5.3). */
import type { Caller } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";
import { MAX_ID_LENGTH } from "../protocol/message.ts";
import { OPERATIONS } from "../protocol/operations.ts";

/** Who may use which tenants: everyone these, or each caller those that the function gives. */
export type Tenants =
  | readonly string[]
  | ((caller: Caller) => readonly string[] | Promise<readonly string[]>);

/** First segments of our own paths, and what URLs do not keep; `/{tenant}/…` of one of them would be another route. */
const RESERVED: ReadonlySet<string> = new Set([
  ...Object.values(OPERATIONS).map(({ path }) => path.split("/")[1] ?? ""),
  "agents",
  "_console",
  ".well-known",
  ".",
  "..",
]);

/** Why the name cannot be one of a tenant; undefined when it can. */
export function refuseTenantName(name: string): string | undefined {
  if (name === "") return "must not be empty";
  if (name.length > MAX_ID_LENGTH) return `must have at most ${MAX_ID_LENGTH} characters`;
  return RESERVED.has(name) ? "is a name of our own routes" : undefined;
}

/**
 * The tenant of a request; empty when it names none. One that is not the caller's, and one that is nobody's, are
 * refused alike with PERMISSION_DENIED.
 */
export async function tenantOf(
  tenants: Tenants | undefined,
  caller: Caller,
  tenant: string | undefined,
): Promise<string> {
  if (tenant === undefined) return "";
  if (!tenants) throw A2AError.field("tenant", "this agent has no tenants");
  const problem = refuseTenantName(tenant);
  if (problem) throw A2AError.field("tenant", problem);
  const allowed = typeof tenants === "function" ? await tenants(caller) : tenants;
  if (Array.isArray(allowed) && allowed.includes(tenant)) return tenant;
  throw new A2AError("PERMISSION_DENIED", {
    message: "Permission denied: tenant: is not one of this caller's",
    fields: [{ field: "tenant", description: "is not one of this caller's" }],
  });
}
