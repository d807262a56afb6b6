import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { devSigningKey } from "../../src/cli/dev-key.ts";
import { pushKeys } from "../../src/push/sign.ts";

let folder: string;
let config: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "durable-a2a-key-"));
  config = join(folder, "wrangler.toml");
  writeFileSync(config, 'name = "agent"\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the key of a development server", () => {
  test("is one that signs, the same after a restart, and its owner's alone", async () => {
    const first = devSigningKey(config);
    expect(pushKeys(first)).toBeDefined();
    expect(devSigningKey(config)).toEqual(first);
    const path = join(folder, ".wrangler/state/push-signing-key.json");
    expect(readFileSync(path, "utf8")).toBe(first.PUSH_SIGNING_KEY);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("lies with the tasks, wherever they are", () => {
    const here = devSigningKey(config, join(folder, "here"));
    expect(devSigningKey(config, join(folder, "there"))).not.toEqual(here);
    expect(devSigningKey(config, join(folder, "here"))).toEqual(here);
  });

  test.each([
    [".dev.vars", "PUSH_SIGNING_KEY='{}'\n"],
    ["wrangler.toml", '[vars]\nPUSH_SIGNING_KEY = "{}"\n'],
  ])("is none where %s has one", (name, text) => {
    writeFileSync(join(folder, name), text);
    expect(devSigningKey(config)).toEqual({});
  });

  test("is there when the name is only talked about", () => {
    writeFileSync(config, "# PUSH_SIGNING_KEY is a secret\n");
    expect(devSigningKey(config)).toHaveProperty("PUSH_SIGNING_KEY");
  });
});
