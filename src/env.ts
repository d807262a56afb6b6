/** The bindings a Worker needs, and what reaches the objects through them. */
import { type NeedyAgent, rateLimitsOf } from "./needs.ts";
import type { IndexPort, RateLimiter, TaskDirectory, TaskPort } from "./operations/ports.ts";
import type { Job } from "./push/job.ts";

export interface Bindings {
  TASK_OBJECT: DurableObjectNamespace;
  TASK_INDEX: DurableObjectNamespace;
  /** Where clients reach the Worker, such as `https://agents.example.com`; the URL of the request when unset. */
  PUBLIC_URL?: string;
  /** Where the data of tasks stays, whoever calls from where. Set before the first task; not on this machine. */
  JURISDICTION?: DurableObjectJurisdiction;
  /** Near where new objects are made. Default: near who calls first. */
  LOCATION_HINT?: DurableObjectLocationHint;
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
    const objects = missing.map(
      ([name, className]) => `{ "name": "${name}", "class_name": "${className}" }`,
    );
    throw new Error(
      `Missing Durable Object bindings. Add to wrangler.jsonc:
"durable_objects": { "bindings": [${objects.join(", ")}] },
"migrations": [{ "tag": "v1", "new_sqlite_classes": [${classes}] }]
and export the classes: export const { TaskObject, TaskIndex } = durableObjects(agent);`,
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

/** A line for each secret and rate-limit binding that nobody is served without, and that is not there. */
export function missingNeeds(bindings: Bindings, agent: NeedyAgent): string[] {
  const { id, definition } = agent;
  const { secrets = [] } = definition.auth;
  const isMissing = (name: string) => !(bindings as unknown as Record<string, unknown>)[name];
  return [
    ...secrets
      .filter(isMissing)
      .map(
        (name) =>
          `Missing secret ${name}: nobody gets in to agent "${id}". Add it to .dev.vars beside the configuration, and to the deployed Worker with: npx wrangler secret put ${name}`,
      ),
    ...rateLimitsOf(agent).filter(isMissing).map(missingLimit),
  ];
}

function missingLimit(name: string): string {
  return `Missing rate-limit binding ${name}: nobody is served. Add to wrangler.jsonc:
"ratelimits": [{ "name": "${name}", "namespace_id": "1001", "simple": { "limit": 100, "period": 60 } }]`;
}

/** The queue of jobs for webhooks; throws with what to add to the configuration when there is none. */
export function pushQueue(bindings: Bindings, slow: boolean): Queue<Job> {
  const queue = slow ? bindings.PUSH_SLOW_QUEUE : bindings.PUSH_QUEUE;
  if (queue) return queue;
  throw new Error(`Missing queue bindings for push notifications. Add to wrangler.jsonc:
"queues": {
  "producers": [
    { "binding": "PUSH_QUEUE", "queue": "push" },
    { "binding": "PUSH_SLOW_QUEUE", "queue": "push-slow" }
  ],
  "consumers": [
    { "queue": "push", "max_batch_size": 5, "max_batch_timeout": 0, "dead_letter_queue": "push-dead" },
    { "queue": "push-slow", "max_batch_size": 5, "max_batch_timeout": 0, "dead_letter_queue": "push-dead" },
    { "queue": "push-dead" }
  ]
}
and create the queues: npx wrangler queues create push (and push-slow, push-dead)`);
}

/** The task objects. A stub that threw stays broken, so each use gets a new one. */
export function taskDirectory(bindings: Bindings): TaskDirectory {
  const { TASK_OBJECT } = bindings;
  // The namespace is typed by what a Worker binds; which class that is, `durableObjects` decides.
  const port = (stub: DurableObjectStub) => stub as unknown as TaskPort;
  return {
    create(name) {
      const namespace = within(TASK_OBJECT, bindings);
      const id = name === undefined ? namespace.newUniqueId() : namespace.idFromName(name);
      return { id: id.toString(), task: port(namespace.get(id, near(bindings))) };
    },
    find(text) {
      try {
        // A namespace of no jurisdiction finds the objects of all, those included that are older than the setting.
        const id = TASK_OBJECT.idFromString(text);
        // Upper case parses too, but is another text: one id, one task.
        return id.toString() === text ? port(TASK_OBJECT.get(id)) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** The index of an owner's tasks. */
export function taskIndex(bindings: Bindings, owner: string): IndexPort {
  const namespace = within(bindings.TASK_INDEX, bindings);
  return namespace.getByName(owner, near(bindings)) as unknown as IndexPort;
}

/** Throws when the platform does not have the jurisdiction, as on this machine: data goes nowhere else instead. */
function within(namespace: DurableObjectNamespace, { JURISDICTION }: Bindings): DurableObjectNamespace {
  return JURISDICTION ? namespace.jurisdiction(JURISDICTION) : namespace;
}

function near({ LOCATION_HINT }: Bindings): DurableObjectNamespaceGetDurableObjectOptions | undefined {
  return LOCATION_HINT ? { locationHint: LOCATION_HINT } : undefined;
}

/** The rate-limit binding of that name. Without it nobody is served: a limit that is not there limits nothing. */
export function rateLimiter(bindings: Bindings, name: string): RateLimiter {
  const binding = (bindings as unknown as Record<string, RateLimiter | undefined>)[name];
  if (typeof binding?.limit === "function") return binding;
  throw new Error(missingLimit(name));
}
