/**
 * Delivers what the jobs of the queue announce. A job is only a hint: the object of the task says what is to be sent,
 * under a lease, and hears what came of it. A consumer that crashes is made up for by the object's alarm, whatever
 * became of its messages; so a job is done with as soon as it is under way, and a webhook that is slow to answer
 * holds up no other.
 */
import { refuseHeaders } from "./headers.ts";
import type { DeliveryPort, Failure, Job, Lease, Report } from "./job.ts";
import { type Fetch, post } from "./post.ts";
import { PRIVATE_ADDRESS, refuseWebhook, type WebhookRules } from "./resolve.ts";
import type { Signed } from "./sign.ts";
import { refuseTarget } from "./target.ts";

/** How long a batch waits for its deliveries before the next may begin. */
const PATIENCE_MS = 1_000;
/** No POST begins later than this after the lease was taken: with its own time limit it ends before the lease. */
const SENDING_MS = 15_000;

export interface ConsumerPorts {
  readonly tasks: { find(id: string): DeliveryPort | undefined };
  /** What the agent may call; undefined when it calls no webhooks. */
  rules(agentId: string): WebhookRules | undefined;
  /** The JWT that signs a notification; undefined when nothing is signed. */
  sign(what: Signed): Promise<string | undefined>;
  readonly fetch?: Fetch;
}

/** Handles a batch of jobs side by side. */
export async function consume(
  { messages }: Pick<MessageBatch<unknown>, "messages">,
  ports: ConsumerPorts,
  context: Pick<ExecutionContext, "waitUntil">,
): Promise<void> {
  const deliveries = Promise.all(
    messages.map(async ({ body }) => {
      try {
        if (isJob(body)) await deliver(body, ports);
        else console.error("push: a message of the queue is no job");
      } catch (error) {
        console.error("push: a delivery was cut off; the task drives it again", error);
      }
    }),
  );
  context.waitUntil(deliveries);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS);
  });
  await Promise.race([deliveries, patience]);
  if (timer) clearTimeout(timer);
}

async function deliver({ task, config }: Job, ports: ConsumerPorts): Promise<void> {
  const lease = await ports.tasks.find(task)?.lease(config);
  if (!lease) return;
  const report = await send(lease, ports);
  await ports.tasks.find(task)?.settle(config, lease.id, report);
}

/** Sends the notifications in order, up to the first that is not taken. */
async function send(lease: Lease, ports: ConsumerPorts): Promise<Report> {
  const { taskId, config, issuer } = lease;
  const end = Date.now() + SENDING_MS;
  const report: Report = {};
  const refused = await refuse(lease, ports);
  if (refused) return { failure: refused };
  for (const [index, notification] of lease.notifications.entries()) {
    if (index > 0 && (Date.now() > end || !(await holds(lease, ports)))) break;
    const signature = await ports.sign({ ...notification, issuer, url: config.url, task: taskId });
    const failure = await post(lease, notification, signature, ports.fetch);
    if (failure) return { ...report, failure };
    report.delivered = notification.seq;
  }
  return report;
}

/** The webhook may have been deleted meanwhile: nothing is sent after that. */
async function holds({ taskId, id, config }: Lease, { tasks }: ConsumerPorts): Promise<boolean> {
  return (await tasks.find(taskId)?.holds(config.id, id)) ?? false;
}

/** The list may have changed since the webhook was stored. */
async function refuse(
  { agentId, config }: Lease,
  { rules }: ConsumerPorts,
): Promise<Failure | undefined> {
  const allowed = rules(agentId);
  if (!allowed) return { verdict: "stop", error: "its agent has no push notifications any more" };
  const header = refuseHeaders(config);
  if (header) return { verdict: "stop", error: `its ${header.field} ${header.why}` };
  const why = await refuseWebhook(config.url, allowed);
  if (why === undefined) return undefined;
  const lasting = why === PRIVATE_ADDRESS || refuseTarget(config.url, allowed) !== undefined;
  return { verdict: lasting ? "stop" : "retry", error: `its URL ${why}` };
}

function isJob(body: unknown): body is Job {
  const { task, config } = (body ?? {}) as Partial<Job>;
  return typeof task === "string" && typeof config === "string";
}
