/** What answers show of a task: history and artifacts (CASES.md, group 3). */
import type { Message, Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { BINDINGS, type Binding, expectRefused, getTask, operate, send } from "./bindings.ts";
import { message, script } from "./client.ts";
import { open } from "./event-stream.ts";

function part(artifactId: string, text: string, more: object = {}): Step {
  return { do: "artifact", artifactId, parts: [{ text }], ...more };
}

/** Leaves a history of five messages. */
const FIVE = script(
  { do: "working", text: "a" },
  { do: "working", text: "b" },
  { do: "working", text: "c" },
  { do: "working", text: "d" },
  { do: "complete", text: "the end is no history yet" },
);

async function sent(binding: Binding, configuration: object): Promise<Task> {
  return send(binding, FIVE, {}, { configuration });
}

async function got(binding: Binding, view: object): Promise<Task> {
  const { id } = await sent(binding, {});
  return (await operate(binding, "GetTask", { id, ...view })).value as unknown as Task;
}

async function listed(binding: Binding, view: object): Promise<Task> {
  const contextId = crypto.randomUUID();
  await send(binding, FIVE, { contextId });
  const { value } = await operate(binding, "ListTasks", { contextId, ...view });
  return (value as { tasks: [Task] }).tasks[0];
}

const ASK = { SendMessage: sent, GetTask: got, ListTasks: listed };

function texts(history: Message[] | undefined): (string | undefined)[] | undefined {
  return history?.map(({ role, parts }) => (role === "ROLE_USER" ? "user" : parts[0]?.text));
}

const ALL = ["user", "a", "b", "c", "d"];

describe.each(BINDINGS)("over %s", (binding) => {
  test.each([
    ["SendMessage", {}, ALL],
    ["SendMessage", { historyLength: 0 }, undefined],
    ["SendMessage", { historyLength: 2 }, ["c", "d"]],
    ["SendMessage", { historyLength: 5 }, ALL],
    ["SendMessage", { historyLength: 99 }, ALL],
    ["GetTask", {}, ALL],
    ["GetTask", { historyLength: 0 }, undefined],
    ["GetTask", { historyLength: 2 }, ["c", "d"]],
    ["GetTask", { historyLength: 99 }, ALL],
    ["GetTask", { historyLength: 999_999_999 }, ALL],
    ["ListTasks", {}, undefined],
    ["ListTasks", { historyLength: 0 }, undefined],
    ["ListTasks", { historyLength: 2 }, ["c", "d"]],
    ["ListTasks", { historyLength: 99 }, ALL],
  ] as const)(
    "of five messages %s shows with %o: %o (T-20, T-22)",
    async (operation, view, expected) => {
      const task = await ASK[operation](binding, view);
      expect(texts(task.history)).toEqual(expected);
      expect("history" in task).toBe(expected !== undefined);
      expect(task.status.message?.parts).toEqual([{ text: "the end is no history yet" }]);
    },
  );

  test.each(["abc", "NaN", "1.5", "-1", "2147483648"])(
    "a historyLength of %s is refused with the field named (T-22)",
    async (historyLength) => {
      const { id } = await send(binding, "hi");
      const asked = await operate(binding, "GetTask", { id, historyLength });
      expectRefused(asked, "INVALID_PARAMS", "historyLength");
      expectRefused(
        await operate(binding, "ListTasks", { historyLength }),
        "INVALID_PARAMS",
        "historyLength",
      );
      const params = { message: message("hi"), configuration: { historyLength } };
      expectRefused(
        await operate(binding, "SendMessage", params),
        "INVALID_PARAMS",
        "configuration.historyLength",
      );
    },
  );

  test("artifact updates with append make one artifact with all the parts (T-23)", async () => {
    const steps = script(
      part("a", "1", { name: "named" }),
      part("a", "2", { append: true }),
      part("a", "3", { append: true, lastChunk: true }),
    );
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) });
    const events = await stream.rest();
    const updates = events.flatMap(({ event }) => event.artifactUpdate ?? []);
    expect(updates.map(({ append, lastChunk }) => [append ?? false, lastChunk ?? false])).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
    const { artifacts } = await getTask(binding, updates[0]?.taskId ?? "");
    expect(artifacts).toEqual([
      { artifactId: "a", name: "named", parts: [{ text: "1" }, { text: "2" }, { text: "3" }] },
    ]);
  });

  test("an artifact update without append replaces the artifact in its place (T-23)", async () => {
    const { artifacts } = await send(binding, script(part("a", "1"), part("b", "2"), part("a", "3")));
    expect(artifacts).toEqual([
      { artifactId: "a", parts: [{ text: "3" }] },
      { artifactId: "b", parts: [{ text: "2" }] },
    ]);
  });

  test("append to an artifact that is not there creates it (T-24)", async () => {
    const { id, artifacts } = await send(binding, script(part("a", "1", { append: true })));
    expect(artifacts).toEqual([{ artifactId: "a", parts: [{ text: "1" }] }]);
    expect((await getTask(binding, id)).artifacts).toEqual(artifacts);
  });
});
