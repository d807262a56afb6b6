import { describe, expect, test } from "vitest";
import { agentFaults, configFaults, type WorkerConfig } from "../../src/cli/deploy-checks.ts";

const TODAY = "2026-12-01";
const good: WorkerConfig = {
  name: "shop",
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
const [objects, index] = good.durable_objects?.bindings ?? [];

test("a whole configuration has no fault, with an agent that has everything", () => {
  expect(configFaults(good, TODAY)).toEqual([]);
  expect(agentFaults(good, [{ id: "shop", open: false, push: true }], false)).toEqual([]);
});

describe("a fault says what to do", () => {
  test.each<[string, Partial<WorkerConfig>, RegExp]>([
    ["no name", { name: undefined }, /no name\. Add: "name"/],
    ["no date", { compatibility_date: undefined }, /Add: "compatibility_date": "2026-12-01"/],
    ["a date to come", { compatibility_date: "2026-12-02" }, /2026-12-02 is in the future/],
    ["an old date", { compatibility_date: "2024-04-02" }, /too old.*from 2024-04-03 on/],
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
    ["a public URL that is none", { vars: { PUBLIC_URL: "a.example.com" } }, /not a\.example\.com/],
  ])("%s", (_, changes, words) => {
    expect(configFaults({ ...good, ...changes }, TODAY).join("\n")).toMatch(words);
  });

  test.each<[string, Partial<WorkerConfig>]>([
    ["of today", { compatibility_date: TODAY }],
    ["the oldest", { compatibility_date: "2024-04-03" }],
    ["on a route only", { workers_dev: false, routes: ["agents.example.com/*"] }],
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
    expect(configFaults({ ...good, ...changes }, TODAY)).toEqual([]);
  });

  test("several at once are all said", () => {
    const faults = configFaults({ workers_dev: false }, TODAY);
    expect(faults).toHaveLength(5);
  });
});

describe("what agents need", () => {
  const open = { id: "shop", open: true, push: false };
  const pushing = { id: "shop", open: false, push: true };

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
});
