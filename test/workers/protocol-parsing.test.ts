/** What is read of a message and of other requests, in both bindings (§4.1.4 to §4.1.6, §5.5, §5.7). */
import { describe, expect, test } from "vitest";
import { BINDINGS, exchange, operate } from "./bindings.ts";
import { type Json, message, script } from "./client.ts";
import { refusal, wire } from "./refusals.ts";

/** A message of parts that need not be legal, with members replaced. */
function told(parts: unknown, changes: Json = {}): Json {
  return { ...message("hi"), parts, ...changes };
}

/** Every member's name and every value of a JSON document, to any depth. */
function walk(value: unknown, visit: (name: string, value: unknown) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, child] of Object.entries(value)) {
    visit(name, child);
    walk(child, visit);
  }
}

describe.each(BINDINGS)("over %s,", (binding) => {
  /** The task that a legal message makes. */
  async function taskOf(sent: Json, more: Json = {}, agent?: string): Promise<Json> {
    const options = agent === undefined ? {} : { agent };
    const { value, error } = await operate(binding, "SendMessage", { message: sent, ...more }, options);
    if (!value?.task) throw new Error(`no task: ${JSON.stringify(error ?? value)}`);
    return value.task as Json;
  }

  /** The parts of the message as the task's history has them. */
  async function partsOf(parts: unknown): Promise<unknown> {
    const { history } = (await taskOf(told(parts))) as { history: Json[] };
    return history[0]?.parts;
  }

  const refused = (params: object, agent?: string) =>
    wire(exchange(binding, "SendMessage", params, agent === undefined ? {} : { agent }));
  const wrong = (...fields: string[]) => refusal(binding, "INVALID_PARAMS", { fields });

  describe("a part", () => {
    test.each<[title: string, part: object]>([
      ["two populated members", { text: "hello", url: "https://e.com/x" }],
      ["text beside data", { text: "hello", data: {} }],
      ["raw beside data that is false", { raw: "aGk=", data: false }],
      ["two empty members", { text: "", url: "" }],
    ])("with %s is refused by its path (P-09)", async (_title, part) => {
      const answer = await refused({ message: told([{ text: "first" }, part]) });
      expect(answer).toEqual(wrong("message.parts[1]"));
    });

    test.each([[{ mediaType: "application/json" }], [{}], [{ text: null }], [{ Text: "hi" }]])(
      "without content is refused by its path: %j (P-11)",
      async (part) => {
        expect(await refused({ message: told([part]) })).toEqual(wrong("message.parts[0]"));
      },
    );

    test.each<[part: object, read: object]>([
      [{ text: "" }, { text: "" }],
      [{ data: null }, { data: null }],
      [{ text: "", url: "https://e.com/x" }, { url: "https://e.com/x" }],
      [{ text: "hi", raw: "", url: "", data: null }, { text: "hi" }],
      [{ data: 0, text: "" }, { data: 0 }],
    ])("%j is read as %j: empty members count only alone (P-09)", async (part, read) => {
      expect(await partsOf([part])).toEqual([read]);
    });

    test.each([[42], [[1, 2]], [null], [false], [""], [0], [{}], [[]], [{ a: { b: null } }]])(
      "has any JSON as data, such as %j (P-18)",
      async (data) => {
        expect(await partsOf([{ data }])).toEqual([{ data }]);
      },
    );

    test.each([[{ kind: "text", text: "hi" }], [{ type: "text", text: "hi" }]])(
      "with a leftover of v0.3 is read without it: %j (P-13)",
      async (part) => {
        expect(await partsOf([part])).toEqual([{ text: "hi" }]);
      },
    );

    test.each([["!!"], ["a"], ["aGk=aGk="]])("whose raw is no base64 is refused: %j", async (raw) => {
      expect(await refused({ message: told([{ raw }]) })).toEqual(wrong("message.parts[0].raw"));
    });

    test("keeps its other members", async () => {
      const part = {
        raw: "aGk=",
        filename: "hi.txt",
        mediaType: "text/plain",
        metadata: { a_b: null },
      };
      expect(await partsOf([part])).toEqual([part]);
    });
  });

  describe("a message", () => {
    test.each<[changes: Json, field: string]>([
      [{ parts: [] }, "message.parts"],
      [{ parts: undefined }, "message.parts"],
      [{ parts: null }, "message.parts"],
      [{ parts: {} }, "message.parts"],
      [{ parts: ["hi"] }, "message.parts[0]"],
      [{ messageId: undefined }, "message.messageId"],
      [{ messageId: "" }, "message.messageId"],
      [{ messageId: 5 }, "message.messageId"],
      [{ messageId: "m".repeat(257) }, "message.messageId"],
      [{ role: undefined }, "message.role"],
      [{ metadata: "x" }, "message.metadata"],
      [{ extensions: "https://e.com" }, "message.extensions"],
      [{ referenceTaskIds: [1] }, "message.referenceTaskIds[0]"],
    ])("with %j is refused by the field (P-21)", async (changes, field) => {
      expect(await refused({ message: { ...message("hi"), ...changes } })).toEqual(wrong(field));
    });

    test("with several faults is refused with all of them", async () => {
      const answer = await refused({ message: { parts: [{}] }, configuration: { historyLength: -1 } });
      expect(answer).toEqual(
        wrong("message.messageId", "message.role", "message.parts[0]", "configuration.historyLength"),
      );
    });

    test.each(["user", "agent", "USER", "ROLE_ADMIN", "ROLE_UNSPECIFIED", 0, 9, "ROLE_AGENT"])(
      "of the role %j is refused (P-15)",
      async (role) => {
        expect(await refused({ message: told([{ text: "hi" }], { role }) })).toEqual(
          wrong("message.role"),
        );
      },
    );

    test("with unknown members at every level is read without them (P-12)", async () => {
      const more = { configuration: { unknown: 1, returnImmediately: false }, unknown: { a: 1 } };
      const sent = told([{ text: "hi", unknownFieldXyz: 1 }], { unknown: [], final: true });
      const task = await taskOf(sent, more);
      const { unknown: _, final: __, ...known } = sent;
      const read = { ...known, parts: [{ text: "hi" }], taskId: task.id, contextId: task.contextId };
      expect(task.history).toEqual([read]);
    });

    test("in snake_case with integer enums is read, and is answered in camelCase with names (P-14)", async () => {
      const contextId = crypto.randomUUID();
      const task = await taskOf(
        {
          message_id: "m1",
          context_id: contextId,
          role: 1,
          parts: [{ text: "hi", media_type: "text/plain" }],
          reference_task_ids: ["t"],
        },
        { configuration: { return_immediately: false, history_length: 5 } },
      );
      expect(task).toEqual({
        id: expect.any(String),
        contextId,
        status: { state: "TASK_STATE_COMPLETED", timestamp: expect.any(String) },
        artifacts: [expect.objectContaining({ parts: [{ text: "You said: hi" }] })],
        history: [
          {
            messageId: "m1",
            contextId,
            taskId: task.id,
            role: "ROLE_USER",
            parts: [{ text: "hi", mediaType: "text/plain" }],
            referenceTaskIds: ["t"],
          },
        ],
      });
    });

    test("with null for what is optional is read as without it (P-17)", async () => {
      const nothing = {
        contextId: null,
        taskId: null,
        metadata: null,
        extensions: null,
        referenceTaskIds: null,
      };
      const task = await taskOf(told([{ text: "hi", filename: null, metadata: null }], nothing), {
        configuration: { historyLength: null, acceptedOutputModes: null, returnImmediately: null },
        metadata: null,
        tenant: null,
      });
      expect(task.history).toHaveLength(1);
      walk(task, (name, value) => expect(value, name).not.toBeNull());
    });
  });

  test("a task that the agent publishes with null for its lists is none the worse (P-17)", async () => {
    const bare = { status: { state: "TASK_STATE_COMPLETED" }, history: null, artifacts: null };
    const task = await taskOf(told(script({ do: "publish", event: { task: bare } })));
    expect(task).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" }, artifacts: [] });
    expect(task.history).toHaveLength(1);
  });

  test.each(["working", "completed", "WORKING", "NOPE", "TASK_STATE_NOPE"])(
    "a list of the state %j is refused instead of empty (P-15)",
    async (status) => {
      const answer = await wire(exchange(binding, "ListTasks", { status }));
      expect(answer).toEqual(refusal(binding, "INVALID_PARAMS", { fields: ["status"] }));
    },
  );
});

describe("a list of tasks over jsonrpc", () => {
  test.each([3, "TASK_STATE_COMPLETED"])(
    "of the state %j is that of the completed ones (P-14)",
    async (status) => {
      const contextId = crypto.randomUUID();
      await operate("jsonrpc", "SendMessage", { message: message("hi", { contextId }) });
      const { value } = await operate("jsonrpc", "ListTasks", { contextId, status });
      expect(value).toMatchObject({
        totalSize: 1,
        tasks: [{ status: { state: "TASK_STATE_COMPLETED" } }],
      });
      walk(value, (name) => expect(name).not.toContain("_"));
    },
  );

  test.each([-1, 9, 3.5])("of the state %j is refused (P-14)", async (status) => {
    const answer = await wire(exchange("jsonrpc", "ListTasks", { status }));
    expect(answer).toEqual(refusal("jsonrpc", "INVALID_PARAMS", { fields: ["status"] }));
  });
});
