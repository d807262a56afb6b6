import { defineAgent, durableObjects, open, worker } from "durable-a2a";
import { type ModelEnv, reply } from "./model.ts";

export const agent = defineAgent<ModelEnv>({
  name: "Assistant",
  description: "Answers questions with a language model, word by word",
  version: "1.0.0",
  skills: [{ id: "answer", name: "Answer", description: "Answers a question", tags: ["llm"] }],
  auth: open(), // required: who may call is never a default
  async run(turn) {
    if (turn.text === "") return turn.reject("Ask me something, in words");
    // Each piece is shown at once; the log keeps them in groups, and a stream that came to its end is not run again.
    await turn.stream({ name: "answer" }, () => reply(turn.env, turn.task.history ?? [], turn.signal));
    // The next message of the client goes on with this conversation.
    return turn.inputRequired();
  },
});

export const { TaskObject, TaskIndex } = durableObjects(agent);
export default worker(agent);
