import { describe, expect, test } from "vitest";
import { type Bindings, checkBindings, checkPush, missingNeeds } from "../../src/env.ts";

const objects = { TASK_OBJECT: {}, TASK_INDEX: {} };
const queues = { PUSH_QUEUE: {}, PUSH_SLOW_QUEUE: {} };
const url = () => "https://agents.example.com";

function pushOf(env: object, push: { loopback: boolean } | undefined, urlOf = url) {
  checkPush(checkBindings({ ...objects, ...env }), { id: "a", push }, urlOf);
}

/** What the text says to add to the configuration: from its second line to one that begins with "and". */
function added(text: string): unknown {
  const [json] = text.slice(text.indexOf("\n")).split("\nand ");
  return JSON.parse(`{${json}}`);
}

/** What the error that is thrown says to add. */
function addedBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return added((error as Error).message);
  }
  throw new Error("nothing was thrown");
}

describe("what is missing is named, with what to add", () => {
  test("the binding of a class, and its migration", () => {
    expect(() => checkBindings({})).toThrow(
      /^Missing Durable Object bindings\. Add to wrangler\.jsonc:\n/,
    );
    expect(addedBy(() => checkBindings({ TASK_OBJECT: {} }))).toEqual({
      durable_objects: { bindings: [{ name: "TASK_INDEX", class_name: "TaskIndex" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["TaskIndex"] }],
    });
  });

  test("a PUBLIC_URL that is none", () => {
    expect(() => checkBindings({ ...objects, PUBLIC_URL: "agents.example.com" })).toThrow(
      "PUBLIC_URL must be",
    );
  });

  test.each([{}, { PUSH_QUEUE: {} }])("the queues of an agent with webhooks: %j", (env) => {
    const work = () => pushOf(env, { loopback: false });
    expect(work).toThrow("npx wrangler queues create");
    expect(addedBy(work)).toMatchObject({
      queues: {
        producers: [{ binding: "PUSH_QUEUE" }, { binding: "PUSH_SLOW_QUEUE" }],
        consumers: [{ queue: "push" }, { queue: "push-slow" }, { queue: "push-dead" }],
      },
    });
  });

  test("secrets of callers, and rate limits", () => {
    const agent = {
      id: "shop",
      push: undefined,
      rateLimit: { send: { binding: "SEND_RATE" } },
      definition: { auth: { requirements: [{}], secrets: ["API_KEYS"] } },
    };
    const [secret, limit = "", ...more] = missingNeeds(objects as unknown as Bindings, agent);
    expect(secret).toMatch(/^Missing secret API_KEYS: nobody gets in to agent "shop"\. .*\.dev\.vars/);
    expect(added(limit)).toMatchObject({ ratelimits: [{ name: "SEND_RATE" }] });
    expect(more).toEqual([]);
    const there = { ...objects, API_KEYS: "{}", SEND_RATE: {} } as unknown as Bindings;
    expect(missingNeeds(there, agent)).toEqual([]);
  });

  test("an agent without webhooks needs no queues", () => {
    expect(() => pushOf({}, undefined)).not.toThrow();
    expect(() => pushOf(queues, { loopback: false })).not.toThrow();
  });
});

describe("push.loopback", () => {
  test("is refused where clients come by https", () => {
    expect(() => pushOf(queues, { loopback: true })).toThrow(
      /"a" has push\.loopback.*https:\/\/agents/,
    );
    expect(() => pushOf(queues, { loopback: true }, () => "http://127.0.0.1:8787")).not.toThrow();
  });
});
