/** Runs `wrangler dev` on this machine alone: no account, no telemetry, nothing sent anywhere. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { CommandError } from "./command-error.ts";
import { wranglerFile } from "./project.ts";

export interface DevServerOptions {
  /** The Worker's configuration. */
  config: string;
  port: number;
  /** Folder that keeps tasks between runs. */
  persistTo?: string;
  /** Of the configuration. */
  environment?: string | undefined;
  /** The Worker's entry, in place of `main` of the configuration. */
  script?: string;
  /** Where wrangler runs. With a `script`, it takes relative paths of the configuration from here. */
  folder?: string;
  /** In place of the compatibility date of the configuration. */
  date?: string | undefined;
  /** Plain-text bindings. */
  vars?: Record<string, string>;
  /** Called with each line the Worker or wrangler prints. */
  onLine: (line: string) => void;
}

export interface DevServer {
  readonly process: ChildProcess;
  /** Resolves when the server takes requests; rejects when it ends before. */
  readonly ready: Promise<void>;
  /** Resolves with the exit code when the server has ended, children and all. */
  readonly ended: Promise<number>;
}

const QUIET = {
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_HIDE_BANNER: "true",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  X_LOCAL_OBSERVABILITY: "false",
  // A second start need not compile wrangler again, which is a tenth of what it takes.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), "node-compile-cache"),
};

/** wrangler's own line for a request, for which the Worker prints a better one, or for a batch of a queue. */
const WRANGLER_REQUEST_LINE = /^\[wrangler:info\] (?:[A-Z]+ \/.* \d{3} .*|QUEUE .*)\(\d+ms\)$/;
const READY_LINE = /Ready on http/;

export function startDevServer(options: DevServerOptions): DevServer {
  // The command itself, not its wrapper: signals reach it directly.
  const child = spawn(
    process.execPath,
    [
      "--no-warnings",
      wranglerFile(options.config, "wrangler-dist/cli.js"),
      "dev",
      ...(options.script ? [options.script] : []),
      "--local",
      "--show-interactive-dev-session=false",
      `--config=${options.config}`,
      "--ip=127.0.0.1",
      `--port=${options.port}`,
      "--inspector-port=0",
      ...(options.persistTo ? [`--persist-to=${options.persistTo}`] : []),
      ...(options.environment ? [`--env=${options.environment}`] : []),
      ...(options.date ? [`--compatibility-date=${options.date}`] : []),
      ...Object.entries(options.vars ?? {}).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
    ],
    {
      cwd: options.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...QUIET, FORCE_COLOR: "0", NO_COLOR: "1" },
    },
  );
  const ended = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? 0));
  });
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        if (READY_LINE.test(line)) resolve();
        if (!WRANGLER_REQUEST_LINE.test(line)) options.onLine(line);
      });
    }
    void ended.then((code) =>
      reject(new Error(`wrangler dev ended with code ${code} before it was ready`)),
    );
  });
  return { process: child, ready, ended };
}

/** The number of a `--port`. */
export function readPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new CommandError(`--port is a number from 1 to 65535, not "${text}"`);
}

/** Ends the server when this process is told to end, and then this process with it. */
export async function endWith(server: DevServer): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => server.process.kill("SIGTERM"));
  }
  process.exitCode = await server.ended;
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
