/** Servers that journeys talk to: spawned as a user would, by npm script, each on a port of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export interface RunningServer {
  readonly url: string;
  /** What the server has printed. */
  log(): string;
  /** Resolves when the log matches. */
  printed(pattern: RegExp): Promise<void>;
  /** SIGTERM to the npm process, as a process manager would; resolves with its exit code. */
  stop(): Promise<number | null>;
  readonly process: ChildProcess;
}

/** `npm run <script> -- --port <free port> <args>`; resolves when the agent card is served. */
export async function startServer(
  script: "dev" | "lab",
  args: readonly string[] = [],
): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn("npm", ["run", script, "--", "--port", String(port), ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that a test that fails can end all of it.
    detached: true,
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const url = `http://127.0.0.1:${port}`;
  const server: RunningServer = {
    url,
    process: child,
    log: () => log,
    printed: (pattern) => until(() => pattern.test(log), `the log to match ${pattern}`),
    async stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`npm run ${script} ended:\n${log}`);
    const response = await fetch(`${url}/.well-known/agent-card.json`).catch(() => undefined);
    return response?.ok ?? false;
  }, `npm run ${script} to serve its card`);
  return server;
}

/** Waits until something holds, at most 30 s. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited 30 s for ${what}`);
}

/** A free port below the range that the system hands out by itself. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
