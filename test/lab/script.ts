/**
 * The lab agent's language: a message's data part `{"script":[…]}` says what the agent does, step by step, through
 * public members of the turn. Without an ending the task completes, unless its last published status waits for the
 * client.
 */
import { A2AError, type Part, type Reason, type Turn, type TurnResult } from "durable-a2a";

export type Step =
  | { do: "working"; text?: string }
  | {
      do: "artifact";
      artifactId?: string;
      name?: string;
      parts: Part[];
      append?: boolean;
      lastChunk?: boolean;
    }
  | { do: "chunks"; artifactId?: string; name?: string; count: number; everyMs?: number; text?: string }
  | { do: "sleep"; ms: number }
  | { do: "step"; name: string; result?: unknown; ms?: number; fails?: number }
  | { do: "durableSleep"; name: string; ms: number }
  | { do: "ask" | "authorize"; name: string; text: string; timeoutMs?: number }
  | { do: "report" }
  | { do: "throw"; message?: string; reason?: Reason }
  | { do: "publish"; event: object }
  | { do: "reply"; parts: Part[] }
  | { do: "complete" | "fail" | "reject" | "input"; text?: string };

/** The script of a message, when it has one. */
export function scriptOf(parts: readonly Part[]): Step[] | undefined {
  for (const { data } of parts) {
    if (typeof data === "object" && data !== null && "script" in data && Array.isArray(data.script)) {
      return data.script as Step[];
    }
  }
  return undefined;
}

export async function runScript(turn: Turn, steps: readonly Step[]): Promise<TurnResult> {
  for (const step of steps) {
    const end = await runStep(turn, step);
    if (end) return end;
  }
  return undefined;
}

/** Counts what is really run, in another object; `COUNTERS` is its namespace. */
export interface Counter {
  /** Notes one execution of the step; returns how many there are now. */
  count(name: string): Promise<number>;
  executions(): Promise<Record<string, number>>;
}

function counterOf({ env, task }: Turn): Counter {
  const { COUNTERS } = env as { COUNTERS: DurableObjectNamespace };
  return COUNTERS.getByName(task.id) as unknown as Counter;
}

async function runStep(turn: Turn, step: Step): Promise<TurnResult> {
  switch (step.do) {
    case "step": {
      const { name, result, ms = 0, fails = 0 } = step;
      await turn.step(
        name,
        async ({ signal, attempt }) => {
          await counterOf(turn).count(name);
          if (ms > 0) await pause(ms, signal);
          if (attempt <= fails) throw new Error(`try ${attempt} of "${name}" fails`);
          return result;
        },
        { retries: fails, backoff: { first: 20 } },
      );
      return;
    }
    case "durableSleep":
      return turn.sleep(step.name, step.ms);
    case "ask":
    case "authorize": {
      const options = step.timeoutMs === undefined ? {} : { timeout: step.timeoutMs };
      await turn[step.do](step.name, step.text, options);
      return;
    }
    case "report": {
      const data = { attempt: turn.attempt, executions: await counterOf(turn).executions() };
      await turn.artifact({ artifactId: "report", name: "report", parts: { data } });
      return turn.complete();
    }
    case "working":
      return turn.working(step.text);
    case "artifact": {
      const { do: _, ...artifact } = step;
      await turn.artifact(artifact);
      return;
    }
    case "chunks": {
      const { do: _, count, everyMs = 0, text = "", ...artifact } = step;
      await turn.stream(artifact, async function* () {
        for (let i = 0; i < count; i++) {
          if (i > 0 && everyMs > 0) await pause(everyMs, turn.signal);
          yield `${text}${i}`;
        }
      });
      return;
    }
    case "sleep":
      return pause(step.ms, turn.signal);
    case "throw": {
      const { message = "thrown by the script", reason } = step;
      throw reason ? new A2AError(reason, { message }) : new Error(message);
    }
    case "publish":
      return turn.publish(step.event);
    case "reply":
      return turn.reply(step.parts);
    case "complete":
      return turn.complete(step.text);
    case "fail":
      return turn.fail(step.text);
    case "reject":
      return turn.reject(step.text);
    case "input":
      return turn.inputRequired(step.text);
    default:
      throw new Error(`unknown step ${JSON.stringify((step as { do: unknown }).do)}`);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
