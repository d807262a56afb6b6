import { testAgent } from "durable-a2a/testing";
import { expect, test } from "vitest";
import { agent } from "../src/index.ts";

const tester = testAgent(agent);

test("streams its answer in pieces that add up to the artifact", async () => {
  let id = "";
  let streamed = "";
  for await (const { task, artifactUpdate } of tester.stream("What is A2A?")) {
    id ||= task?.id ?? "";
    for (const { text = "" } of artifactUpdate?.artifact.parts ?? []) streamed += text;
  }
  expect(streamed).toBe("This is question 1, and no model is configured: What is A2A?");
  const { artifacts } = await tester.get(id);
  expect(artifacts?.[0]?.parts).toEqual([{ text: streamed }]);
});

test("goes on with the conversation", async () => {
  const { id } = await tester.send("What is A2A?");
  const { artifacts } = await tester.send("And who made it?", { taskId: id });
  expect(artifacts?.at(-1)?.parts[0]?.text).toContain("question 2");
});

test("a message without words is rejected", async () => {
  const { status } = await tester.send([{ text: "" }]);
  expect(status.state).toBe("TASK_STATE_REJECTED");
});
