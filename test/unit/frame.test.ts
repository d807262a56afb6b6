import { expect, test } from "vitest";
import { jsonOf, lastStored } from "../../src/task/frame.ts";

test.each([
  ["", -1],
  ["\n", -1],
  ["\n\n", -1],
  ["- {}\n", -1],
  ["\n- {}\n\n- {}\n", -1],
  ["3 {}\n", 0],
  ["\n3 {}\n", 1],
  ["3 {}\n\n", 0],
  ["3 {}\n4 {}\n- {}\n\n", 5],
  ['- {"a":"\u20287 x"}\n3 {}\n- {"a":"9 "}\n', 15],
])("the last line with an id in %j begins at %d, keepalives and all", (lines, start) => {
  expect(lastStored(lines)).toBe(start);
});

test("the JSON of lines is what stands behind their ids", () => {
  expect(jsonOf('3 {"a":1}\n\n- {"b":" "}\n')).toEqual(['{"a":1}', '{"b":" "}']);
});
