/** The agent of the benchmark with webhooks, and what only the benchmark needs: `/bench/release`. */
import { defineAgent, durableObjects, open, worker } from "durable-a2a";
import type { Bindings } from "../../src/env.ts";
import { pause, release, untilReleased } from "../words.ts";

const agent = defineAgent({
  id: "bench",
  name: "Teller",
  description: "Says a number of things, a number of milliseconds apart",
  version: "1.0.0",
  skills: [{ id: "tell", name: "Tell", description: "Says things", tags: ["hello"] }],
  auth: open(),
  push: { allow: [], loopback: true },
  async run(turn) {
    const [count, everyMs] = turn.text.split(" ").map(Number);
    await untilReleased(turn.task.id);
    for (let index = 1; index <= (count ?? 0); index++) {
      await turn.working(`thing ${index}`);
      if (everyMs) await pause(everyMs);
    }
    return turn.complete();
  },
});

export const { TaskObject, TaskIndex } = durableObjects(agent);

const app = worker(agent);

export default {
  ...app,
  fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/bench/release") return app.fetch(request, env, context);
    release(searchParams.get("task") ?? "");
    return new Response("done");
  },
} satisfies ExportedHandler<Bindings>;
