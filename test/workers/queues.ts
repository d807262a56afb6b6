/** The queues of webhooks as tests have them: jobs are kept until a test is their consumer. */
import type { Job } from "../../src/push/job.ts";

interface SentJob {
  queue: "push" | "slow";
  job: Job;
}

let waiting: SentJob[] = [];
let failure: Error | undefined;
let sent = 0;

export const queues = {
  /** Takes the jobs that wait. */
  take(): SentJob[] {
    const taken = waiting;
    waiting = [];
    return taken;
  },
  /** How many were sent so far. */
  get sent(): number {
    return sent;
  },
  /** What the queues throw instead of taking jobs. */
  fail(error: Error | undefined): void {
    failure = error;
  },
};

type ObjectClass = new (ctx: DurableObjectState, env: never) => object;

/** The class, with these queues in the place of its bindings. */
export function queued<C extends ObjectClass>(Class: C): C {
  return class extends (Class as ObjectClass) {
    constructor(ctx: DurableObjectState, env: never) {
      const bindings = { PUSH_QUEUE: queue("push"), PUSH_SLOW_QUEUE: queue("slow") };
      super(ctx, Object.assign(Object.create(env), bindings) as never);
    }
  } as ObjectClass as C;
}

function queue(name: SentJob["queue"]): Pick<Queue<Job>, "sendBatch"> {
  return {
    async sendBatch(messages) {
      if (failure) throw failure;
      for (const { body } of messages) {
        waiting.push({ queue: name, job: body });
        sent += 1;
      }
      return { metadata: { metrics: {} } } as never;
    },
  };
}
