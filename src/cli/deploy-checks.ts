/** What must hold before an agent is deployed: pure rules, each fault with what to do about it. */
import type { AgentNeeds } from "../needs.ts";

/** The part of wrangler's normalized configuration that is looked at. */
export interface WorkerConfig {
  name?: string | undefined;
  /** Absolute path of its entry. */
  main?: string | undefined;
  compatibility_date?: string | undefined;
  compatibility_flags?: string[] | undefined;
  workers_dev?: boolean | undefined;
  routes?: unknown[] | undefined;
  route?: unknown;
  vars?: Record<string, unknown> | undefined;
  durable_objects?: {
    bindings: { name: string; class_name: string; script_name?: string | undefined }[];
  };
  migrations?: { new_classes?: string[] | undefined; new_sqlite_classes?: string[] | undefined }[];
  queues?: {
    producers?: { binding: string; queue?: string | undefined }[] | undefined;
    consumers?:
      | { queue: string; max_batch_size?: number | undefined; dead_letter_queue?: string | undefined }[]
      | undefined;
  };
  ratelimits?: { name: string }[] | undefined;
  /** Rate limits were written here before they had a place of their own. */
  unsafe?: { bindings?: { name: string; type: string }[] | undefined } | undefined;
}

/** From here on Workers call methods of objects (the flag `rpc`), as all of the library does. */
const OLDEST_DATE = "2024-04-03";
const OBJECTS = { TASK_OBJECT: "TaskObject", TASK_INDEX: "TaskIndex" } as const;
const QUEUES = ["PUSH_QUEUE", "PUSH_SLOW_QUEUE"] as const;
const PLACES: Readonly<Record<string, readonly string[]>> = {
  JURISDICTION: ["eu", "us", "fedramp", "fedramp-high"],
  LOCATION_HINT: "wnam enam sam weur eeur apac apac-ne apac-se oc afr me".split(" "),
};
const SIGNING_KEY = "PUSH_SIGNING_KEY";
/** Lets the queue go on while a slow webhook has its time. */
const QUEUE_FLAG = "queue_consumer_no_wait_for_wait_until";

/**
 * The faults of a configuration, whatever its agents are. Dates are ISO dates; `newestDate` is the newest that the
 * project's own runtime has, and so the one to propose.
 */
export function configFaults(config: WorkerConfig, today: string, newestDate: string): string[] {
  return [
    ...entryFaults(config),
    ...dateFaults(config.compatibility_date, today, newestDate),
    ...objectFaults(config),
    ...urlFaults(config),
    ...placeFaults(config),
  ];
}

/** The faults that only agents like these make. `anyone`: it was said that anyone may call. */
export function agentFaults(
  config: WorkerConfig,
  agents: readonly AgentNeeds[],
  anyone: boolean,
): string[] {
  const named = (which: (agent: AgentNeeds) => boolean) =>
    agents
      .filter(which)
      .map(({ id }) => id)
      .join(", ");
  const open = named((agent) => agent.open);
  const loopback = named((agent) => agent.loopback);
  return [
    ...(open && !anyone
      ? [
          `Anyone may call ${open}, and cause what it costs. Give it other \`auth\`, or say that it is meant: --anyone`,
        ]
      : []),
    ...(loopback
      ? [`${loopback} has push.loopback, which is for development. Take it out of its definition`]
      : []),
    ...(agents.some(({ push }) => push) ? queueFaults(config) : []),
    ...rateLimitFaults(config, agents),
  ];
}

/** What is known of the secrets of a Worker. */
export interface Secrets {
  /** Names of those that are set; undefined where nobody knows. */
  set: readonly string[] | undefined;
  /** Of the configuration (`--env`). */
  environment: string | undefined;
}

/** Names of the secrets that nobody is served without; one that is a plain variable needs no setting. */
export function secretsOf({ vars = {} }: WorkerConfig, agents: readonly AgentNeeds[]): string[] {
  const names = new Set(agents.flatMap(({ secrets }) => secrets));
  return [...names].filter((name) => !vars[name]);
}

/** The secrets that agents need and that are known not to be set. */
export function secretFaults(
  config: WorkerConfig,
  agents: readonly AgentNeeds[],
  secrets: Secrets,
): string[] {
  return secretsOf(config, agents)
    .filter((name) => secrets.set && !secrets.set.includes(name))
    .map((name) => `The secret ${name} is not set. Set it: ${put(name, secrets)}`);
}

/** What is to be said of secrets when nothing stands against a deploy. */
export function secretNotes(
  config: WorkerConfig,
  agents: readonly AgentNeeds[],
  secrets: Secrets,
): string[] {
  const unknown = secrets.set ? [] : secretsOf(config, agents);
  const unsigned = agents.some(({ push }) => push) && !secrets.set?.includes(SIGNING_KEY);
  return [
    ...unknown.map(
      (name) => `Needs the secret ${name}: ${put(name, secrets)} (nobody is served without it)`,
    ),
    ...(unsigned
      ? [
          `Webhooks are not signed unless there is a secret ${SIGNING_KEY}: ${put(SIGNING_KEY, secrets)} (docs/webhooks-receiving.md)`,
        ]
      : []),
  ];
}

function put(name: string, { environment }: Secrets): string {
  return `npx wrangler secret put ${name}${environment === undefined ? "" : ` --env ${environment}`}`;
}

function entryFaults({ name, main }: WorkerConfig): string[] {
  return [
    ...(name ? [] : ['The Worker has no name. Add: "name": "my-agent"']),
    ...(main ? [] : ['The Worker has no entry. Add: "main": "src/index.ts"']),
  ];
}

function dateFaults(date: string | undefined, today: string, newest: string): string[] {
  const proposal = `"compatibility_date": "${newest < today ? newest : today}"`;
  if (!date) return [`There is no compatibility date. Add: ${proposal}`];
  if (date > today) return [`The compatibility date ${date} is in the future. Take ${proposal}`];
  if (date < OLDEST_DATE) {
    return [
      `The compatibility date ${date} is too old: methods of objects can be called from ${OLDEST_DATE} on. Take ${proposal}`,
    ];
  }
  return [];
}

function objectFaults({ durable_objects, migrations = [] }: WorkerConfig): string[] {
  const bindings = durable_objects?.bindings ?? [];
  const sqlite = migrations.flatMap(({ new_sqlite_classes = [] }) => new_sqlite_classes);
  const other = migrations.flatMap(({ new_classes = [] }) => new_classes);
  return Object.entries(OBJECTS).flatMap(([name, className]) => {
    const binding = bindings.find((each) => each.name === name);
    if (!binding) {
      return [
        `The binding ${name} is missing. Add to "durable_objects"."bindings": { "name": "${name}", "class_name": "${className}" }`,
      ];
    }
    // Of another Worker: its own configuration has the migration.
    if (binding.script_name) return [];
    const bound = binding.class_name;
    if (other.includes(bound)) {
      return [
        `The class ${bound} is in "new_classes", and needs SQLite. Put it into "new_sqlite_classes"`,
      ];
    }
    if (sqlite.includes(bound)) return [];
    return [
      `No migration makes the class ${bound}. Add to "migrations": { "tag": "v1", "new_sqlite_classes": ["${bound}"] }`,
    ];
  });
}

/** Agent cards name the URL that clients use. */
function urlFaults({ vars = {}, workers_dev, route, routes = [] }: WorkerConfig): string[] {
  const { PUBLIC_URL } = vars;
  if (PUBLIC_URL === undefined || PUBLIC_URL === "") {
    const reachable = workers_dev !== false || route !== undefined || routes.length > 0;
    return reachable
      ? []
      : ['Nobody can reach the Worker: "workers_dev" is off and there are no "routes". Add a route'];
  }
  const url = URL.parse(String(PUBLIC_URL));
  if (url?.protocol !== "https:" || /^(localhost|127\.|\[::1\])/.test(url.host)) {
    return [`PUBLIC_URL must be the https URL that clients use, not ${PUBLIC_URL}`];
  }
  return [];
}

/** A jurisdiction that Cloudflare does not have is an error for every caller. */
function placeFaults({ vars = {} }: WorkerConfig): string[] {
  return Object.entries(PLACES).flatMap(([name, known]) => {
    const place = vars[name];
    if (!place || known.includes(String(place))) return [];
    return [`${name} is one of ${known.join(", ")}, not ${String(place)}`];
  });
}

function rateLimitFaults(
  { ratelimits = [], unsafe }: WorkerConfig,
  agents: readonly AgentNeeds[],
): string[] {
  const there = [...ratelimits, ...(unsafe?.bindings ?? []).filter(({ type }) => type === "ratelimit")];
  return [...new Set(agents.flatMap(({ rateLimits }) => rateLimits))]
    .filter((binding) => !there.some(({ name }) => name === binding))
    .map(
      (name) =>
        `The rate-limit binding ${name} is missing, and nobody is served without it. Add to "ratelimits": { "name": "${name}", "namespace_id": "1001", "simple": { "limit": 100, "period": 60 } }`,
    );
}

function queueFaults({
  name = "my-agent",
  queues = {},
  compatibility_flags = [],
}: WorkerConfig): string[] {
  const { producers = [], consumers = [] } = queues;
  const dead = `${name}-push-dead`;
  const faults = QUEUES.flatMap((binding) => {
    const suffix = binding === "PUSH_QUEUE" ? "push" : "push-slow";
    const producer = producers.find((each) => each.binding === binding);
    const queue = producer?.queue ?? `${name}-${suffix}`;
    const consumer = consumers.find((each) => each.queue === queue);
    return [
      ...(producer
        ? []
        : [
            `The queue binding ${binding} is missing. Add to "queues"."producers": { "binding": "${binding}", "queue": "${queue}" }, and create it: npx wrangler queues create ${queue}`,
          ]),
      ...(consumer
        ? []
        : [
            `Nobody consumes the queue ${queue}. Add to "queues"."consumers": { "queue": "${queue}", "max_batch_size": 5, "max_batch_timeout": 0, "dead_letter_queue": "${dead}" }`,
          ]),
      ...(consumer && !consumer.dead_letter_queue
        ? [
            `The consumer of ${queue} has no dead-letter queue. Add to it: "dead_letter_queue": "${dead}", and create that: npx wrangler queues create ${dead}`,
          ]
        : []),
    ];
  });
  const letters = new Set(consumers.flatMap(({ dead_letter_queue }) => dead_letter_queue ?? []));
  for (const queue of letters) {
    if (consumers.some((each) => each.queue === queue)) continue;
    faults.push(
      `Nobody consumes the dead-letter queue ${queue}. Add to "queues"."consumers": { "queue": "${queue}" }`,
    );
  }
  if (!compatibility_flags.includes(QUEUE_FLAG)) {
    faults.push(
      `A slow webhook would hold up all others. Add to "compatibility_flags": "${QUEUE_FLAG}"`,
    );
  }
  return faults;
}
