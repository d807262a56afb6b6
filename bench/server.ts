/** The servers under test: `workerd` itself, without any proxy before it, and Node. Each with a storage of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import net from "node:net";
import path from "node:path";
import { devSigningKey } from "../src/cli/dev-key.ts";
import { startDevServer } from "../src/cli/dev-server.ts";
import { bundle, type WorkerName } from "./bundle.ts";
import { workerdConfig } from "./workerd-config.ts";

/** All that a run writes is below this folder, and deleted with each server. */
const FOLDER = path.resolve(import.meta.dirname, "../.wrangler/bench");
/** Below the ports that the system gives to outgoing connections. */
const PORTS = { first: 18_000, last: 30_000 };
const START_MS = 10_000;

/** What is there now: a run that is cut off leaves neither processes nor files behind. */
const children = new Map<ChildProcess, NodeJS.Signals>();
const folders = new Set<string>();
process.once("exit", () => {
  for (const [child, signal] of children) child.kill(signal);
  // Until they are gone they may still write.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

export interface Server {
  readonly port: number;
  /** Stops it, deletes its storage, and gives the number of objects that were in it. */
  close(): Promise<number>;
}

export const versions: { workerd: string; sdk: string } = {
  workerd: packageVersion("workerd"),
  sdk: packageVersion("@a2a-js/sdk"),
};

/** Starts `workerd` with one of our workers on an empty storage. */
export async function startWorkerd(worker: WorkerName): Promise<Server> {
  const folder = await newFolder();
  const storage = path.join(folder, "storage");
  await mkdir(storage);
  await bundle(worker, folder);
  const port = await freePort();
  await writeFile(path.join(folder, "config.capnp"), workerdConfig(worker, { storage, port }));
  const binary = createRequire(import.meta.url).resolve("workerd/bin/workerd");
  // D1's object is an internal worker of Miniflare, which needs the flag; nothing else makes use of it.
  const child = start(binary, ["serve", "--experimental", path.join(folder, "config.capnp")]);
  return running(child, port, folder, async () => {
    const files = await readdir(storage, { recursive: true });
    return files.filter((file) => file.endsWith(".sqlite")).length;
  });
}

/** Starts the official SDK's Express server, which keeps its tasks in memory. */
export async function startExpress(): Promise<Server> {
  const folder = await newFolder();
  const port = await freePort();
  const script = path.join(import.meta.dirname, "sdk/express.ts");
  const child = start(process.execPath, [script, String(port)]);
  return running(child, port, folder, async () => 0);
}

/**
 * Starts a worker that needs a queue, which `workerd` alone does not have. Requests pass a development proxy there, so
 * only what the worker sends may be measured.
 */
export async function startWithQueue(worker: "push" | "push-floor"): Promise<Server> {
  const folder = await newFolder();
  const port = await freePort();
  const config = path.join(import.meta.dirname, worker, "wrangler.toml");
  const log = (line: string) => process.env.BENCH_LOGS === "1" && console.error(line);
  const { process: child } = startDevServer({
    config,
    port,
    persistTo: folder,
    vars: devSigningKey(config, folder),
    onLine: log,
  });
  const objects = async () => {
    const files = await readdir(folder, { recursive: true });
    return files.filter((file) => /\bdo\b.*\.sqlite$/.test(file)).length;
  };
  // It ends its own children then.
  return running(child, port, folder, objects, "SIGTERM");
}

async function newFolder(): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const folder = await mkdtemp(path.join(FOLDER, "server-"));
  folders.add(folder);
  return folder;
}

function start(command: string, args: string[]): ChildProcess {
  const verbose = process.env.BENCH_LOGS === "1";
  return spawn(command, args, {
    stdio: ["ignore", verbose ? "inherit" : "ignore", verbose ? "inherit" : "ignore"],
    env: { ...process.env, NODE_ENV: "production" },
  });
}

async function running(
  child: ChildProcess,
  port: number,
  folder: string,
  objects: () => Promise<number>,
  signal: NodeJS.Signals = "SIGKILL",
): Promise<Server> {
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  children.set(child, signal);
  const close = async () => {
    child.kill(signal);
    children.delete(child);
    await ended;
    const count = await objects();
    await rm(folder, { recursive: true, force: true });
    folders.delete(folder);
    return count;
  };
  try {
    await answers(child, port);
  } catch (error) {
    await close();
    throw error;
  }
  return { port, close };
}

async function answers(child: ChildProcess, port: number): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error("a server did not start; BENCH_LOGS=1 shows what it says");
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * (PORTS.last - PORTS.first));
    if (!(await isOpen(port))) return port;
  }
}

function packageVersion(name: string): string {
  const require = createRequire(import.meta.url);
  const folder = require.resolve.paths(name)?.find((each) => {
    try {
      return require.resolve(path.join(each, name, "package.json"));
    } catch {
      return false;
    }
  });
  const { version } = require(path.join(folder ?? "", name, "package.json")) as { version: string };
  return version;
}
