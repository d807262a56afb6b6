/** `turn.reply`: a Message and no Task (§3.1.1, §3.1.2; DESIGN, "reply"). The root agent declares replies. */
import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Message, Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import {
  BINDINGS,
  type Binding,
  expectRefused,
  getTask,
  operate,
  reached,
  send,
  start,
} from "./bindings.ts";
import { message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";

const REPLY: Step = { do: "reply", parts: [{ text: "so" }, { data: { answer: 42 } }] };

async function ask(binding: Binding, ...steps: Step[]): Promise<{ message?: Message; task?: Task }> {
  const { value, error } = await operate(binding, "SendMessage", {
    message: message(script(...steps)),
  });
  if (!value) throw new Error(`refused: ${JSON.stringify(error)}`);
  return value;
}

/** The ids of the objects that `work` made. */
async function madeBy(work: () => Promise<unknown>): Promise<string[]> {
  const ids = async () => (await listDurableObjectIds(env.TASK_OBJECT)).map((id) => id.toString());
  const before = new Set(await ids());
  await work();
  return (await ids()).filter((id) => !before.has(id));
}

async function totalSize(binding: Binding): Promise<unknown> {
  return (await operate(binding, "ListTasks", {})).value?.totalSize;
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("a reply alone is answered as a Message that names no task", async () => {
    const answer = await ask(binding, REPLY);
    expect(answer).toEqual({
      message: {
        messageId: expect.stringMatching(/./),
        contextId: expect.stringMatching(/./),
        role: "ROLE_AGENT",
        parts: REPLY.do === "reply" ? REPLY.parts : [],
      },
    });
  });

  test("a reply is in the context that the message named", async () => {
    const asked = { message: message(script(REPLY), { contextId: "mine" }) };
    const { value } = await operate(binding, "SendMessage", asked);
    expect(value).toMatchObject({ message: { contextId: "mine" } });
  });

  test("a reply leaves no task behind: its object stores nothing, GetTask and ListTasks do not know it", async () => {
    await send(binding, "a task, so that there is a list");
    const before = await totalSize(binding);
    const [id = "", ...others] = await madeBy(() => ask(binding, REPLY));
    expect(others).toEqual([]);
    expectRefused(await operate(binding, "GetTask", { id }), "TASK_NOT_FOUND");
    expectRefused(await operate(binding, "CancelTask", { id }), "TASK_NOT_FOUND");
    expectRefused(await operate(binding, "SubscribeToTask", { id }), "TASK_NOT_FOUND");
    expect(await totalSize(binding)).toBe(before);
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
    const left = await runInDurableObject(stub, async (_, { storage }) => ({
      tables: storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '_cf%'").toArray(),
      alarm: await storage.getAlarm(),
    }));
    expect(left).toEqual({ tables: [], alarm: null });
  });

  test("a stream of a reply has exactly the one message, and closes (S-14)", async () => {
    const asked = { message: message(script(REPLY, { do: "working" })) };
    const stream = await open(binding, "SendStreamingMessage", asked);
    const events = await stream.rest();
    expect(events).toEqual([{ id: undefined, event: { message: expect.anything() } }]);
    expect(events[0]?.event.message?.taskId).toBeUndefined();
  });

  test("what is published after a reply is dropped, another message too (S-14)", async () => {
    const publish = (text: string): Step => ({
      do: "publish",
      event: { message: { messageId: text, role: "ROLE_AGENT", parts: [{ text }] } },
    });
    const steps = script(
      publish("first"),
      publish("second"),
      { do: "working", text: "late" },
      { do: "chunks", count: 1 },
      { do: "fail" },
    );
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) });
    const events = await stream.rest();
    expect(events.map(({ event }) => event.message?.parts)).toEqual([[{ text: "first" }]]);
  });

  test("a published message keeps its id, metadata and extensions", async () => {
    const published = {
      messageId: "m-1",
      role: "ROLE_AGENT" as const,
      parts: [{ text: "so" }],
      metadata: { score: 1 },
      extensions: ["https://example.com/extensions/optional/v1"],
      referenceTaskIds: ["other"],
    };
    const answer = await ask(binding, { do: "publish", event: { message: published } });
    expect(answer.message).toMatchObject(published);
  });

  test.each([
    ["a status", { do: "working", text: "first" }],
    ["an artifact", { do: "artifact", parts: [{ text: "first" }] }],
    ["a chunk", { do: "chunks", count: 1 }],
  ] as [string, Step][])(
    "after %s there is a task: the reply is its last status message (S-14)",
    async (_, step) => {
      const { task } = await ask(binding, step, REPLY);
      expect(task?.status).toMatchObject({
        state: "TASK_STATE_COMPLETED",
        message: {
          taskId: task?.id,
          role: "ROLE_AGENT",
          parts: [{ text: "so" }, { data: { answer: 42 } }],
        },
      });
      const stream = await open(binding, "SendStreamingMessage", {
        message: message(script(step, REPLY)),
      });
      const events = await stream.rest();
      expect(Object.keys(events[0]?.event ?? {})).toEqual(["task"]);
      for (const { event } of events.slice(1)) {
        expect(["statusUpdate", "artifactUpdate"]).toContain(Object.keys(event)[0]);
      }
      expect(statesOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
      const stored = await getTask(binding, events[0]?.event.task?.id ?? "");
      expect(stored.status).toEqual(events.at(-1)?.event.statusUpdate?.status);
    },
  );

  test("with returnImmediately the task is born at once, and the reply is its status message", async () => {
    const { id, status } = await start(binding, script({ do: "sleep", ms: 50 }, REPLY));
    expect(status.state).toBe("TASK_STATE_WORKING");
    const task = await reached(binding, id, "TASK_STATE_COMPLETED");
    expect(task.status.message?.parts[0]).toEqual({ text: "so" });
  });

  test("a reply to a further message of a task ends the task with it", async () => {
    const { id } = await send(binding, script({ do: "input" }));
    const task = await send(binding, script(REPLY), { taskId: id });
    expect(task).toMatchObject({
      id,
      status: { state: "TASK_STATE_COMPLETED", message: { parts: [{ text: "so" }, {}] } },
    });
  });

  test("an agent that replies without declaring it fails its task", async () => {
    const asked = { message: message(script(REPLY)) };
    const answer = await operate(binding, "SendMessage", asked, { agent: "plain" });
    expectRefused(answer, "INVALID_AGENT_RESPONSE");
    const { taskId = "" } = (answer.error?.details[0]?.metadata ?? {}) as { taskId?: string };
    const { status } = await getTask(binding, taskId, { agent: "plain" });
    expect(status.state).toBe("TASK_STATE_FAILED");
    expect(status.message?.parts[0]?.text).toMatch(/replies: true/);
  });

  test.each([
    ["throws", { do: "throw" }, "TASK_STATE_FAILED"],
    ["completes", { do: "complete" }, "TASK_STATE_COMPLETED"],
    ["asks for input", { do: "input" }, "TASK_STATE_INPUT_REQUIRED"],
  ] as [string, Step, string][])(
    "an agent that %s at once is answered as a task",
    async (_, step, state) => {
      const { task } = await ask(binding, step);
      expect(task?.status.state).toBe(state);
      expect(await getTask(binding, task?.id ?? "")).toEqual(task);
    },
  );
});

test("an agent that says nothing for 2 s is born as a task, and its reply is the status message", async () => {
  const late = script({ do: "sleep", ms: 2_300 }, REPLY);
  const early = script({ do: "sleep", ms: 1_500 }, REPLY);
  const one = async (binding: Binding) => {
    const began = Date.now();
    const [stream, held] = await Promise.all([
      open(binding, "SendStreamingMessage", { message: message(late) }),
      open(binding, "SendStreamingMessage", { message: message(early) }),
    ]);
    const blocking = send(binding, late);
    expect(Object.keys((await held.next())?.event ?? {})).toEqual(["message"]);
    const first = await stream.next();
    expect(Date.now() - began).toBeGreaterThan(1_900);
    expect(first?.event.task?.status.state).toBe("TASK_STATE_WORKING");
    expect(statesOf(await stream.rest())).toEqual(["TASK_STATE_COMPLETED"]);
    const { id, status } = await blocking;
    expect(status).toMatchObject({
      state: "TASK_STATE_COMPLETED",
      message: { parts: [{ text: "so" }, {}] },
    });
    expect((await getTask(binding, id)).status).toEqual(status);
  };
  await Promise.all(BINDINGS.map(one));
}, 10_000);
