/** What must hold before an agent is deployed: pure rules, each fault with what to do about it. */

/** The part of wrangler's normalized configuration that is looked at. */
export interface WorkerConfig {
  name?: string | undefined;
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
}

/** What the Worker says of its agents. */
export interface AgentFacts {
  id: string;
  /** Anyone may call. */
  open: boolean;
  push: boolean;
}

/** The library calls methods of objects, which Workers of an older date cannot. */
const OLDEST_DATE = "2024-04-03";
const OBJECTS = { TASK_OBJECT: "TaskObject", TASK_INDEX: "TaskIndex" } as const;
const QUEUES = ["PUSH_QUEUE", "PUSH_SLOW_QUEUE"] as const;
/** Lets the queue go on while a slow webhook has its time. */
const QUEUE_FLAG = "queue_consumer_no_wait_for_wait_until";

/** The faults of a configuration, whatever its agents are. `today` is an ISO date. */
export function configFaults(config: WorkerConfig, today: string): string[] {
  return [
    ...nameFaults(config),
    ...dateFaults(config.compatibility_date, today),
    ...objectFaults(config),
    ...urlFaults(config),
  ];
}

/** The faults that only agents like these make. `anyone`: it was said that anyone may call. */
export function agentFaults(
  config: WorkerConfig,
  agents: readonly AgentFacts[],
  anyone: boolean,
): string[] {
  const open = agents.filter((agent) => agent.open).map(({ id }) => id);
  return [
    ...(open.length > 0 && !anyone
      ? [
          `Anyone may call ${open.join(", ")}, and cause what it costs. Give it other \`auth\`, or say that it is meant: --anyone`,
        ]
      : []),
    ...(agents.some(({ push }) => push) ? queueFaults(config) : []),
  ];
}

function nameFaults({ name }: WorkerConfig): string[] {
  return name ? [] : ['The Worker has no name. Add: "name": "my-agent"'];
}

function dateFaults(date: string | undefined, today: string): string[] {
  if (!date) return [`There is no compatibility date. Add: "compatibility_date": "${today}"`];
  if (date > today) {
    return [`The compatibility date ${date} is in the future. Take one up to today: "${today}"`];
  }
  if (date < OLDEST_DATE) {
    return [
      `The compatibility date ${date} is too old: methods of objects can be called from ${OLDEST_DATE} on`,
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
