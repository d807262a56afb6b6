import { describe, expect, test } from "vitest";
import {
  agentFaults,
  configFaults,
  secretFaults,
  secretNotes,
  type WorkerConfig,
} from "../../src/cli/deploy-checks.ts";
import type { AgentNeeds } from "../../src/needs.ts";

const TODAY = "2026-12-01";
/** Newest compatibility date of the runtime. */
const NEWEST = "2026-11-09";
const good: WorkerConfig = {
  name: "shop",
  main: "/shop/src/index.ts",
  compatibility_date: "2026-11-02",
  compatibility_flags: ["queue_consumer_no_wait_for_wait_until"],
  durable_objects: {
    bindings: [
      { name: "TASK_OBJECT", class_name: "TaskObject" },
      { name: "TASK_INDEX", class_name: "TaskIndex" },
    ],
  },
  migrations: [{ new_sqlite_classes: ["TaskObject"] }, { new_sqlite_classes: ["TaskIndex"] }],
  queues: {
    producers: [
      { binding: "PUSH_QUEUE", queue: "a" },
      { binding: "PUSH_SLOW_QUEUE", queue: "b" },
    ],
    consumers: [
      { queue: "a", dead_letter_queue: "dead" },
      { queue: "b", dead_letter_queue: "dead" },
      { queue: "dead" },
    ],
  },
};
const shop: AgentNeeds = {
  id: "shop",
  open: false,
  push: false,
  loopback: false,
  secrets: [],
  rateLimits: [],
};
const pushing: AgentNeeds = { ...shop, push: true };
const [objects, index] = good.durable_objects?.bindings ?? [];

test("a whole configuration has no fault, with an agent that has everything", () => {
  expect(configFaults(good, TODAY, NEWEST)).toEqual([]);
  expect(agentFaults(good, [pushing], false)).toEqual([]);
});

describe("a fault says what to do", () => {
  test.each<[string, Partial<WorkerConfig>, RegExp]>([
    ["no name", { name: undefined }, /no name\. Add: "name"/],
    ["no entry", { main: undefined }, /no entry\. Add: "main"/],
    ["no date", { compatibility_date: undefined }, /Add: "compatibility_date": "2026-11-09"/],
    [
      "a date to come",
      { compatibility_date: "2026-12-02" },
      /2026-12-02 is in the future\. Take .*"2026-11-09"/,
    ],
    ["an old date", { compatibility_date: "2024-04-02" }, /too old.*from 2024-04-03 on\. Take/],
    [
      "no objects",
      { durable_objects: { bindings: [] } },
      /TASK_OBJECT is missing[\s\S]*TASK_INDEX is missing/,
    ],
    [
      "no index",
      { durable_objects: { bindings: objects ? [objects] : [] } },
      /TASK_INDEX is missing.*"class_name": "TaskIndex"/,
    ],
    ["no migration", { migrations: [] }, /No migration makes the class TaskObject.*new_sqlite_classes/],
    [
      "objects without SQLite",
      { migrations: [{ new_classes: ["TaskObject"], new_sqlite_classes: ["TaskIndex"] }] },
      /TaskObject is in "new_classes", and needs SQLite/,
    ],
    ["nobody can reach it", { workers_dev: false }, /Nobody can reach the Worker/],
    [
      "a public URL over http",
      { vars: { PUBLIC_URL: "http://a.example.com" } },
      /must be the https URL/,
    ],
    [
      "a public URL that is local",
      { vars: { PUBLIC_URL: "https://localhost" } },
      /must be the https URL/,
    ],
    ["a jurisdiction that is none", { vars: { JURISDICTION: "mars" } }, /JURISDICTION is one of eu, /],
    [
      "a hint that is none",
      { vars: { LOCATION_HINT: "eu" } },
      /LOCATION_HINT is one of .*weur.*, not eu/,
    ],
    ["a public URL that is none", { vars: { PUBLIC_URL: "a.example.com" } }, /not a\.example\.com/],
  ])("%s", (_, changes, words) => {
    expect(configFaults({ ...good, ...changes }, TODAY, NEWEST).join("\n")).toMatch(words);
  });

  test.each<[string, Partial<WorkerConfig>]>([
    ["of today", { compatibility_date: TODAY }],
    ["the oldest", { compatibility_date: "2024-04-03" }],
    ["on a route only", { workers_dev: false, routes: ["agents.example.com/*"] }],
    ["with a place", { vars: { JURISDICTION: "eu", LOCATION_HINT: "weur" } }],
    ["with a public URL", { vars: { PUBLIC_URL: "https://agents.example.com/a" } }],
    [
      "with the objects of another Worker",
      {
        migrations: [],
        durable_objects: {
          bindings: [objects, index].map((each) => ({
            name: each?.name ?? "",
            class_name: "X",
            script_name: "other",
          })),
        },
      },
    ],
  ])("none: %s", (_, changes) => {
    expect(configFaults({ ...good, ...changes }, TODAY, NEWEST)).toEqual([]);
  });

  test("several at once are all said", () => {
    const faults = configFaults({ workers_dev: false }, TODAY, NEWEST);
    expect(faults).toHaveLength(6);
  });
});

describe("what agents need", () => {
  const open = { ...shop, open: true };

  test("anyone may call only when that is said", () => {
    expect(agentFaults(good, [open], false).join()).toMatch(/Anyone may call shop.*--anyone/);
    expect(agentFaults(good, [open], true)).toEqual([]);
  });

  test("webhooks need two queues, their consumers, and dead letters that somebody reads", () => {
    const bare = { ...good, queues: {}, compatibility_flags: [] };
    expect(agentFaults(bare, [open], true)).toEqual([]);
    const faults = agentFaults(bare, [pushing], false);
    expect(faults).toHaveLength(5);
    expect(faults[0]).toMatch(
      /"binding": "PUSH_QUEUE", "queue": "shop-push".*queues create shop-push$/,
    );
    expect(faults[1]).toMatch(/Nobody consumes the queue shop-push\./);
    expect(faults[2]).toMatch(/"PUSH_SLOW_QUEUE", "queue": "shop-push-slow"/);
    expect(faults[4]).toMatch(/"compatibility_flags": "queue_consumer_no_wait/);
    const { producers, consumers = [] } = good.queues ?? {};
    const unread = { ...good, queues: { producers, consumers: consumers.slice(0, 2) } };
    expect(agentFaults(unread, [pushing], false).join()).toMatch(/dead-letter queue dead/);
    const lost = { ...good, queues: { producers, consumers: [{ queue: "a" }, { queue: "b" }] } };
    expect(agentFaults(lost, [pushing], false).join()).toMatch(
      /consumer of a has no dead-letter queue/,
    );
  });

  test("what is for development is refused", () => {
    const local = { ...pushing, loopback: true };
    expect(agentFaults(good, [local], false)).toEqual([
      "shop has push.loopback, which is for development. Take it out of its definition",
    ]);
  });

  test("a rate limit needs its binding", () => {
    const limited = { ...shop, rateLimits: ["SEND_RATE"] };
    expect(agentFaults(good, [limited, { ...limited, id: "other" }], false)).toEqual([
      expect.stringMatching(/binding SEND_RATE is missing.*"ratelimits": { "name": "SEND_RATE"/),
    ]);
    expect(agentFaults({ ...good, ratelimits: [{ name: "SEND_RATE" }] }, [limited], false)).toEqual([]);
  });

  test("a rate limit in its former place counts", () => {
    const limited = { ...shop, rateLimits: ["SEND_RATE"] };
    const unsafe = { bindings: [{ name: "SEND_RATE", type: "ratelimit" }] };
    expect(agentFaults({ ...good, unsafe }, [limited], false)).toEqual([]);
  });

  describe("secrets", () => {
    const keyed = { ...shop, secrets: ["API_KEYS", "CARD_KEY"] };
    const other = { ...shop, id: "other", secrets: ["API_KEYS"] };
    const environment = undefined;

    test("that are not set are faults where that is known", () => {
      const set = ["CARD_KEY"];
      expect(secretFaults(good, [keyed, other], { set, environment })).toEqual([
        "The secret API_KEYS is not set. Set it: npx wrangler secret put API_KEYS",
      ]);
      expect(secretFaults(good, [keyed], { set, environment: "staging" }).join()).toMatch(
        /secret put API_KEYS --env staging$/,
      );
    });

    test("are said where it is not known, and no faults", () => {
      const secrets = { set: undefined, environment };
      expect(secretFaults(good, [keyed], secrets)).toEqual([]);
      expect(secretNotes(good, [keyed, other], secrets)).toEqual([
        expect.stringMatching(/^Needs the secret API_KEYS: npx wrangler secret put API_KEYS/),
        expect.stringMatching(/^Needs the secret CARD_KEY/),
      ]);
    });

    test("that are set, or plain variables, are passed over", () => {
      const set = ["API_KEYS"];
      const config = { ...good, vars: { CARD_KEY: "{}" } };
      expect(secretFaults(config, [keyed], { set, environment })).toEqual([]);
      expect(secretNotes(config, [keyed], { set, environment })).toEqual([]);
    });

    test("for signing webhooks may be missing, and that is said", () => {
      const without = { set: [], environment };
      expect(secretFaults(good, [pushing], without)).toEqual([]);
      expect(secretNotes(good, [pushing], without)).toEqual([
        expect.stringMatching(/not signed.*PUSH_SIGNING_KEY/),
      ]);
      expect(secretNotes(good, [pushing], { set: ["PUSH_SIGNING_KEY"], environment })).toEqual([]);
    });
  });
});
