/** Where objects are made, against a namespace that writes down what it is asked for. */
import { describe, expect, test } from "vitest";
import { type Bindings, taskDirectory, taskIndex } from "../../src/env.ts";

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
