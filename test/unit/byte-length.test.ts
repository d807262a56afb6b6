import { expect, test } from "vitest";
import { byteLength } from "../../src/protocol/byte-length.ts";

test.each([
  "",
  "abc",
  "é",
  "€",
  "😀",
  "a😀é€z",
  "\ud83d",
  "\ude00\ud83d",
  "\ud83dx",
  "😀\ude00",
  "\u0000\u007f\u0080\u07ff\u0800\uffff",
])("the length of %j is that of its bytes in UTF-8", (text) => {
  expect(byteLength(text)).toBe(new TextEncoder().encode(text).byteLength);
});
