import type { RateLimit } from "../agent/rate-limit.ts";
import { authorityOf, type Caller } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";
import { OPERATIONS, type OperationName } from "../protocol/operations.ts";
import type { Ports } from "./ports.ts";

/** Refuses a call that comes too soon after others of its caller and kind with RESOURCE_EXHAUSTED. */
export async function limitRate(operation: OperationName, caller: Caller, ports: Ports): Promise<void> {
  const { rateLimit } = ports.agent;
  if (!rateLimit) return;
  for (const kind of ["all", OPERATIONS[operation].kind] as const) {
    const limit = rateLimit[kind];
    if (limit) await count(limit, [ports.agent.id, kind, ...counted(caller, ports)], ports);
  }
}

/** Who is counted: not the tenant, which the caller chooses, and strangers by where they come from. */
function counted(caller: Caller, { agent, address }: Ports): string[] {
  return agent.definition.auth.requirements.length === 0
    ? [network(address)]
    : [authorityOf(caller), caller.principal];
}

/** An IPv6 address as the first half that all addresses of a customer share: who has one has 2^64 of them. */
function network(address: string): string {
  if (!address.includes(":")) return address;
  const [head = ""] = address.split("::");
  return [...head.split(":").filter((group) => group !== ""), "0", "0", "0", "0"].slice(0, 4).join(":");
}

async function count({ binding, period }: RateLimit, key: string[], ports: Ports): Promise<void> {
  const { success } = await ports.limiter(binding).limit({ key: JSON.stringify(key) });
  if (success) return;
  throw new A2AError("RESOURCE_EXHAUSTED", {
    message: `Too many requests: try again in ${period} seconds`,
    metadata: { retryAfter: String(period) },
  });
}
