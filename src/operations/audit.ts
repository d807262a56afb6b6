import { type AuditRecord, consoleAudit, loggedTaskId } from "../agent/audit.ts";
import type { Caller } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";
import { OPERATIONS, type OperationName } from "../protocol/operations.ts";
import type { TaskState } from "../protocol/task.ts";
import type { Ports } from "./ports.ts";

/** What became known of a call on its way. */
export interface Seen {
  /** With the tenant, once it is certain. */
  caller: Caller;
  /** Id of the task. */
  task?: string | undefined;
  state?: TaskState | undefined;
}

/** Does the work, and leaves a record of it when the operation changes state, however it ends. */
export async function audited<T>(
  operation: OperationName,
  seen: Seen,
  ports: Ports,
  work: () => Promise<T>,
): Promise<T> {
  const { kind } = OPERATIONS[operation];
  if (kind !== "send" && kind !== "change") return work();
  try {
    const value = await work();
    await leave(operation, seen, "OK", ports);
    return value;
  } catch (error) {
    const known = A2AError.is(error);
    // An id that was refused may be no task at all; only what the refusal itself says is one.
    const task = known ? error.metadata.taskId : undefined;
    await leave(operation, { caller: seen.caller, task }, known ? error.reason : "INTERNAL", ports);
    throw error;
  }
}

async function leave(
  operation: OperationName,
  { caller, task, state }: Seen,
  outcome: AuditRecord["outcome"],
  { agent, env }: Ports,
): Promise<void> {
  const { scheme, issuer, principal, tenant, requestId, traceId } = caller;
  const { audit = consoleAudit, auth } = agent.definition;
  const record: AuditRecord = {
    time: new Date().toISOString(),
    agent: agent.id,
    tenant,
    scheme,
    ...(issuer !== undefined && { issuer }),
    principal,
    operation,
    ...(task !== undefined && { task: loggedTaskId(task, auth.listsTasks) }),
    ...(state !== undefined && { state }),
    outcome,
    requestId,
    ...(traceId !== undefined && { traceId }),
  };
  try {
    await Promise.resolve(audit(record, env));
  } catch (error) {
    console.error(`request ${requestId}: the audit sink threw`, error);
  }
}
