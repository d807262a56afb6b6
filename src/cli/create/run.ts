/** Other programs, which end when this one is told to. */
import { spawn } from "node:child_process";

const running = new Set<number>();

export interface Ended {
  /** 127 when there is no such program. */
  code: number;
  /** What it printed. */
  output: string;
}

export function run(
  command: string,
  args: readonly string[],
  folder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  return new Promise((resolve) => {
    // A group of its own: npm's children are ended with it.
    const child = spawn(command, args, {
      cwd: folder,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const end = (code: number) => {
      if (pid !== undefined) running.delete(pid);
      resolve({ code, output });
    };
    child.once("error", () => end(127));
    child.once("close", (code) => end(code ?? 1));
  });
}

/** Ends what runs, children and all. */
export function endAll(): void {
  for (const pid of running) {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
