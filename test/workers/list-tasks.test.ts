/** ListTasks: filters, order, what is shown (CASES.md, group 4; §3.1.4). */
import type { Task } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { BINDINGS, expectRefused, getTask, operate, pause, send, start } from "./bindings.ts";
import { message, script } from "./client.ts";
import { open } from "./event-stream.ts";
import { ALICE, ask, BOB, ids, list, MIRROR, make } from "./lists.ts";

describe.each(BINDINGS)("over %s", (binding) => {
  test("an owner without tasks gets an empty page with every member (L-02)", async () => {
    const nobody = { agent: "mirror", headers: { "X-API-Key": "bob-key" } };
    const empty = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };
    expect(await list(binding, {}, nobody)).toEqual(empty);
    await make(1);
    expect(await list(binding, { contextId: "never used" })).toEqual(empty);
  });

  test("without a filter all tasks are listed, bare: as GetTask has them without history and artifacts (L-01, L-06)", async () => {
    const made = await make(
      3,
      script({ do: "artifact", parts: [{ text: "1" }] }, { do: "complete", text: "ok" }),
    );
    for (const filter of [{}, { status: "TASK_STATE_UNSPECIFIED" }, { contextId: "" }]) {
      const page = await list(binding, filter);
      const expected = made.toReversed().map(({ history: _, artifacts: __, ...bare }) => bare);
      expect(page.tasks.slice(0, 3)).toEqual(expected);
      expect(page.totalSize).toBeGreaterThanOrEqual(3);
    }
  });

  test("the filters for status and context choose the tasks, alone and together (L-01)", async () => {
    const contextId = crypto.randomUUID();
    const publish = {
      do: "publish",
      event: { statusUpdate: { status: { state: "TASK_STATE_AUTH_REQUIRED" } } },
    };
    const made = {
      TASK_STATE_COMPLETED: await send(binding, script({ do: "complete" }), { contextId }, ALICE),
      TASK_STATE_FAILED: await send(binding, script({ do: "fail" }), { contextId }, ALICE),
      TASK_STATE_REJECTED: await send(binding, script({ do: "reject" }), { contextId }, ALICE),
      TASK_STATE_INPUT_REQUIRED: await send(binding, script({ do: "input" }), { contextId }, ALICE),
      TASK_STATE_AUTH_REQUIRED: await send(binding, script(publish as never), { contextId }, ALICE),
      TASK_STATE_WORKING: await start(
        binding,
        script({ do: "sleep", ms: 3_000 }),
        { contextId },
        ALICE,
      ),
      TASK_STATE_CANCELED: await start(
        binding,
        script({ do: "sleep", ms: 3_000 }),
        { contextId },
        ALICE,
      ),
    };
    await operate(binding, "CancelTask", { id: made.TASK_STATE_CANCELED.id }, ALICE);
    expect(await list(binding, { contextId })).toMatchObject({ totalSize: 7 });
    for (const [status, { id }] of Object.entries(made)) {
      const page = await list(binding, { contextId, status });
      expect(ids(page), status).toEqual([id]);
      expect(page).toMatchObject({ totalSize: 1, tasks: [{ contextId, status: { state: status } }] });
      expect(ids(await list(binding, { status })), status).toContain(id);
    }
    expect(await list(binding, { contextId, status: "TASK_STATE_SUBMITTED" })).toMatchObject({
      totalSize: 0,
    });
  });

  test("statusTimestampAfter takes tasks of that very time and later, at any offset (L-01)", async () => {
    const [first, second, third] = (await make(3)) as [Task, Task, Task];
    const { contextId } = first;
    const since = async (time: string) =>
      ids(await list(binding, { contextId, statusTimestampAfter: time }));
    const time = second.status.timestamp ?? "";
    expect(await since(time)).toEqual([third.id, second.id]);
    const later = new Date(Date.parse(time) + 1).toISOString();
    expect(await since(later)).toEqual([third.id]);
    const inParis = new Date(Date.parse(time) + 3_600_000).toISOString().replace("Z", "+01:00");
    expect(await since(inParis)).toEqual([third.id, second.id]);
    expect(await since("2100-01-01T00:00:00Z")).toEqual([]);
    const past = {
      contextId,
      statusTimestampAfter: "2000-01-01T00:00:00Z",
      status: "TASK_STATE_COMPLETED",
    };
    expect(await list(binding, past)).toMatchObject({ totalSize: 3 });
  });

  test.each([
    ["status", "NOPE"],
    ["status", "working"],
    ["status", "completed"],
    ["statusTimestampAfter", "yesterday"],
    ["statusTimestampAfter", "2026-02-30T00:00:00Z"],
    ["includeArtifacts", "yes"],
  ])("a %s of %s is refused with the field named (L-08)", async (field, value) => {
    expectRefused(await ask(binding, { [field]: value }), "INVALID_PARAMS", field);
  });

  test("artifacts are shown only when asked for, and then also when there are none (L-06)", async () => {
    const parts = script({ do: "artifact", artifactId: "a", parts: [{ text: "1" }] });
    const [{ contextId }] = (await make(1, parts)) as [Task];
    await send(binding, script({ do: "complete" }), { contextId }, ALICE);
    for (const includeArtifacts of [undefined, false]) {
      for (const task of (await list(binding, { contextId, includeArtifacts })).tasks) {
        expect(task).not.toHaveProperty("artifacts");
        expect(task).not.toHaveProperty("history");
      }
    }
    const { tasks } = await list(binding, { contextId, includeArtifacts: true });
    expect(tasks.map(({ artifacts }) => artifacts)).toEqual([
      [],
      [{ artifactId: "a", parts: [{ text: "1" }] }],
    ]);
    for (const task of tasks) expect(task).not.toHaveProperty("history");
  });

  test("historyLength shows the last messages of each task, without artifacts (L-07)", async () => {
    const made = await make(2, script({ do: "working", text: "a" }, { do: "complete" }));
    const { contextId } = made[0] as Task;
    for (const historyLength of [1, 99]) {
      const { tasks } = await list(binding, { contextId, historyLength });
      const shown = made.toReversed().map(({ artifacts: _, history = [], ...rest }) => ({
        ...rest,
        history: history.slice(-historyLength),
      }));
      expect(tasks).toEqual(shown);
    }
    for (const task of (await list(binding, { contextId, historyLength: 0 })).tasks) {
      expect(task).not.toHaveProperty("history");
    }
  });

  test("a task whose status changed comes first (L-01)", async () => {
    const made = await make(3, script({ do: "input" }));
    const [first, second, third] = made.map(({ id }) => id);
    const { contextId } = made[0] as Task;
    expect(ids(await list(binding, { contextId }))).toEqual([third, second, first]);
    await send(binding, "go on", { taskId: first }, ALICE);
    expect(ids(await list(binding, { contextId }))).toEqual([first, third, second]);
  });

  test("a change is listed at most 300 ms after a stream showed it", async () => {
    const steps = script(
      { do: "sleep", ms: 100 },
      { do: "working", text: "half" },
      { do: "sleep", ms: 450 },
    );
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) }, ALICE);
    const events = [await stream.next(), await stream.next()];
    const { id = "", contextId } = events[0]?.event.task ?? {};
    const shown = async () => (await list(binding, { contextId })).tasks[0]?.status;
    await pause(300);
    expect(await shown()).toEqual(events[1]?.event.statusUpdate?.status);
    await stream.rest();
    await pause(300);
    expect(await shown()).toEqual((await getTask(binding, id, ALICE)).status);
    expect((await shown())?.state).toBe("TASK_STATE_COMPLETED");
  });

  test("each owner and each agent has a list of its own (L-09)", async () => {
    const contextId = crypto.randomUUID();
    for (const as of [ALICE, BOB, MIRROR]) {
      const { id } = await send(binding, "hi", { contextId }, as);
      expect(ids(await list(binding, { contextId }, as))).toEqual([id]);
      expect(ids(await list(binding, {}, as))[0]).toBe(id);
    }
  });

  test("an agent that is open to anyone lists no tasks", async () => {
    await send(binding, "hi", {}, { agent: "plain" });
    expectRefused(await operate(binding, "ListTasks", {}, { agent: "plain" }), "UNSUPPORTED_OPERATION");
  });
});
