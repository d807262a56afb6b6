/** The lab agent: its behaviour is scripted by its input (`script.ts`). Started by `npm run lab`. */
import { env } from "cloudflare:workers";
import { apiKey, defineAgent, durableObjects, open, worker } from "durable-a2a";
import { conformanceScript } from "./conformance.ts";
import { runScript, scriptOf } from "./script.ts";

const { LAB_AUTH, LAB_PUSH_ALLOW } = env as { LAB_AUTH?: string; LAB_PUSH_ALLOW?: string };

const agent = defineAgent({
  id: "lab",
  name: "Lab",
  description: "Does what the script in its message says",
  version: "1.0.0",
  skills: [
    { id: "script", name: "Script", description: "Runs a script of steps", tags: ["test"] },
    { id: "echo", name: "Echo", description: "Gives the parts back", tags: ["test"] },
  ],
  auth: LAB_AUTH === "apikey" ? apiKey() : open({ list: true }),
  inputModes: ["*/*"],
  outputModes: ["text/plain", "application/json", "application/octet-stream"],
  replies: true,
  push: {
    allow: ["example.com", ...(LAB_PUSH_ALLOW ?? "").split(" ").filter(Boolean)],
    loopback: true,
  },
  extendedCard: (caller) => ({
    description: `Does what the script in its message says, for ${caller.principal || "anyone"}`,
  }),
  async run(turn) {
    const { messageId, parts } = turn.message;
    const script = scriptOf(parts) ?? conformanceScript(messageId);
    if (script) return runScript(turn, script);
    await turn.artifact({ name: "echo", parts });
    return turn.complete("echo");
  },
});

export { ExecutionCounter } from "./counter.ts";
export const { TaskObject, TaskIndex } = durableObjects(agent);
export default worker(agent);
