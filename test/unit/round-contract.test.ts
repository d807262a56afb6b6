/** Every cell of docs/round-contract.md names tests; they are there, under these titles. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const contract = readFileSync(join(root, "docs/round-contract.md"), "utf8");
const notes = [...contract.matchAll(/^(\d+)\. (.*)$/gm)].map(([, number, text = ""]) => ({
  number,
  files: [...text.matchAll(/`(test\/[^`]+)`: ((?:"[^"]+"(?:, )?)+)/g)].map(
    ([, file = "", titles = ""]) => ({
      file,
      titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title),
    }),
  ),
}));

test("every cell of the table has a note, and every note a test", () => {
  const cells = contract.split("\n").filter((line) => line.startsWith("| **"));
  expect(cells).toHaveLength(7);
  for (const row of cells) {
    const [, , ...rest] = row.split("|").slice(0, -1);
    for (const cell of rest) expect(cell).toMatch(/\[\d+\]/);
  }
  const named = new Set([...contract.matchAll(/\[(\d+)\]/g)].map(([, number]) => number));
  expect(notes.map(({ number }) => number)).toEqual([...named].sort((a, b) => Number(a) - Number(b)));
  for (const { files } of notes) expect(files.length).toBeGreaterThan(0);
});

test.each(notes.flatMap(({ files }) => files))(
  "$file has the tests that are named",
  ({ file, titles }) => {
    const source = readFileSync(join(root, file), "utf8");
    for (const title of titles) expect(source).toContain(`"${title}"`);
  },
);
