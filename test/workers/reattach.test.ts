import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { BINDINGS, getTask, operate, pause, send } from "./bindings.ts";
import { message, script } from "./client.ts";
import { assemble, content, open, statesOf } from "./event-stream.ts";

const steps: Step[] = [
  { do: "working", text: "on it" },
  { do: "artifact", artifactId: "first", parts: [{ text: "whole" }] },
  { do: "chunks", artifactId: "grows", count: 40, everyMs: 20, text: "word " },
  { do: "sleep", ms: 300 },
];

describe.each(BINDINGS)("an object that is reset under a call (%s)", (binding) => {
  test.each([150, 400, 700])(
    "does not break its stream, which adds up to what GetTask shows: cut after %d ms",
    async (ms) => {
      const stream = await open(binding, "SendStreamingMessage", {
        message: message(script(...steps)),
      });
      const cut = pause(ms).then(() => abortAllDurableObjects());
      const events = await stream.rest();
      await cut;
      expect(statesOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
      const task = await getTask(binding, events[0]?.event.task?.id ?? "");
      const assembled = assemble(events);
      expect(content(assembled)).toEqual(content(task));
      const text = Array.from({ length: 40 }, (_, i) => `word ${i}`).join("");
      expect(task.artifacts).toMatchObject([{ parts: [{ text: "whole" }] }, { parts: [{ text }] }]);
      const ids = events.flatMap(({ id }) => id ?? []);
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    },
  );

  test("does not break a subscriber's stream either", async () => {
    const { id } = await send(
      binding,
      script(...steps),
      {},
      { configuration: { returnImmediately: true } },
    );
    const stream = await open(binding, "SubscribeToTask", { id });
    await stream.next();
    await abortAllDurableObjects();
    expect(statesOf(await stream.rest()).at(-1)).toBe("TASK_STATE_COMPLETED");
  });

  test("gives a call that waits the task as it went on", async () => {
    const answer = operate(binding, "SendMessage", { message: message(script(...steps)) });
    await pause(200);
    await abortAllDurableObjects();
    expect(await answer).toMatchObject({
      value: { task: { status: { state: "TASK_STATE_COMPLETED" } } },
    });
  });

  test("leaves a stream on a task that waits for its client open for what follows", async () => {
    const { id } = await send(binding, script({ do: "input", text: "which?" }));
    const stream = await open(binding, "SubscribeToTask", { id });
    expect((await stream.next())?.event.task?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await abortAllDurableObjects();
    await pause(100);
    await send(binding, script({ do: "complete", text: "that one" }), { taskId: id });
    expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
  });
});
