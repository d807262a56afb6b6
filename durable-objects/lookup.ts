/** Other tasks of the same owner, for `turn.references()` and `turn.context()`. */
import type { Agent } from "../src/agent/define-agent.ts";
import { type Bindings, taskDirectory, taskIndex } from "../src/env.ts";
import { A2AError } from "../src/protocol/errors.ts";
import type { Task } from "../src/protocol/task.ts";
import type { TaskLookup } from "./run.ts";

/** Most tasks looked up at once; each is a request to its object. */
const MAX_TASKS = 40;

export function taskLookup(bindings: Bindings, agents: ReadonlyMap<string, Agent>): TaskLookup {
  return {
    async byId({ owner }, ids) {
      const directory = taskDirectory(bindings);
      const found = await Promise.all(
        [...new Set(ids)].slice(0, MAX_TASKS).map((id) => directory.find(id)?.get(owner, {})),
      );
      return found.flatMap((result) => (result?.ok ? [result.value] : []));
    },
    async ofContext(record) {
      if (!agents.get(record.agentId)?.definition.auth.listsTasks) {
        throw new A2AError("UNSUPPORTED_OPERATION", {
          message:
            "The tasks of a context are listed only where callers have tasks of their own; see open({ list })",
        });
      }
      const query = { contextId: record.task.contextId, limit: MAX_TASKS };
      const { rows } = await taskIndex(bindings, record.owner).list(query);
      return rows.map(({ body }) => JSON.parse(body) as Task);
    },
  };
}
