/** What is said of bindings that are missing; and where objects are made, against a namespace that writes down what it is asked for. */
import { describe, expect, test } from "vitest";
import {
  type Bindings,
  checkBindings,
  missingNeeds,
  pushQueue,
  taskDirectory,
  taskIndex,
} from "../../src/env.ts";

const ID = "f00d";

/** What was asked: the jurisdiction, the call and the hint. */
type Asked = [jurisdiction: string, call: string, hint: string | undefined];

function recorded(vars: Partial<Bindings>): { bindings: Bindings; asked: Asked[] } {
  const asked: Asked[] = [];
  const namespace = (jurisdiction: string): unknown => {
    const note = (call: string, hint?: string) => asked.push([jurisdiction, call, hint]);
    const made = (call: string) => {
      note(call);
      return { toString: () => ID };
    };
    return {
      jurisdiction: namespace,
      newUniqueId: () => made("newUniqueId"),
      idFromName: () => made("idFromName"),
      idFromString: () => made("idFromString"),
      get: (_: unknown, options?: { locationHint: string }) => note("get", options?.locationHint),
      getByName: (_: string, options?: { locationHint: string }) =>
        note("getByName", options?.locationHint),
    };
  };
  const bindings = { TASK_OBJECT: namespace(""), TASK_INDEX: namespace(""), ...vars } as Bindings;
  return { bindings, asked };
}

describe("what is missing is said with what to add", () => {
  /** The JSON that a message has after its first line, up to a line that begins with "and". */
  const added = (text: string) =>
    JSON.parse(`{${text.split("\n").slice(1).join("\n").split("\nand ")[0]}}`);

  test("the binding of a class, and its migration", () => {
    const { bindings } = recorded({});
    expect(() => checkBindings(bindings)).not.toThrow();
    const { TASK_INDEX: _, ...rest } = bindings;
    const { message } = thrown(() => checkBindings(rest));
    expect(message).toMatch(/^Missing Durable Object bindings\. Add to wrangler\.jsonc:\n/);
    expect(added(message)).toEqual({
      durable_objects: { bindings: [{ name: "TASK_INDEX", class_name: "TaskIndex" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["TaskIndex"] }],
    });
  });

  test("the queues of webhooks", () => {
    const { message } = thrown(() => pushQueue(recorded({}).bindings, false));
    expect(added(message).queues.producers).toHaveLength(2);
    expect(added(message).queues.consumers).toHaveLength(3);
  });

  test("secrets of callers, and rate limits", () => {
    const agent = {
      id: "shop",
      push: undefined,
      rateLimit: { send: { binding: "SEND_RATE" } },
      definition: { auth: { requirements: [{}], secrets: ["API_KEYS"] } },
    };
    const { bindings } = recorded({});
    const [secret, limit = "", ...more] = missingNeeds(bindings, agent);
    expect(secret).toMatch(/^Missing secret API_KEYS: nobody gets in to agent "shop"\. .*\.dev\.vars/);
    expect(added(limit)).toMatchObject({ ratelimits: [{ name: "SEND_RATE" }] });
    expect(more).toEqual([]);
    const there = { ...bindings, API_KEYS: "{}", SEND_RATE: {} } as Bindings;
    expect(missingNeeds(there, agent)).toEqual([]);
  });
});

describe("objects are made", () => {
  test("anywhere, when nothing is said", () => {
    const { bindings, asked } = recorded({});
    taskDirectory(bindings).create();
    taskIndex(bindings, "alice");
    expect(asked).toEqual([
      ["", "newUniqueId", undefined],
      ["", "get", undefined],
      ["", "getByName", undefined],
    ]);
  });

  test("in the jurisdiction: new tasks, those with an Idempotency-Key, and lists", () => {
    const { bindings, asked } = recorded({ JURISDICTION: "eu" });
    taskDirectory(bindings).create();
    taskDirectory(bindings).create("a key");
    taskIndex(bindings, "alice");
    expect(asked.map(([place, call]) => `${place} ${call}`)).toEqual([
      "eu newUniqueId",
      "eu get",
      "eu idFromName",
      "eu get",
      "eu getByName",
    ]);
  });

  test("near the hint", () => {
    const { bindings, asked } = recorded({ LOCATION_HINT: "weur" });
    taskDirectory(bindings).create();
    taskIndex(bindings, "alice");
    expect(asked.filter(([, call]) => call.startsWith("get"))).toEqual([
      ["", "get", "weur"],
      ["", "getByName", "weur"],
    ]);
  });
});

test("a task is found whatever its jurisdiction, and where it is", () => {
  const { bindings, asked } = recorded({ JURISDICTION: "eu", LOCATION_HINT: "weur" });
  taskDirectory(bindings).find(ID);
  expect(asked).toEqual([
    ["", "idFromString", undefined],
    ["", "get", undefined],
  ]);
});

function thrown(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
