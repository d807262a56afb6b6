import { defineAgent, durableObjects, open, worker } from "durable-a2a";

export const agent = defineAgent({
  name: "Greeter",
  description: "Greets people by name",
  version: "1.0.0",
  skills: [{ id: "greet", name: "Greet", description: "Says hello", tags: ["hello"] }],
  auth: open(), // required: who may call is never a default
  async run(turn) {
    await turn.working("Looking up a greeting");
    return `Hello, ${turn.text}!`; // a string becomes an artifact, and the task completes
  },
});

export const { TaskObject, TaskIndex } = durableObjects(agent);
export default worker(agent);
