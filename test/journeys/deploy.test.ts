/** `durable-a2a deploy`, up to the dry run: what it says of a project before wrangler has it. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ROOT } from "./server.ts";

// Below the repository, whose wrangler it finds there.
mkdirSync(join(ROOT, ".wrangler"), { recursive: true });
const folder = mkdtempSync(join(ROOT, ".wrangler/deploy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const AGENT = `import { apiKey, defineAgent, durableObjects, open, signWith, worker } from "durable-a2a";
const agent = defineAgent({ name: "Shop", description: "Sells", version: "1.0.0", auth: AUTH,
  skills: [{ id: "sell", name: "Sell", description: "Sells", tags: ["shop"] }], MORE run: () => "sold" });
export const { TaskObject, TaskIndex } = durableObjects(agent);
export default worker(agent);
`;
const CONFIG = {
  name: "shop",
  main: "index.ts",
  compatibility_date: "2026-11-02",
  alias: { "durable-a2a": join(ROOT, "src/index.ts") },
  durable_objects: {
    bindings: [
      { name: "TASK_OBJECT", class_name: "TaskObject" },
      { name: "TASK_INDEX", class_name: "TaskIndex" },
    ],
  },
  migrations: [{ tag: "v1", new_sqlite_classes: ["TaskObject", "TaskIndex"] }],
};

let projects = 0;

function project(auth: string, config: object = {}, more = ""): string {
  const path = join(folder, `${projects++}`);
  mkdirSync(path);
  writeFileSync(join(path, "index.ts"), AGENT.replace("AUTH", auth).replace("MORE", more));
  writeFileSync(join(path, "wrangler.json"), JSON.stringify({ ...CONFIG, ...config }));
  return path;
}

function deploy(cwd: string, ...options: string[]): Promise<{ code: number; output: string }> {
  const command = [join(ROOT, "src/cli/main.ts"), "deploy", "--dry-run", ...options];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

describe.concurrent("deploy --dry-run", () => {
  test("builds a project that is ready, anyone's when that is said, and says how to set its secrets", async () => {
    const signing = 'signing: signWith({ kid: "1", alg: "ES256", secret: "CARD_KEY" }),';
    // From another folder: paths of the configuration are relative to it.
    const alias = { "durable-a2a": "../../../src/index.ts" };
    const path = join(project("open()", { alias }, signing), "wrangler.json");
    const { code, output } = await deploy(ROOT, "--config", path, "--anyone");
    expect(output).toContain("--dry-run: exiting now");
    expect(output).toMatch(/Needs the secret CARD_KEY: npx wrangler secret put CARD_KEY/);
    expect(code).toBe(0);
  });

  test("says all that is missing at once, of the configuration and of the agent", async () => {
    const path = project(
      "open()",
      {
        compatibility_date: "2024-01-01",
        durable_objects: { bindings: CONFIG.durable_objects.bindings.slice(1) },
        migrations: [],
        vars: { PUBLIC_URL: "http://localhost:8787" },
      },
      'push: { allow: ["a.example.com"], loopback: true },',
    );
    const { code, output } = await deploy(path);
    expect(output).toContain("wrangler.json is not ready to be deployed");
    for (const fault of [
      /- The compatibility date 2024-01-01 is too old/,
      /- The binding TASK_OBJECT is missing/,
      /- No migration makes the class TaskIndex/,
      /- PUBLIC_URL must be the https URL/,
      /- Anyone may call shop.*--anyone/,
      /- shop has push\.loopback/,
      /- The queue binding PUSH_QUEUE is missing.*queues create shop-push/,
      /- The queue binding PUSH_SLOW_QUEUE is missing/,
    ]) {
      expect(output).toMatch(fault);
    }
    expect(output).not.toMatch(/does not run|exiting now/);
    expect(code).toBe(1);
  });

  test("says why a Worker does not run, or cannot be built", async () => {
    const [stopped, unbuilt] = await Promise.all([
      deploy(project("apiKey()", {}, 'origins: ["nonsense"],')),
      deploy(project("apiKey()", {}, "nothing here")),
    ]);
    expect(stopped.output).toMatch(/- The Worker does not run:[\s\S]*origins\[0\]: must be an origin/);
    expect(stopped.code).toBe(1);
    expect(unbuilt.output).toMatch(/- The Worker does not run:[\s\S]*Build failed/);
    expect(unbuilt.code).toBe(1);
  });

  test("says so where there is no project", async () => {
    const path = join(folder, "nothing");
    mkdirSync(path);
    const { code, output } = await deploy(path);
    expect(output).toMatch(
      /There is no wrangler\.jsonc, wrangler\.json, wrangler\.toml in this folder/,
    );
    expect(code).toBe(2);
  });
});
