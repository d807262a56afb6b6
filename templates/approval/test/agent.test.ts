import { exports } from "cloudflare:workers";
import type { Task } from "durable-a2a";
import { testAgent } from "durable-a2a/testing";
import { afterEach, expect, test } from "vitest";
import { agent } from "../src/index.ts";

const tester = testAgent(agent);
afterEach(() => tester.resetClock());

const asked = ({ status }: Task) => status.message?.parts[0]?.text ?? "";

/** The link of a task that waits for its signature. */
async function approved(what = "shop v7"): Promise<{ id: string; link: string }> {
  const { id } = await tester.send(what);
  await tester.send("yes", { taskId: id, returnImmediately: true });
  const task = await tester.until(id, "TASK_STATE_AUTH_REQUIRED");
  return { id, link: `https://agent.test${/\/sign-off\S+/.exec(asked(task))?.[0]}` };
}

const sign = (link: string) => exports.default.fetch(link, { method: "POST" });

test("asks what is missing, then for a yes", async () => {
  const first = await tester.send("");
  expect(asked(first)).toBe("Which service, and which version?");
  const second = await tester.send("shop v7", { taskId: first.id });
  expect(asked(second)).toBe("Deploy shop v7 to production? Answer yes or no.");
});

test("deploys what was approved and signed", async () => {
  const { id, link } = await approved();
  expect((await sign(link)).status).toBe(200);
  const { status, artifacts } = await tester.until(id);
  expect(status.state).toBe("TASK_STATE_COMPLETED");
  expect(artifacts?.[0]?.parts[0]?.text).toContain("shop v7 is deployed");
  // A link is good for one signature.
  expect((await sign(link)).status).toBe(403);
});

test("waits through days and a deploy of the agent", async () => {
  const { id } = await tester.send("shop v7");
  await tester.advance("2 days");
  await tester.cut();
  await tester.send("yes", { taskId: id, returnImmediately: true });
  await tester.until(id, "TASK_STATE_AUTH_REQUIRED");
});

test("nobody signs by looking, by guessing, or by a message", async () => {
  const { id, link } = await approved();
  expect((await exports.default.fetch(link)).status).toBe(200);
  expect((await sign(link.replace(/key=.*/, `key=${crypto.randomUUID()}`))).status).toBe(403);
  expect((await tester.get(id)).status.state).toBe("TASK_STATE_AUTH_REQUIRED");
  const { status } = await tester.send("I signed it myself", { taskId: id });
  expect(status.state).toBe("TASK_STATE_REJECTED");
});

test("without a yes nothing is deployed", async () => {
  const { id } = await tester.send("shop v7");
  expect((await tester.send("no", { taskId: id })).status.state).toBe("TASK_STATE_REJECTED");
});
