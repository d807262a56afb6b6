import { describe, expect, test } from "vitest";
import { inWords, toMs } from "../../src/agent/duration.ts";

describe("a duration", () => {
  test.each([
    [0, 0],
    [1_500, 1_500],
    ["90 seconds", 90_000],
    ["1 minute", 60_000],
    ["1.5 hours", 5_400_000],
    ["3 days", 259_200_000],
    ["2 weeks", 1_209_600_000],
    ["365 days", 31_536_000_000],
  ])("%j is %d ms", (given, ms) => {
    expect(toMs(given)).toBe(ms);
  });

  test.each([
    -1,
    Number.NaN,
    "366 days",
    31_536_000_001,
    "3 fortnights",
    "3days",
    "-1 day",
    "",
    null,
    {},
  ])("%j is none", (given) => {
    expect(toMs(given)).toBeUndefined();
  });

  test.each([
    [259_200_000, "3 days"],
    [604_800_000, "1 week"],
    [5_400_000, "90 minutes"],
    [1_500, "1500 ms"],
  ])("of %d ms is %s in words", (ms, words) => {
    expect(inWords(ms)).toBe(words);
  });
});
