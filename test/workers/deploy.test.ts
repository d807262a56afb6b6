/** What a deploy of other code means for the tasks that are there. */
import { abortAllDurableObjects } from "cloudflare:test";
import type { Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { deployed } from "./agents.ts";
import { BINDINGS, type Binding, getTask, operate, reached, start } from "./bindings.ts";
import { message } from "./client.ts";
import { assemble, content, open, statesOf } from "./event-stream.ts";
import { tablesOf } from "./kept.ts";

const EVOLVING = { agent: "evolving", headers: { "X-API-Key": "alice-key" } };
const HOOK = { id: "hook", url: "https://example.com/hook", token: "secret" };

async function putHook(binding: Binding, { id }: Task): Promise<void> {
  const { error } = await operate(
    binding,
    "CreateTaskPushNotificationConfig",
    { taskId: id, ...HOOK },
    EVOLVING,
  );
  expect(error).toBeUndefined();
}

/** The webhook is there for its owner, and all that is needed to call it is stored. */
async function expectHook(binding: Binding, id: string): Promise<void> {
  const { value } = await operate(binding, "ListTaskPushNotificationConfigs", { taskId: id }, EVOLVING);
  expect(value).toMatchObject({ configs: [{ id: HOOK.id, taskId: id, url: HOOK.url }] });
  const [row] = (await tablesOf(id)).push ?? [];
  expect(JSON.parse(String(row?.config))).toMatchObject(HOOK);
}

describe.each(BINDINGS)("a deploy of other code (%s)", (binding) => {
  test("goes on with a running task: what it remembers is kept, its streams show the end, its webhooks stay", async () => {
    const ran: string[] = [];
    deployed.run = async (turn) => {
      await turn.step("draft", async () => {
        ran.push("draft of the old code");
        return "a draft";
      });
      await turn.artifact({ artifactId: "draft", parts: "a draft" });
      await new Promise(() => {});
    };
    const task = await start(binding, "write", {}, EVOLVING);
    await putHook(binding, task);
    const stream = await open(binding, "SubscribeToTask", { id: task.id }, EVOLVING);
    const first = await stream.next();
    expect(first?.event.task?.id).toBe(task.id);

    deployed.run = async (turn) => {
      const draft = await turn.step("draft", async () => {
        ran.push("draft of the new code");
        return "another draft";
      });
      await turn.artifact({ artifactId: "draft", parts: "a draft" });
      return turn.complete(`${draft}, polished in run ${turn.attempt}`);
    };
    await abortAllDurableObjects();
    const events = [...(first ? [first] : []), ...(await stream.rest())];
    expect(statesOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
    const done = await getTask(binding, task.id, EVOLVING);
    expect(done.status.message?.parts).toEqual([{ text: "a draft, polished in run 2" }]);
    expect(ran).toEqual(["draft of the old code"]);
    expect(content(assemble(events))).toEqual(content(done));
    await expectHook(binding, task.id);
  });

  test("leaves a task that waits as it is, and its next message is served by the new code", async () => {
    deployed.run = (turn) => turn.inputRequired("which?");
    const task = await start(binding, "begin", {}, EVOLVING);
    await reached(binding, task.id, "TASK_STATE_INPUT_REQUIRED", EVOLVING);
    deployed.run = (turn) => turn.complete(`the new code had "${turn.text}"`);
    await abortAllDurableObjects();
    const waiting = await getTask(binding, task.id, EVOLVING);
    expect(waiting.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const more = { message: message("this", { taskId: task.id }) };
    const { value } = await operate(binding, "SendMessage", more, EVOLVING);
    expect(value).toMatchObject({
      task: { status: { message: { parts: [{ text: 'the new code had "this"' }] } } },
    });
  });
});
