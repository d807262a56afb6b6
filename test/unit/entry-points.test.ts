/** What a user can import: a change here is a change of what others depend on. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as card from "durable-a2a/card";
import * as push from "durable-a2a/push";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

test("the package has these entry points, each built from a file of the source, and the README names them", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, { types: string; default: string }>;
  };
  const built = (name: string) => ({
    types: `./dist/src/${name}.d.ts`,
    default: `./dist/src/${name}.js`,
  });
  expect(exports).toEqual({
    ".": built("index"),
    "./card": built("card"),
    "./push": built("push"),
    "./testing": built("testing"),
  });
  const readme = readFileSync(join(root, "README.md"), "utf8");
  for (const entry of Object.keys(exports)) {
    expect(readme).toContain(`from "durable-a2a${entry.slice(1)}"`);
  }
});

test("durable-a2a/card exports what clients need of signed cards", () => {
  expect(Object.keys(card).sort()).toEqual(["CardSignatureError", "verifyCard"]);
});

test("durable-a2a/push exports what receivers of webhooks need", () => {
  expect(Object.keys(push).sort()).toEqual(["NotificationError", "verifyNotification"]);
});
