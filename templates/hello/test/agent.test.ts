import { exports } from "cloudflare:workers";
import { testAgent } from "durable-a2a/testing";
import { expect, test } from "vitest";
import { agent } from "../src/index.ts";

const tester = testAgent(agent);

test("greets by name", async () => {
  const task = await tester.send("Ada");
  expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  expect(task.artifacts?.[0]?.parts).toEqual([{ text: "Hello, Ada!" }]);
});

test("shows its work on the way", async () => {
  const texts: unknown[] = [];
  for await (const { statusUpdate } of tester.stream("Ada")) {
    texts.push(statusUpdate?.status.message?.parts[0]?.text);
  }
  expect(texts).toContain("Looking up a greeting");
});

test("the Worker serves the agent's card", async () => {
  const card = await exports.default.fetch("https://agent.test/.well-known/agent-card.json");
  expect(await card.json()).toMatchObject({ name: agent.definition.name });
});
