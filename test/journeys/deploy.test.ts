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

const AGENT = `import { apiKey, defineAgent, durableObjects, open, worker } from "durable-a2a";
const agent = defineAgent({ name: "Shop", description: "Sells", version: "1.0.0", auth: AUTH,
  skills: [{ id: "sell", name: "Sell", description: "Sells", tags: ["shop"] }], PUSH run: () => "sold" });
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

function project(auth: string, config: object = {}, push = ""): string {
  const path = join(folder, `${projects++}`);
  mkdirSync(path);
  writeFileSync(join(path, "index.ts"), AGENT.replace("AUTH", auth).replace("PUSH", push));
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
  test("builds a project that is ready, and names the secrets that callers need", async () => {
    const { code, output } = await deploy(project("apiKey()"));
    expect(output).toContain("--dry-run: exiting now");
    expect(output).toContain("Nobody gets in before these secrets are set: API_KEYS");
    expect(code).toBe(0);
  });

  test("says all that is missing at once", async () => {
    const path = project("open()", {
      compatibility_date: "2024-01-01",
      migrations: [],
      vars: { PUBLIC_URL: "http://localhost:8787" },
    });
    const { code, output } = await deploy(path);
    expect(output).toContain("wrangler.json is not ready to be deployed");
    for (const fault of [
      /- The compatibility date 2024-01-01 is too old/,
      /- No migration makes the class TaskObject/,
      /- No migration makes the class TaskIndex/,
      /- PUBLIC_URL must be the https URL/,
      /- Anyone may call shop.*--anyone/,
    ]) {
      expect(output).toMatch(fault);
    }
    expect(code).toBe(1);
    expect(output).not.toContain("exiting now");
  });

  test("says what webhooks lack, and why a Worker does not run", async () => {
    const push = 'push: { allow: ["a.example.com"] },';
    const queues = await deploy(project("apiKey()", {}, push));
    expect(queues.output).toMatch(/- The queue binding PUSH_QUEUE is missing.*queues create shop-push/);
    expect(queues.code).toBe(1);
    const broken = await deploy(project("apiKey()", {}, 'origins: ["nonsense"],'));
    expect(broken.output).toMatch(/- The Worker does not run:[\s\S]*origins/);
    expect(broken.code).toBe(1);
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
