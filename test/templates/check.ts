/**
 * `npm run check:templates [-- NAME…]`: a newcomer with each template, and nothing but the package as it would be published. Makes
 * a project by create-agent, installs, checks types, runs its tests, checks a deploy, runs it and calls it by the
 * command that create-agent printed. With `hello` also: other callers; with `approval` a question answered, a signature, a
 * cancel; with `long-job` a webhook. Needs the package registry; not part of `npm test`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const ROOT = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "durable-a2a-templates-"));
const servers = new Set<ChildProcess>();
process.once("exit", () => {
  for (const { pid } of servers) if (pid !== undefined) process.kill(-pid, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

/** As on the user's machine: not this repository's own Node.js, which npm has put first. */
const PATH = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((part) => !part.includes("node_modules"))
  .join(delimiter);
const env: NodeJS.ProcessEnv = { ...process.env, PATH, CI: "true" };

function check(holds: unknown, what: string): asserts holds {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** Runs a line of a shell as the user would; gives what it printed, and shows it when it fails. */
function shell(line: string, cwd: string): string {
  try {
    return execFileSync("sh", ["-c", line], { cwd, env, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${line} failed in ${cwd}:\n${stdout}\n${stderr}`);
  }
}

const pack = (path: string) =>
  join(folder, shell(`npm pack --silent --pack-destination ${folder}`, join(ROOT, path)).trim());
const tarball = pack(".");
/** What `npm create durable-a2a` runs. */
const creator = pack("packages/create-durable-a2a");
/** The package as npx would have it: installed, with nothing of this repository beside it. */
const installed = join(folder, "installed");
shell(
  `mkdir ${installed} && cd ${installed} && npm init -y && npm install --no-audit --no-fund ${tarball} ${creator}`,
  folder,
);
const nodeVersion = shell("node --version", folder).trim();
console.log(`Node ${nodeVersion}, package of ${Math.round(readFileSync(tarball).length / 1024)} KiB`);

interface Project {
  name: string;
  path: string;
  /** What create-agent printed. */
  printed: string;
  seconds: number;
}

function scaffold(name: string, options: string): Project {
  const start = performance.now();
  const bin = join(installed, "node_modules/.bin/create-durable-a2a");
  const printed = shell(`${bin} '${name}' --package file:${tarball} --no-git ${options}`, folder);
  return { name, path: join(folder, name), printed, seconds: (performance.now() - start) / 1000 };
}

// From a clone the package goes into the project, which needs no registry for it.
shell(`npm run create-agent -- '${folder}/from a clone' --yes --no-install --no-git`, ROOT);
const vendored = readFileSync(join(folder, "from a clone/package.json"), "utf8");
check(vendored.includes("file:vendor/durable-a2a-"), "a clone packs the package into the project");

interface Running {
  url: string;
  seconds: number;
  log(): string;
  stop(): Promise<void>;
}

/** `npm run dev` until the first answer. */
async function dev({ path }: Project): Promise<Running> {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const start = performance.now();
  const child = spawn("npm", ["run", "dev", "--", "--port", `${port}`], {
    cwd: path,
    env,
    detached: true,
  });
  servers.add(child);
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text: Buffer) => {
      log += text;
    });
  }
  const ended = new Promise((resolve) => child.once("close", resolve));
  const url = `http://127.0.0.1:${port}`;
  for (const end = Date.now() + 30_000; ; await pause(20)) {
    const card = await fetch(`${url}/.well-known/agent-card.json`).catch(() => undefined);
    if (card?.ok) break;
    if (Date.now() > end) throw new Error(`npm run dev does not answer:\n${log}`);
  }
  const seconds = (performance.now() - start) / 1000;
  return {
    url,
    seconds,
    log: () => log,
    async stop() {
      // To all of them, as Ctrl-C in a terminal.
      process.kill(-(child.pid ?? 0), "SIGTERM");
      await ended;
      servers.delete(child);
    },
  };
}

interface Task {
  id: string;
  status: { state: string; message?: { parts: { text?: string }[] } };
  artifacts?: { parts: { text?: string; mediaType?: string }[]; metadata?: { sha256?: string } }[];
}

/** A client that has what was printed: the URL, and the headers of the curl. */
class Client {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, printed: string) {
    this.#url = url;
    const headers = printed.matchAll(/-H '([\w-]+): ([^']*)'/g);
    this.#headers = Object.fromEntries(
      Array.from(headers, ([, name = "", value = ""]) => [name, value]),
    );
  }

  async send(text: string, more: { taskId?: string; configuration?: object } = {}): Promise<Task> {
    const { taskId, configuration } = more;
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], taskId };
    return (await this.#call("POST", "/message:send", { message, configuration })).task as Task;
  }

  async stream(text: string): Promise<string> {
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
    const response = await this.#fetch("POST", "/message:stream", { message });
    check(response.headers.get("content-type") === "text/event-stream", "a stream is answered");
    return response.text();
  }

  async get(id: string): Promise<Task> {
    return (await this.#call("GET", `/tasks/${id}`)) as unknown as Task;
  }

  async cancel(id: string): Promise<Task> {
    return (await this.#call("POST", `/tasks/${id}:cancel`, {})) as unknown as Task;
  }

  async until(id: string, state: string): Promise<Task> {
    for (const end = Date.now() + 30_000; ; await pause(100)) {
      const task = await this.get(id);
      if (task.status.state === state) return task;
      if (Date.now() > end) throw new Error(`the task is ${task.status.state}, not ${state}`);
    }
  }

  async #call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const response = await this.#fetch(method, path, body);
    const text = await response.text();
    check(response.ok, `${method} ${path} is answered: ${response.status} ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  #fetch(method: string, path: string, body?: object): Promise<Response> {
    const init = { method, headers: this.#headers, ...(body && { body: JSON.stringify(body) }) };
    return fetch(this.#url + path, init);
  }
}

/** The calls that the README of a project shows, but for those with a task to be filled in. */
function readmeCalls({ path }: Project, url: string, key: string): void {
  const readme = readFileSync(join(path, "README.md"), "utf8");
  const calls = readme.split("\n").filter((line) => line.startsWith("curl") && !line.includes("TASK"));
  check(calls.length > 0, "a README shows calls");
  for (const call of calls) {
    const line = `API_KEY=${key}; ${call.replaceAll("http://127.0.0.1:8787", url)}`;
    const answer = shell(line, path);
    check(
      /^(\{"task":|id: \d+\ndata: \{"task":)/.test(answer),
      `${line} is answered with a task: ${answer}`,
    );
  }
}

const textOf = ({ status }: Task) => status.message?.parts[0]?.text ?? "";

/** What each template can do, by what it prints and answers. */
const JOURNEYS: Record<string, (client: Client, running: Running) => Promise<void>> = {
  async hello(client) {
    check((await client.stream("Ada")).includes("Hello, Ada!"), "the greeting is streamed");
  },
  async llm(client) {
    const streamed = await client.stream("What is A2A?");
    check(streamed.includes("configured"), "a reply comes without a model");
    check(streamed.match(/artifactUpdate/g)?.length ?? 0, "it is streamed");
  },
  async approval(client, { url }) {
    const { id } = await client.send("shop v7");
    await client.send("yes", { taskId: id, configuration: { returnImmediately: true } });
    const asked = await client.until(id, "TASK_STATE_AUTH_REQUIRED");
    const link = /\/sign-off\S+/.exec(textOf(asked))?.[0];
    check(link, "a link to sign is given");
    check((await fetch(url + link, { method: "POST" })).ok, "the link signs");
    await client.until(id, "TASK_STATE_COMPLETED");
    const other = await client.send("shop v8");
    check((await client.cancel(other.id)).status.state === "TASK_STATE_CANCELED", "a task is canceled");
  },
  async "long-job"(client) {
    const received: string[] = [];
    const receiver = createServer((request, response) => {
      request.on("data", (text: Buffer) => received.push(`${text}`)).on("end", () => response.end());
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/a2a`;
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: hook } };
    const { id } = await client.send("lamps", { configuration });
    const { artifacts = [] } = await client.until(id, "TASK_STATE_COMPLETED");
    const types = artifacts.map(({ parts }) => parts[0]?.mediaType).join();
    check(types === "text/plain,application/json,text/csv", `three formats, not ${types}`);
    for (const { metadata } of artifacts) check(metadata?.sha256?.length === 64, "each has its hash");
    for (const end = Date.now() + 15_000; !received.join().includes("COMPLETED"); await pause(100)) {
      check(Date.now() < end, "the webhook is told of the end");
    }
    receiver.close();
  },
};

const asked = process.argv.slice(2);
for (const [template, journey] of Object.entries(JOURNEYS)) {
  if (asked.length > 0 && !asked.includes(template)) continue;
  const project = scaffold(`My ${template}`, `--template ${template}`);
  const { path } = project;
  shell("npm run types", path);
  shell("npm test", path);
  shell("npm run deploy -- --dry-run", path);
  if (template === "long-job") {
    // As its README says, for webhooks on this machine.
    const file = join(path, "src/index.ts");
    const program = readFileSync(file, "utf8");
    const changed = program.replace(
      'push: { allow: ["hooks.example.com"] }',
      'push: { allow: ["hooks.example.com"], loopback: true }',
    );
    check(changed !== program, "the line of its webhooks is as its README says");
    writeFileSync(file, changed);
  }
  const running = await dev(project);
  const [, curl = ""] = /Say hello: +(curl .*)/.exec(project.printed) ?? [];
  const answer = shell(curl.replace("http://127.0.0.1:8787", running.url), path);
  check(answer.startsWith('{"task":'), `the printed curl gets a task: ${answer}`);
  readmeCalls(project, running.url, /X-API-Key: ([\w-]+)/.exec(curl)?.[1] ?? "");
  await journey(new Client(running.url, curl), running);
  await running.stop();
  if (template === "hello") {
    const again = await dev(project);
    const { id } = (JSON.parse(answer) as { task: Task }).task;
    const kept = await new Client(again.url, curl).get(id);
    check(kept.status.state === "TASK_STATE_COMPLETED", "tasks are kept between restarts");
    await again.stop();
  }
  for (const auth of ["open", "oidc --issuer https://login.example.com --audience agents"]) {
    const other = scaffold(
      `${template} ${auth.split(" ")[0]}`,
      `--template ${template} --auth ${auth} --push --no-install`,
    );
    symlinkSync(join(path, "node_modules"), join(other.path, "node_modules"));
    shell("npm run types", other.path);
    rmSync(other.path, { recursive: true });
  }
  const size = shell("du -sm node_modules | cut -f1", path).trim();
  console.log(
    `${template}: made in ${project.seconds.toFixed(1)} s, first answer ${running.seconds.toFixed(1)} s after npm run dev, node_modules ${size} MB`,
  );
  rmSync(path, { recursive: true });
}
