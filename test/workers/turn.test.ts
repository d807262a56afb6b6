/** What a turn is given, and how it publishes and ends (DESIGN, "Turns"). */
import { env } from "cloudflare:workers";
import type { Message } from "durable-a2a";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { OPTIONAL_EXTENSION } from "./agents.ts";
import { BINDINGS, type Binding, expectRefused, getTask, operate, send } from "./bindings.ts";
import { type Json, message, script } from "./client.ts";
import { open, statesOf } from "./event-stream.ts";

const ALICE = { agent: "mirror", headers: { "X-API-Key": "alice-key" } };
const BOB = { agent: "mirror", headers: { "X-API-Key": "bob-key" } };
const PLAIN = { agent: "plain" };

/** What the turn of this message knew. */
async function mirror(
  binding: Binding,
  content: string | Message["parts"],
  fields: Partial<Message> = {},
  { headers = {}, ...options }: { headers?: object; configuration?: object; metadata?: object } = {},
): Promise<Json> {
  const as = { ...ALICE, headers: { ...ALICE.headers, ...headers }, ...options };
  const task = await send(binding, content, fields, as);
  return task.artifacts?.[0]?.parts[0]?.data as Json;
}

describe.each(BINDINGS)("over %s", (binding) => {
  test("a turn knows its task, message, text, caller, attempt and bindings", async () => {
    const parts = [{ text: "one" }, { data: { two: 2 } }, { text: "three" }];
    const fields = { messageId: "m", metadata: { of: "the message" } };
    const task = await send(binding, parts, fields, { ...ALICE, metadata: { of: "the request" } });
    expect(task.artifacts?.[0]?.parts[0]?.data).toMatchObject({
      text: "one\nthree",
      principal: "alice",
      attempt: 1,
      task: task.id,
      message: "m",
      metadata: { of: "the request" },
      bindings: Object.keys(env).sort(),
    });
    expect(await mirror(binding, [{ data: 1 }])).toMatchObject({ text: "", metadata: {} });
  });

  test.each([
    ["the message's metadata name", { skill: "two" }, {}, "two"],
    ["the request's metadata name", {}, { skill: "one" }, "one"],
    ["both name, the message's word", { skill: "one" }, { skill: "two" }, "one"],
    ["nobody names", {}, {}, null],
    ["is unknown", { skill: "three" }, {}, null],
    ["is no text", { skill: 1 }, {}, null],
  ])("the skill of a turn is the one that %s", async (_, ofMessage, ofRequest, expected) => {
    const options = { metadata: ofRequest };
    expect(await mirror(binding, "hi", { metadata: ofMessage }, options)).toMatchObject({
      skill: expected,
    });
  });

  test("the extensions of a turn are those that the request names and the agent declares", async () => {
    const headers = { "A2A-Extensions": `https://example.com/unknown, ${OPTIONAL_EXTENSION}` };
    expect(await mirror(binding, "hi", {}, { headers })).toMatchObject({
      extensions: [OPTIONAL_EXTENSION],
    });
    expect(await mirror(binding, "hi")).toMatchObject({ extensions: [] });
  });

  test.each([
    [undefined, true, true],
    [[], true, true],
    [["text/plain"], true, false],
    [["TEXT/Plain; charset=utf-8"], true, false],
    [["image/*", "application/json"], false, true],
    [["*/*"], true, true],
  ])("a client that accepts %o is known to", async (acceptedOutputModes, acceptsText, acceptsPng) => {
    const known = await mirror(binding, "hi", {}, { configuration: { acceptedOutputModes } });
    expect(known).toMatchObject({ acceptsText, acceptsPng });
  });

  test("references are the tasks that the message names, once each and in its order, of this owner only", async () => {
    const [first, second] = [await send(binding, "1", {}, ALICE), await send(binding, "2", {}, ALICE)];
    const foreign = await send(binding, "3", {}, BOB);
    const random = env.TASK_OBJECT.newUniqueId().toString();
    const referenceTaskIds = [second.id, foreign.id, "nope", random, first.id, second.id];
    expect(await mirror(binding, "hi", { referenceTaskIds })).toMatchObject({
      references: [second.id, first.id],
    });
    expect(await mirror(binding, "hi", { referenceTaskIds: [foreign.id] })).toMatchObject({
      references: [],
    });
    expect(await mirror(binding, "hi")).toMatchObject({ references: [] });
  });

  test("the context has the other tasks of this context and owner, latest first", async () => {
    const contextId = crypto.randomUUID();
    const first = await send(binding, "1", { contextId }, ALICE);
    await send(binding, "2", { contextId }, BOB);
    const second = await send(binding, "3", { contextId }, ALICE);
    expect(await mirror(binding, "hi", { contextId })).toMatchObject({
      context: [second.id, first.id],
    });
    expect(await mirror(binding, "hi")).toMatchObject({ context: [] });
  });

  test("working publishes a status, with a message when there is something to say", async () => {
    const steps = script({ do: "working" }, { do: "working", text: "so far" });
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) }, PLAIN);
    const events = await stream.rest();
    const { id: taskId, contextId } = events[0]?.event.task ?? {};
    const [silent, spoken] = events.slice(1).map(({ event }) => event.statusUpdate);
    expect(silent).toEqual({
      taskId,
      contextId,
      status: { state: "TASK_STATE_WORKING", timestamp: expect.any(String) },
    });
    expect(spoken?.status.message).toEqual({
      messageId: expect.stringMatching(/./),
      taskId,
      contextId,
      role: "ROLE_AGENT",
      parts: [{ text: "so far" }],
    });
    const times = events.flatMap(({ event }) => event.statusUpdate?.status.timestamp ?? []);
    expect(times).toEqual(times.toSorted());
  });

  test("artifacts have ids of their turn unless given, and keep all members", async () => {
    const whole = {
      name: "n",
      description: "d",
      metadata: { a: [1] },
      extensions: [OPTIONAL_EXTENSION],
    };
    const named = { do: "artifact", ...whole, parts: [{ text: "1" }] } as const;
    const [a, b] = [
      { ...named, parts: [{ text: "1" }] },
      { do: "artifact", parts: [{ data: null }] },
    ];
    const first = await send(binding, script(a as Step, b as Step, { do: "input" }), {}, PLAIN);
    expect(first.artifacts).toEqual([
      { artifactId: `${whole.name}-1.1`, ...whole, parts: [{ text: "1" }] },
      { artifactId: "artifact-1.1", parts: [{ data: null }] },
    ]);
    const second = await send(binding, script(b as Step), { taskId: first.id }, PLAIN);
    expect(second.artifacts?.map(({ artifactId }) => artifactId)).toEqual([
      `${whole.name}-1.1`,
      "artifact-1.1",
      "artifact-2.1",
    ]);
  });

  test("a returned text is an artifact of a completed task, and nothing returned is none", async () => {
    const text = await send(binding, "hi", {}, PLAIN);
    expect(text.status).toEqual({ state: "TASK_STATE_COMPLETED", timestamp: expect.any(String) });
    expect(text.artifacts).toEqual([{ artifactId: "artifact-1.1", parts: [{ text: "You said: hi" }] }]);
    const nothing = await send(binding, script(), {}, PLAIN);
    expect(nothing).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" }, artifacts: [] });
  });

  test("a returned artifact is published, and the task completes", async () => {
    const { status, artifacts } = await send(binding, "0?", {}, { agent: "patient" });
    expect(status.state).toBe("TASK_STATE_COMPLETED");
    const parts = [{ text: "0?" }, { data: 1 }];
    expect(artifacts?.[1]).toEqual({
      artifactId: "answer-1.1",
      name: "answer",
      description: "What it is",
      parts,
    });
  });

  test("what a turn returns and its completion are stored as one moment: no reader sees one alone", async () => {
    const stream = await open(binding, "SendStreamingMessage", { message: message("hi") }, PLAIN);
    const ids = (await stream.rest()).map(({ id }) => id);
    expect(ids).toEqual([3, 4, 5]);
  });

  test.each([
    ["complete", "TASK_STATE_COMPLETED"],
    ["fail", "TASK_STATE_FAILED"],
    ["reject", "TASK_STATE_REJECTED"],
    ["input", "TASK_STATE_INPUT_REQUIRED"],
  ] as const)(
    "%s ends the turn as %s, with a message when there is something to say",
    async (ending, state) => {
      const silent = await send(binding, script({ do: ending }), {}, PLAIN);
      expect(silent.status).toEqual({ state, timestamp: expect.any(String) });
      const { id, contextId, status } = await send(
        binding,
        script({ do: ending, text: "why" }),
        {},
        PLAIN,
      );
      expect(status).toMatchObject({
        state,
        message: { taskId: id, contextId, role: "ROLE_AGENT", parts: [{ text: "why" }] },
      });
      expect((await getTask(binding, id, PLAIN)).status).toEqual(status);
    },
  );

  test("a throw fails the task: the client reads a request id, never the text of the exception", async () => {
    const steps = script(
      { do: "artifact", parts: [{ text: "kept" }] },
      { do: "throw", message: "password is hunter2" },
    );
    const task = await send(binding, steps, {}, PLAIN);
    expect(task.status.state).toBe("TASK_STATE_FAILED");
    const text = task.status.message?.parts[0]?.text;
    expect(text).toMatch(/^Internal error \(request [0-9a-f]{8}-[0-9a-f-]{27}\)$/);
    expect(JSON.stringify({ ...task, history: [] })).not.toContain("hunter2");
    expect(task.artifacts).toMatchObject([{ parts: [{ text: "kept" }] }]);
    const stream = await open(binding, "SendStreamingMessage", { message: message(steps) }, PLAIN);
    const events = await stream.rest();
    expect(JSON.stringify(events.slice(1))).not.toContain("hunter2");
    expect(statesOf(events).at(-1)).toBe("TASK_STATE_FAILED");
  });

  test("a message to a task whose turn ended is a turn of its own caller and message", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, PLAIN);
    const task = await send(binding, "second", { taskId: id, messageId: "m2" }, PLAIN);
    expect(task.artifacts).toEqual([
      { artifactId: "artifact-2.1", parts: [{ text: "You said: second" }] },
    ]);
    expectRefused(
      await operate(binding, "SendMessage", { message: message("x", { taskId: id }) }, PLAIN),
      "UNSUPPORTED_OPERATION",
    );
  });
});
