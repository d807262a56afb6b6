/** The bindings a Worker needs, and what reaches the objects through them. */
import type { IndexPort, RateLimiter, TaskDirectory, TaskPort } from "./operations/ports.ts";
import type { Job } from "./push/job.ts";

export interface Bindings {
  TASK_OBJECT: DurableObjectNamespace;
  TASK_INDEX: DurableObjectNamespace;
  /** Where clients reach the Worker, such as `https://agents.example.com`; the URL of the request when unset. */
  PUBLIC_URL?: string;
  /** Jobs for webhooks, and those for webhooks whose last attempt timed out; needed by agents with `push`. */
  PUSH_QUEUE?: Queue<Job>;
  PUSH_SLOW_QUEUE?: Queue<Job>;
  /** Signs what goes to webhooks: a private JWK on P-256, or a JWK set whose first key is one. */
  PUSH_SIGNING_KEY?: string;
  /** Version of the deployment; dates the agent card. */
  CF_VERSION_METADATA?: { timestamp: string };
}

const NEEDED = { TASK_OBJECT: "TaskObject", TASK_INDEX: "TaskIndex" } as const;

const checked = new WeakSet<object>();

/** The environment as bindings; throws with what to add to the configuration when something is missing. */
export function checkBindings(env: unknown): Bindings {
  const bindings = env as Bindings;
  if (checked.has(bindings)) return bindings;
  const missing = Object.entries(NEEDED).filter(([name]) => !(name in bindings));
  if (missing.length > 0) {
    const classes = missing.map(([, className]) => `"${className}"`).join(", ");
    throw new Error(
      `Missing Durable Object bindings. Add to wrangler.toml:\n${missing
        .map(
          ([name, className]) =>
            `[[durable_objects.bindings]]\nname = "${name}"\nclass_name = "${className}"\n`,
        )
        .join(
          "",
        )}[[migrations]]\ntag = "v1"\nnew_sqlite_classes = [${classes}]\nand export the classes: export const { TaskObject, TaskIndex } = durableObjects(agent);`,
    );
  }
  if (bindings.PUBLIC_URL && !/^https?:\/\/[^/?#]+(\/[^?#]*)?$/.test(bindings.PUBLIC_URL)) {
    throw new Error(
      `PUBLIC_URL must be an absolute http(s) URL without query, such as https://agents.example.com`,
    );
  }
  checked.add(bindings);
  return bindings;
}

/**
 * Refuses to serve an agent whose webhooks could not be called, or which would call loopback hosts for everybody; with
 * what to change. `urlOf` gives where clients reach the Worker.
 */
export function checkPush(
  bindings: Bindings,
  { id, push }: { id: string; push: { loopback: boolean } | undefined },
  urlOf: () => string,
): void {
  if (!push) return;
  // Parsing a URL costs; a Worker in production has no such switch.
  const url = push.loopback ? urlOf() : "";
  if (url.startsWith("https:")) {
    throw new Error(
      `Agent "${id}" has push.loopback, which is for development, and is reached at ${url}. Take it out of its definition.`,
    );
  }
  for (const slow of [false, true]) pushQueue(bindings, slow);
}

/** A line for each secret that callers of the agent cannot get in without, and that is not set. */
export function missingSecrets(
  bindings: Bindings,
  { id, definition }: { id: string; definition: { auth: { secrets?: readonly string[] } } },
): string[] {
  const { secrets = [] } = definition.auth;
  return secrets
    .filter((name) => !(bindings as unknown as Record<string, unknown>)[name])
    .map(
      (name) =>
        `Missing secret ${name}: nobody gets in to agent "${id}". Add it to .dev.vars beside the configuration, and to the deployed Worker with: npx wrangler secret put ${name}`,
    );
}

/** The queue of jobs for webhooks; throws with what to add to the configuration when there is none. */
export function pushQueue(bindings: Bindings, slow: boolean): Queue<Job> {
  const queue = slow ? bindings.PUSH_SLOW_QUEUE : bindings.PUSH_QUEUE;
  if (queue) return queue;
  throw new Error(`Missing queue bindings for push notifications. Add to wrangler.toml:
${queueConfiguration("PUSH_QUEUE", "push")}${queueConfiguration("PUSH_SLOW_QUEUE", "push-slow")}
[[queues.consumers]]
queue = "push-dead"
and create the queues: npx wrangler queues create push (and push-slow, push-dead)`);
}

function queueConfiguration(binding: string, queue: string): string {
  return `
[[queues.producers]]
binding = "${binding}"
queue = "${queue}"

[[queues.consumers]]
queue = "${queue}"
max_batch_size = 5
max_batch_timeout = 0
dead_letter_queue = "push-dead"
`;
}

/** The task objects. A stub that threw stays broken, so each use gets a new one. */
export function taskDirectory({ TASK_OBJECT }: Bindings): TaskDirectory {
  // The namespace is typed by what a Worker binds; which class that is, `durableObjects` decides.
  const port = (id: DurableObjectId) => TASK_OBJECT.get(id) as unknown as TaskPort;
  return {
    create(name) {
      const id = name === undefined ? TASK_OBJECT.newUniqueId() : TASK_OBJECT.idFromName(name);
      return { id: id.toString(), task: port(id) };
    },
    find(text) {
      try {
        const id = TASK_OBJECT.idFromString(text);
        // Upper case parses too, but is another text: one id, one task.
        return id.toString() === text ? port(id) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** The index of an owner's tasks. */
export function taskIndex({ TASK_INDEX }: Bindings, owner: string): IndexPort {
  return TASK_INDEX.getByName(owner) as unknown as IndexPort;
}

/** The rate-limit binding of that name. Without it nobody is served: a limit that is not there limits nothing. */
export function rateLimiter(bindings: Bindings, name: string): RateLimiter {
  const binding = (bindings as unknown as Record<string, RateLimiter | undefined>)[name];
  if (typeof binding?.limit === "function") return binding;
  throw new Error(
    `Missing rate-limit binding. Add to wrangler.toml:\n[[ratelimits]]\nname = "${name}"\nnamespace_id = "1001"\nsimple = { limit = 100, period = 60 }`,
  );
}
