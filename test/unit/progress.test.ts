import { describe, expect, test } from "vitest";
import type { DurableCall, TaskEvent } from "../../src/task/event.ts";
import { BEGUN, isParked, progress, type TurnProgress } from "../../src/task/progress.ts";

const nap: DurableCall = { kind: "sleep", name: "nap", nth: 1 };
const color: DurableCall = { kind: "ask", name: "color", nth: 1 };
const asked: TaskEvent = {
  kind: "status",
  status: { state: "TASK_STATE_INPUT_REQUIRED", timestamp: "t" },
  asks: { call: color, until: 500 },
};
const done: TaskEvent = { kind: "outcome", call: { kind: "step", name: "a", nth: 1 } };
const wait = (until: number, beside: number[] = []): TaskEvent => ({
  kind: "wait",
  call: nap,
  until,
  beside,
});
const resumed = (time: string): TaskEvent => ({ kind: "turn-resumed", time });
const turnAfter = (...events: TaskEvent[]): TurnProgress => events.reduce(progress, BEGUN);

describe("the progress of a turn", () => {
  test("counts its runs, and the restarts since anything was stored", () => {
    expect(turnAfter(resumed("1"), resumed("2"))).toMatchObject({
      attempt: 3,
      restarts: 2,
      stalledSince: "1",
    });
    const going = turnAfter(resumed("1"), resumed("2"), done);
    expect(going).toMatchObject({ attempt: 3, restarts: 0 });
    expect(going).not.toHaveProperty("stalledSince");
    expect(progress(going, resumed("9"))).toMatchObject({ restarts: 1, stalledSince: "9" });
  });

  test("takes going on after a wait for no restart, but a cut after that for one", () => {
    expect(turnAfter(wait(100), resumed("1"))).toMatchObject({ attempt: 2, restarts: 0 });
    expect(turnAfter(wait(100), resumed("1"), resumed("2"))).toMatchObject({ attempt: 3, restarts: 1 });
  });

  test("is parked until its first wait is over", () => {
    expect(isParked(BEGUN, 0)).toBe(false);
    expect(isParked(turnAfter(wait(100)), 99)).toBe(true);
    expect(isParked(turnAfter(wait(100)), 100)).toBe(false);
    expect(isParked(turnAfter(wait(200, [100])), 150)).toBe(false);
    expect(isParked(turnAfter(wait(200, [100])), 99)).toBe(true);
  });

  test("is parked while its question is open, up to its time limit", () => {
    expect(isParked(turnAfter(asked), 499)).toBe(true);
    expect(isParked(turnAfter(asked), 500)).toBe(false);
    // The wait before the question is over, and does not count.
    expect(isParked(turnAfter(wait(100), asked), 499)).toBe(true);
  });

  test("goes on with the end of its question, and with no other outcome", () => {
    expect(turnAfter(asked, done).asked?.call).toEqual(color);
    expect(turnAfter(asked, { kind: "outcome", call: color })).not.toHaveProperty("asked");
    const other: TaskEvent = { kind: "outcome", call: { ...color, nth: 2 } };
    expect(turnAfter(asked, other).asked?.call).toEqual(color);
  });
});
