import { describe, expect, test } from "vitest";
import { readRange } from "../../src/push/notifications.ts";
import type { TaskEvent } from "../../src/task/event.ts";
import { birth } from "../births.ts";

const IDS = { taskId: "t", contextId: "c" };

function stored(events: readonly TaskEvent[], first = 1) {
  return events.map((event, index) => ({ seq: first + index, event }));
}

function chunk(text: string, more: Partial<TaskEvent & { kind: "artifact" }> = {}): TaskEvent {
  const artifact = { artifactId: "a", parts: [{ text }], ...more.artifact };
  return { kind: "artifact", append: true, chunk: true, ...more, artifact };
}

const whole = (artifactId: string): TaskEvent => ({
  kind: "artifact",
  artifact: { artifactId, parts: [{ text: artifactId }] },
});
const done: TaskEvent = {
  kind: "status",
  status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-01-01T00:00:02.000Z" },
};
const quiet: TaskEvent = { kind: "turn-ended" };

function updates(events: readonly TaskEvent[], which: "all" | "status" = "all", to?: number) {
  const range = readRange(stored(events), IDS, which, to);
  return range?.responses.map(({ seq, response: { artifactUpdate, statusUpdate } }) => [
    seq,
    artifactUpdate?.artifact.parts.map(({ text }) => text) ?? statusUpdate?.status.state,
  ]);
}

describe("what a webhook is sent of a log", () => {
  test("is what a stream shows, each with its seq", () => {
    expect(updates([...birth("t"), whole("x"), quiet, done, quiet])).toEqual([
      [2, "TASK_STATE_WORKING"],
      [3, ["x"]],
      [5, "TASK_STATE_COMPLETED"],
    ]);
  });

  test("is nothing where there is nothing to see", () => {
    expect(readRange(stored([quiet, quiet]), IDS, "all")).toBeUndefined();
    expect(readRange([], IDS, "all")).toBeUndefined();
    expect(readRange(stored([whole("x")]), IDS, "status")).toBeUndefined();
  });

  test("is without artifacts where only statuses are wanted [W-22]", () => {
    expect(updates([whole("x"), chunk("1"), done], "status")).toEqual([[3, "TASK_STATE_COMPLETED"]]);
  });

  test("ends where the range ends, and begins to be bounded by itself", () => {
    const many = Array.from({ length: 150 }, (_, index) => whole(`x${index}`));
    expect(updates(many, "all", 3)).toHaveLength(3);
    expect(readRange(stored(many), IDS, "all")).toMatchObject({ to: 100, responses: { length: 100 } });
    expect(readRange(stored(many), IDS, "all", 150)?.responses).toHaveLength(150);
    const big = Array.from(
      { length: 5 },
      (_, index): TaskEvent => ({
        kind: "artifact",
        artifact: { artifactId: `b${index}`, parts: [{ text: "x".repeat(600_000) }] },
      }),
    );
    expect(readRange(stored(big), IDS, "all")?.to).toBe(2);
  });
});

describe("adjacent chunks of one artifact", () => {
  test("are one update, with the seq of the last [W-22]", () => {
    expect(
      updates([chunk("1", { append: false }), chunk("2"), chunk("3", { lastChunk: true }), done]),
    ).toEqual([
      [3, ["123"]],
      [4, "TASK_STATE_COMPLETED"],
    ]);
    const [merged] =
      readRange(stored([chunk("1", { append: false }), chunk("2", { lastChunk: true })]), IDS, "all")
        ?.responses ?? [];
    expect(merged?.response.artifactUpdate).toMatchObject({ lastChunk: true });
    expect(merged?.response.artifactUpdate?.append).toBeUndefined();
  });

  test("that the agent appended part by part keep their parts", () => {
    const part = (text: string): TaskEvent => ({
      kind: "artifact",
      append: true,
      artifact: { artifactId: "a", parts: [{ text }] },
    });
    expect(updates([part("1"), part("2")])).toEqual([[2, ["1", "2"]]]);
  });

  const apart: [why: string, events: TaskEvent[]][] = [
    ["of another artifact", [chunk("1"), whole("b"), chunk("2")]],
    ["a new beginning", [chunk("1"), chunk("2", { append: false })]],
    ["behind a last one", [chunk("1", { lastChunk: true }), chunk("2")]],
    ["with metadata of its own", [chunk("1"), chunk("2", { metadata: { a: 1 } })]],
    [
      "with another name",
      [chunk("1"), chunk("2", { artifact: { artifactId: "a", name: "b", parts: [] } })],
    ],
    ["longer than 256 Ki together", [chunk("1".repeat(200_000)), chunk("2".repeat(70_000))]],
    ["with a status between", [chunk("1"), done, chunk("2")]],
  ];
  test.each(apart)("stay apart: %s", (_, events) => {
    expect(updates(events)).toHaveLength(events.length);
  });

  test("of a range that was delivered in part are merged as before", () => {
    const events = [chunk("1"), chunk("2"), done, chunk("3"), chunk("4"), chunk("5")];
    const whole = readRange(stored(events), IDS, "all", 5);
    const rest = readRange(stored(events).slice(3), IDS, "all", 5);
    expect(rest?.responses).toEqual(whole?.responses.slice(2));
    expect(rest?.to).toBe(5);
  });
});
