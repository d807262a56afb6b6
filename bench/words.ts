/** The work of the agents under test, the same for each of them. */

/** One turn of the event loop: what was written can leave. */
export function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Words as a model gives them: `burst` at once, then nothing for a turn of the event loop. */
export async function* words(count: number, burst: number): AsyncGenerator<string> {
  for (let index = 1; index <= count; index++) {
    yield `word${index} `;
    if (index % burst === 0) await pause();
  }
}

/** What a message asks for: `hello`, `words <count> <burst>`, or the same held back until it is released. */
export interface Request {
  kind: "hello" | "words" | "held";
  count: number;
  burst: number;
}

export function readRequest(text: string): Request {
  const [kind, count, burst] = text.split(" ");
  if (kind !== "words" && kind !== "held") return { kind: "hello", count: 0, burst: 1 };
  return { kind, count: Number(count), burst: Number(burst) };
}

/** Tasks whose words may flow; by id. */
const released = new Set<string>();

export function release(taskId: string): void {
  released.add(taskId);
}

export async function untilReleased(taskId: string): Promise<void> {
  while (!released.delete(taskId)) await pause(5);
}
