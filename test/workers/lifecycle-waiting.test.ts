/** Messages that arrive while a turn runs: they wait, and start the next turn (DESIGN, "Messages"; T-27). */
import type { Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { witnessed } from "./agents.ts";
import { BINDINGS, getTask, operate, pause, send, start } from "./bindings.ts";
import { message, script } from "./client.ts";
import { assemble, content, open, statesOf } from "./event-stream.ts";

const PATIENT = { agent: "patient" };
const PLAIN = { agent: "plain" };

function artifactTexts({ artifacts = [] }: Task): (string | undefined)[] {
  return artifacts.map(({ parts }) => parts[0]?.text);
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("two messages at once to a task that needs input are each served by a turn (T-27)", async () => {
    const { id } = await send(binding, script({ do: "input" }));
    const turn = (text: string) =>
      script({ do: "sleep", ms: 100 }, { do: "artifact", artifactId: text, parts: [{ text }] });
    const answers = await Promise.all([
      send(binding, turn("a"), { taskId: id, messageId: "a" }),
      send(binding, turn("b"), { taskId: id, messageId: "b" }),
    ]);
    const task = await getTask(binding, id);
    expect(answers).toEqual([task, task]);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifactTexts(task).sort()).toEqual(["a", "b"]);
    expect(task.history?.slice(1).map(({ messageId }) => messageId)).toEqual(artifactTexts(task));
  });

  test("messages that arrive during a turn wait and start turns in their order; each return value is an artifact (T-27)", async () => {
    const { id } = await start(binding, "200 first", {}, PATIENT);
    const second = await start(binding, "0 second", { taskId: id }, PATIENT);
    expect(second).toMatchObject({ id, status: { state: "TASK_STATE_WORKING" } });
    const third = await send(binding, "0 third", { taskId: id }, PATIENT);
    const texts = ["200 first", "0 second", "0 third"];
    expect(witnessed.get(id)).toEqual(texts.flatMap((text) => [`run ${text}`, `end ${text}`]));
    expect(third.status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifactTexts(third)).toEqual(texts.flatMap((text) => [text, text]));
    expect(third.history?.map(({ parts }) => parts[0]?.text)).toEqual(texts);
    expect(await getTask(binding, id, PATIENT)).toEqual(third);
  });

  test("the state stays WORKING between the turns, and a stream shows one end (T-27)", async () => {
    const first = { message: message("100 first") };
    const stream = await open(binding, "SendStreamingMessage", first, PATIENT);
    const task = (await stream.next())?.event.task;
    const waits = { message: message("0 second", { taskId: task?.id }) };
    const other = await open(binding, "SendStreamingMessage", waits, PATIENT);
    const [events, others] = await Promise.all([stream.rest(), other.rest()]);
    expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    const artifacts = events.flatMap(({ event }) => event.artifactUpdate?.artifact ?? []);
    expect(artifacts.map(({ artifactId }) => artifactId)).toEqual([
      "late-1.1",
      "artifact-1.1",
      "late-2.1",
      "artifact-2.1",
    ]);
    const ended = await getTask(binding, task?.id ?? "", PATIENT);
    expect(assemble(others)).toEqual(content(ended));
  });

  test("an explicit completion ends the task though a message waits, which no turn serves (T-27)", async () => {
    const { id } = await start(binding, "150 first!", {}, PATIENT);
    const task = await send(binding, "0 second", { taskId: id }, PATIENT);
    expect(task.status).toMatchObject({
      state: "TASK_STATE_COMPLETED",
      message: { parts: [{ text: "150 first!" }] },
    });
    expect(task.history).toHaveLength(2);
    expect(witnessed.get(id)).toEqual(["run 150 first!", "end 150 first!"]);
    expect(artifactTexts(task)).toEqual(["150 first!"]);
  });

  test.each([
    ["TASK_STATE_FAILED", { do: "fail", text: "no" }],
    ["TASK_STATE_REJECTED", { do: "reject", text: "no" }],
    ["TASK_STATE_FAILED", { do: "throw" }],
  ] as const)(
    "an end as %s by %o ends the task though a message waits (T-27)",
    async (state, ending) => {
      const { id } = await start(binding, script({ do: "sleep", ms: 100 }, ending));
      const task = await send(binding, "second", { taskId: id });
      expect(task).toMatchObject({ id, status: { state }, artifacts: [] });
    },
  );

  test("a turn that asks for input while a message waits has it: the state stays WORKING (T-27)", async () => {
    const asks = script({ do: "sleep", ms: 100 }, { do: "input", text: "more?" });
    const stream = await open(binding, "SendStreamingMessage", { message: message(asks) }, PLAIN);
    const { id = "" } = (await stream.next())?.event.task ?? {};
    const task = await send(binding, "here", { taskId: id }, PLAIN);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifactTexts(task)).toEqual(["You said: here"]);
    expect(new Set(statesOf(await stream.rest()))).toEqual(
      new Set(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]),
    );
  });

  test("a turn that publishes INPUT_REQUIRED while a message waits does not keep the next turn from completing (T-27)", async () => {
    const event = { statusUpdate: { status: { state: "TASK_STATE_INPUT_REQUIRED" } } };
    const { id } = await start(binding, script({ do: "sleep", ms: 100 }, { do: "publish", event }));
    await start(binding, script({ do: "artifact", parts: [{ text: "two" }] }), { taskId: id });
    await pause(250);
    const task = await getTask(binding, id);
    expect(artifactTexts(task)).toEqual(["two"]);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  test("a message at AUTH_REQUIRED while the turn goes on makes the task WORKING, and waits (T-27)", async () => {
    const event = { statusUpdate: { status: { state: "TASK_STATE_AUTH_REQUIRED" } } };
    const { id } = await send(binding, script({ do: "publish", event }, { do: "sleep", ms: 150 }));
    const taken = await start(binding, "second", { taskId: id });
    expect(taken.status.state).toBe("TASK_STATE_WORKING");
    expect(taken.artifacts).toEqual([]);
    const stream = await open(binding, "SubscribeToTask", { id });
    await stream.rest();
    const task = await getTask(binding, id);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifactTexts(task)).toEqual(["You said: second"]);
  });

  test("a cancel ends the task and the messages that wait (T-27)", async () => {
    const { id } = await start(binding, "150 first", {}, PATIENT);
    const waits = send(binding, "0 second", { taskId: id }, PATIENT);
    await start(binding, "0 third", { taskId: id }, PATIENT);
    await operate(binding, "CancelTask", { id }, PATIENT);
    expect((await waits).status.state).toBe("TASK_STATE_CANCELED");
    await pause(250);
    expect(witnessed.get(id)?.filter((note) => note.startsWith("run"))).toEqual(["run 150 first"]);
    expect((await getTask(binding, id, PATIENT)).artifacts).toEqual([]);
  });
});
