/** `durable-a2a dev` in a project: what is missing is said, what is saved is run, and tasks stay. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, ROOT, until } from "./server.ts";

// Below the repository, whose wrangler it finds there.
mkdirSync(join(ROOT, ".wrangler"), { recursive: true });
const project = mkdtempSync(join(ROOT, ".wrangler/project-"));

const AGENT = `import { apiKey, defineAgent, durableObjects, worker } from "durable-a2a";
const agent = defineAgent({ name: "Shop", description: "Sells", version: "1.0.0", auth: apiKey(),
  skills: [{ id: "sell", name: "Sell", description: "Sells", tags: ["shop"] }], run: () => "sold" });
export const { TaskObject, TaskIndex } = durableObjects(agent);
export default worker(agent);
`;

const running = new Set<ChildProcess>();
afterAll(() => {
  for (const { pid = 0 } of running) process.kill(-pid, "SIGKILL");
  rmSync(project, { recursive: true, force: true });
});

function dev(port: number): { child: ChildProcess; log(): string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), "dev", "--port", `${port}`], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    });
  });
  return { child, log: () => log, ended };
}

async function call(port: number, path: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0", "X-API-Key": "key" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

const message = () => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "a lamp" }] },
});

let port: number;
beforeAll(async () => {
  port = await freePort();
  writeFileSync(join(project, "index.ts"), AGENT);
  writeFileSync(
    join(project, "wrangler.json"),
    JSON.stringify({
      name: "shop",
      main: "index.ts",
      compatibility_date: "2026-11-02",
      alias: { "durable-a2a": join(ROOT, "src/index.ts") },
      // The local runtime has none; agents run here all the same.
      vars: { JURISDICTION: "eu" },
      durable_objects: {
        bindings: [
          { name: "TASK_OBJECT", class_name: "TaskObject" },
          { name: "TASK_INDEX", class_name: "TaskIndex" },
        ],
      },
      migrations: [{ tag: "v1", new_sqlite_classes: ["TaskObject", "TaskIndex"] }],
    }),
  );
});

test("a secret that is missing is said at start, with how to add it; a port that is taken too", async () => {
  const { child, log, ended } = dev(port);
  await until(() => /Say hello:/.test(log()), "the server to be ready");
  await until(() => log().includes("Missing secret"), "what is missing to be said");
  expect(log()).toMatch(
    /Missing secret API_KEYS: nobody gets in to agent "shop".*\.dev\.vars.*secret put/,
  );
  expect((await call(port, "/message:send", message())).status).toBe(500);
  const second = dev(port);
  expect(await second.ended).toBe(2);
  expect(second.log()).toBe(`Port ${port} is taken; choose another with --port N\n`);
  child.kill("SIGTERM");
  await ended;
});

test("a request is a line, a saved file is run, and tasks are kept between runs", async () => {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("key"));
  const keys = JSON.stringify({ me: Buffer.from(hash).toString("hex") });
  writeFileSync(join(project, ".dev.vars"), `API_KEYS='${keys}'\n`);
  const first = dev(port);
  await until(() => /Say hello:/.test(first.log()), "the server to be ready");
  expect(first.log()).not.toContain("Missing secret");
  const sent = await call(port, "/message:send", message());
  expect(sent.text).toContain('"sold"');
  const { id } = (JSON.parse(sent.text) as { task: { id: string } }).task;
  await until(() => first.log().includes(`task=${id}`), "the line of the request");
  expect(
    first.log().match(/^SendMessage rest task=\w+ state=TASK_STATE_COMPLETED 200 \d+ms$/gm),
  ).toHaveLength(1);

  writeFileSync(join(project, "index.ts"), AGENT.replace('"sold"', '"sold out"'));
  const reloaded = async () => (await call(port, "/message:send", message())).text.includes("sold out");
  await until(() => reloaded().catch(() => false), "the saved file to be run");
  expect((await call(port, `/tasks/${id}`)).text).toContain('"sold"');
  first.child.kill("SIGTERM");
  await first.ended;

  const again = dev(port);
  await until(() => /Say hello:/.test(again.log()), "the server to be ready");
  expect((await call(port, `/tasks/${id}`)).text).toContain("TASK_STATE_COMPLETED");
  again.child.kill("SIGTERM");
  await again.ended;
});
