/** Servers that journeys talk to: spawned as a user would, by npm script, each on a port of its own. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isFree } from "../../src/cli/dev-server.ts";
import { exists, processTree } from "./processes.ts";

export const ROOT = join(import.meta.dirname, "../..");

export interface RunningServer {
  readonly url: string;
  /** What the server has printed. */
  log(): string;
  /** Resolves when the log matches. */
  printed(pattern: RegExp): Promise<void>;
  /**
   * Tells the server to end: the npm process, as a process manager does, or every process of it, as Ctrl-C in a
   * terminal does. Resolves when npm has ended, with the names of the processes that are left a second later.
   */
  stop(signal?: NodeJS.Signals, whom?: "npm" | "all"): Promise<string[]>;
  /** SIGKILL to every process of the server at once, as a crash of the machine; resolves when all are gone. */
  kill(): Promise<void>;
}

const running = new Set<RunningServer>();
const folders = new Set<string>();

/**
 * `npm run <script> -- --port <free port> <args>`; resolves when the agent card is served. Unless `args` say where
 * tasks are kept, they are gone with the server. A file that starts servers ends with `afterAll(endServers)`.
 */
export async function startServer(
  script: "dev" | "lab",
  args: readonly string[] = [],
): Promise<RunningServer> {
  const port = await freePort();
  const keep = args.includes("--persist-to") ? [] : ["--persist-to", temporaryFolder()];
  const child = spawn("npm", ["run", script, "--", "--port", String(port), ...keep, ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that a test that fails can end all of it.
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error("npm cannot be started");
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  }
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  const server: RunningServer = {
    url,
    log: () => log,
    printed: (pattern) => until(() => pattern.test(log), `the log to match ${pattern}`),
    async stop(signal = "SIGTERM", whom = "npm") {
      const tree = processTree(pid);
      process.kill(whom === "all" ? -pid : pid, signal);
      await exited;
      for (const end = Date.now() + 1_000; Date.now() < end && tree.some(exists); ) await pause(20);
      const left = tree.filter(exists).map(({ name }) => name);
      if (left.length === 0) running.delete(server);
      return left;
    },
    async kill() {
      const tree = processTree(pid);
      killGroup(pid);
      await until(() => !tree.some(exists), "the killed processes to be gone");
      running.delete(server);
    },
  };
  running.add(server);
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`npm run ${script} ended:\n${log}`);
    const response = await fetch(`${url}/.well-known/agent-card.json`).catch(() => undefined);
    return response?.ok ?? false;
  }, `npm run ${script} to serve its card`);
  return server;
}

/** Ends what a file has started, however its tests went. */
export async function endServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.kill()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

/** A folder that is removed with the servers. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "durable-a2a-journey-"));
  folders.add(folder);
  return folder;
}

/** Waits until something holds, at most 30 s. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  seconds = 30,
): Promise<void> {
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; ) {
    if (await holds()) return;
    await pause(50);
  }
  throw new Error(`waited ${seconds} s for ${what}`);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // Nothing of the group is left.
  }
}

/** A free port below the range that the system hands out by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}
