import { describe, expect, test } from "vitest";
import { begin, proceed } from "../../src/task/accept.ts";
import { apply, type TaskRecord } from "../../src/task/apply.ts";
import type { AcceptedMessage, TaskEvent } from "../../src/task/event.ts";
import { rewind } from "../../src/task/rewind.ts";
import { viewTask } from "../../src/task/view.ts";
import { anyone } from "../births.ts";

function user(messageId: string, more = {}): AcceptedMessage {
  return {
    message: { messageId, role: "ROLE_USER", parts: [{ text: messageId }], ...more },
    caller: anyone,
  };
}

function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
}

function fold(events: readonly TaskEvent[], from?: TaskRecord): TaskRecord {
  let record = from;
  for (const event of events) {
    const applied = apply(record, event);
    if (!applied.ok) throw new Error(applied.refusal.message);
    record = applied.value;
  }
  if (!record) throw new Error("no events");
  return record;
}

const ids = { agentId: "a", owner: "o", taskId: "t" };
const born = begin(ids, user("m1", { contextId: "c" }), at(1));

function status(
  state: NonNullable<TaskRecord["task"]["status"]>["state"],
  second: number,
  text?: string,
): TaskEvent {
  const message = {
    messageId: `s${second}`,
    role: "ROLE_AGENT" as const,
    parts: [{ text: text ?? "" }],
  };
  return { kind: "status", status: { state, timestamp: at(second), ...(text && { message }) } };
}

function artifact(artifactId: string, text: string, more: object = {}): TaskEvent {
  return { kind: "artifact", artifact: { artifactId, parts: [{ text }] }, ...more };
}

describe("a new task", () => {
  test("is WORKING on its first message, in the client's context, with the ids filled in", () => {
    const { task, turn, turns, waiting } = fold(born);
    expect(task).toMatchObject({
      id: "t",
      contextId: "c",
      status: { state: "TASK_STATE_WORKING", timestamp: at(1) },
    });
    expect(task.history).toMatchObject([{ messageId: "m1", taskId: "t", contextId: "c" }]);
    expect(turn).toMatchObject({ attempt: 1, restarts: 0 });
    expect({ turns, waiting }).toEqual({ turns: 1, waiting: [] });
  });

  test("gets a context of its own when the client names none", () => {
    expect(fold(begin(ids, user("m1"), at(1))).task.contextId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("begins with nothing but its creation", () => {
    expect(apply(undefined, status("TASK_STATE_WORKING", 1))).toMatchObject({ ok: false });
    expect(apply(fold(born), born[0] as TaskEvent)).toMatchObject({ ok: false });
  });
});

describe("a terminal state absorbs: nothing changes a task that is", () => {
  const late: TaskEvent[] = [
    status("TASK_STATE_WORKING", 9),
    status("TASK_STATE_FAILED", 9),
    artifact("late", "x"),
    { kind: "metadata", metadata: { late: true } },
    { kind: "turn-ended" },
  ];
  test.each([
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
  ] as const)("%s (T-19)", (state) => {
    const ended = fold([...born, status(state, 2)]);
    expect(ended.turn).toBeUndefined();
    for (const event of late) expect(apply(ended, event)).toEqual({ ok: true, value: ended });
    expect(proceed(ended, user("m2"), at(3))).toMatchObject({
      refusal: { reason: "UNSUPPORTED_OPERATION" },
    });
  });
});

test("a status that goes back in time keeps the later time", () => {
  const { task } = fold([
    ...born,
    status("TASK_STATE_WORKING", 9),
    status("TASK_STATE_INPUT_REQUIRED", 5),
  ]);
  expect(task.status).toEqual({ state: "TASK_STATE_INPUT_REQUIRED", timestamp: at(9) });
});

test("no task goes back to SUBMITTED", () => {
  expect(apply(fold(born), status("TASK_STATE_SUBMITTED", 2))).toMatchObject({
    refusal: { reason: "INVALID_AGENT_RESPONSE" },
  });
});

test("the history has user messages, and status messages once they are replaced, in the order of events (T-06)", () => {
  const asked = fold([
    ...born,
    status("TASK_STATE_WORKING", 2, "on it"),
    status("TASK_STATE_INPUT_REQUIRED", 3, "which?"),
  ]);
  const ended = fold([{ kind: "turn-ended" }], asked);
  const next = proceed(ended, user("m2"), at(4));
  if (!next.ok) throw new Error("refused");
  const { task, turns, input } = fold(next.value, ended);
  expect(task.history.map(({ messageId }) => messageId)).toEqual(["m1", "s2", "s3", "m2"]);
  expect(task.status).toEqual({ state: "TASK_STATE_WORKING", timestamp: at(4) });
  expect({ turns, input }).toMatchObject({ turns: 2, input: { message: { messageId: "m2" } } });
});

test("a history keeps the latest thousand messages", () => {
  const many = Array.from({ length: 1_001 }, (_, i) => status("TASK_STATE_WORKING", i + 2, `${i}`));
  const { history } = fold([...born, ...many]).task;
  expect(history).toHaveLength(1_000);
  expect(history[0]?.parts).toEqual([{ text: "0" }]);
});

describe("a message for a task whose turn runs", () => {
  test("waits, and starts the next turn in its order (T-27)", () => {
    let record = fold(born);
    for (const [index, id] of ["m2", "m3"].entries()) {
      const next = proceed(record, user(id), at(index + 2));
      if (!next.ok) throw new Error("refused");
      expect(next.value.map(({ kind }) => kind)).toEqual(["message"]);
      record = fold(next.value, record);
    }
    expect(record.waiting.map(({ message }) => message.messageId)).toEqual(["m2", "m3"]);
    expect(apply(record, { kind: "turn-started" })).toMatchObject({ ok: false });
    record = fold([{ kind: "turn-ended" }, { kind: "turn-started" }], record);
    expect(record).toMatchObject({ turns: 2, input: { message: { messageId: "m2" } } });
  });

  test("is refused when it names another context (T-03)", () => {
    expect(proceed(fold(born), user("m2", { contextId: "other" }), at(2))).toMatchObject({
      refusal: { reason: "INVALID_PARAMS", fields: [{ field: "message.contextId" }] },
    });
  });
});

describe("an artifact", () => {
  test("is replaced in its place without append, and extended with it (T-23)", () => {
    const { artifacts } = fold([
      ...born,
      artifact("a", "1"),
      artifact("b", "x"),
      artifact("a", "2"),
      artifact("a", "3", { append: true }),
    ]).task;
    expect(artifacts).toEqual([
      { artifactId: "a", parts: [{ text: "2" }, { text: "3" }] },
      { artifactId: "b", parts: [{ text: "x" }] },
    ]);
  });

  test("that is not there is created by append (T-24)", () => {
    expect(fold([...born, artifact("a", "1", { append: true })]).task.artifacts).toHaveLength(1);
  });

  test("that grows by chunks joins adjacent plain text alone", () => {
    const chunk = (part: object): TaskEvent => ({
      kind: "artifact",
      artifact: { artifactId: "a", parts: [part] },
      append: true,
      chunk: true,
    });
    const parts = [
      { text: "a" },
      { text: "b" },
      { data: 1 },
      { text: "c" },
      { text: "d", filename: "d" },
      { text: "e" },
    ];
    expect(fold([...born, ...parts.map(chunk)]).task.artifacts[0]?.parts).toEqual([
      { text: "ab" },
      { data: 1 },
      { text: "c" },
      { text: "d", filename: "d" },
      { text: "e" },
    ]);
  });

  test("without parts is refused (P-20)", () => {
    const event: TaskEvent = { kind: "artifact", artifact: { artifactId: "a", parts: [] } };
    expect(apply(fold(born), event)).toMatchObject({ refusal: { reason: "INVALID_AGENT_RESPONSE" } });
  });
});

test("what came before is not changed in place", () => {
  const before = fold([...born, artifact("a", "1")]);
  const copy = structuredClone(before);
  fold(
    [artifact("a", "2", { append: true, chunk: true }), status("TASK_STATE_COMPLETED", 9, "x")],
    before,
  );
  expect(before).toEqual(copy);
});

test.each([0, 3, 4, 5, 99])("a log rewound to %d and played on is the task again", (seq) => {
  const events = [
    ...born,
    artifact("a", "1"),
    status("TASK_STATE_WORKING", 2, "x"),
    artifact("a", "2"),
  ];
  const stored = events.map((event, index) => ({ seq: index + 1, event }));
  const { record, later } = rewind(stored, seq);
  expect(later.map((each) => each.seq)).toEqual(
    stored.map((each) => each.seq).filter((each) => each > seq),
  );
  expect(
    fold(
      later.map(({ event }) => event),
      record,
    ),
  ).toEqual(fold(events));
});

test.each([
  [undefined, 3],
  [0, undefined],
  [2, 2],
  [99, 3],
])("a view with historyLength %s shows %s messages (T-20)", (historyLength, shown) => {
  const { task } = fold([
    ...born,
    status("TASK_STATE_WORKING", 2, "x"),
    status("TASK_STATE_WORKING", 3, "y"),
    status("TASK_STATE_COMPLETED", 4),
  ]);
  expect(viewTask(task, { historyLength }).history?.length).toBe(shown);
  expect(viewTask(task, { artifacts: false })).not.toHaveProperty("artifacts");
});
