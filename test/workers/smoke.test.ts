import { expect, test } from "vitest";
import { rpc } from "./client.ts";

test("a message is answered with the completed task", async () => {
  const { body } = await rpc("SendMessage", {
    message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] },
  });
  expect(body).toMatchObject({ result: { task: { status: { state: "TASK_STATE_COMPLETED" } } } });
});
