/** The agent of the benchmark on durable-a2a, and what only the benchmark needs: `/bench/…`. */
import { defineAgent, durableObjects, open, worker } from "durable-a2a";
import { type Bindings, taskIndex } from "../../src/env.ts";
import { ownerOf } from "../../src/protocol/caller.ts";
import { readRequest, release, untilReleased, words } from "../words.ts";

const agent = defineAgent({
  id: "bench",
  name: "Greeter",
  description: "Greets people by name",
  version: "1.0.0",
  skills: [{ id: "greet", name: "Greet", description: "Says hello", tags: ["hello"] }],
  auth: open({ list: true }),
  async run(turn) {
    const { kind, count, burst } = readRequest(turn.text);
    if (kind === "hello") return `Hello, ${turn.text}!`;
    if (kind === "held") await untilReleased(turn.task.id);
    await turn.stream({ name: "words" }, () => words(count, burst));
    return undefined;
  },
});

export const { TaskObject, TaskIndex } = durableObjects(agent);

const app = worker(agent);
/** Rows that are put into the index at once. */
const BATCH = 100;

/** Fills the index of the one owner there is. */
async function seed(bindings: Bindings, count: number): Promise<void> {
  const index = taskIndex(bindings, ownerOf(agent.id, { scheme: "open", principal: "", tenant: "" }));
  const start = Date.now() - count * 1000;
  for (let first = 0; first < count; first += BATCH) {
    await Promise.all(
      Array.from({ length: Math.min(BATCH, count - first) }, (_, offset) => {
        const time = start + (first + offset) * 1000;
        const id = (first + offset).toString(16).padStart(64, "0");
        const contextId = crypto.randomUUID();
        const state = "TASK_STATE_COMPLETED";
        const status = { state, timestamp: new Date(time).toISOString() };
        return index.put({
          id,
          contextId,
          state,
          time,
          body: JSON.stringify({ id, contextId, status }),
        });
      }),
    );
  }
}

export default {
  async fetch(request, env, context) {
    if (!request.url.includes("/bench/")) return app.fetch(request, env, context);
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/bench/release") release(searchParams.get("task") ?? "");
    else await seed(env, Number(searchParams.get("count")));
    return new Response("done");
  },
} satisfies ExportedHandler<Bindings>;
