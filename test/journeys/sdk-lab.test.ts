/** The official SDK as a client of `npm run lab`: every operation and every kind of error, over each binding. */
import type { Client } from "@a2a-js/sdk/client";
import * as errors from "@a2a-js/sdk/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  all,
  artifactsOf,
  assemble,
  BINDINGS,
  connect,
  kindsOf,
  listing,
  refusalOf,
  say,
  stateOf,
  taskOf,
  textOf,
  webhook,
  wireCode,
} from "./sdk.ts";
import { endServers, type RunningServer, startServer, until } from "./server.ts";

const UNKNOWN = "0".repeat(64);

let lab: RunningServer;

beforeAll(async () => {
  lab = await startServer("lab");
});
afterAll(endServers);

describe.concurrent.each(BINDINGS)("the lab agent over %s", (binding) => {
  let client: Client;
  beforeAll(async () => {
    client = await connect(lab.url, binding);
  });

  test("a blocking send waits for the end of the task [T-09]", async () => {
    const start = Date.now();
    const task = taskOf(
      await client.sendMessage(
        say([
          { do: "sleep", ms: 700 },
          { do: "artifact", name: "late", parts: [{ text: "made" }] },
          { do: "complete", text: "done" },
        ]),
      ),
    );
    expect(Date.now() - start).toBeGreaterThanOrEqual(700);
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(textOf(task.status?.message?.parts)).toBe("done");
    expect(artifactsOf(task)).toEqual([["late", "made"]]);
  });

  test("a send that returns immediately shows the task at work, and its end is kept [T-08]", async () => {
    const script = [
      { do: "sleep", ms: 500 },
      { do: "complete", text: "done" },
    ] as const;
    const task = taskOf(await client.sendMessage(say([...script], { returnImmediately: true })));
    expect(stateOf(task)).toBe("TASK_STATE_WORKING");
    const get = async () => stateOf(await client.getTask({ tenant: "", id: task.id }));
    await until(async () => (await get()) === "TASK_STATE_COMPLETED", "the task to complete");
  });

  test("an agent may answer with a message and no task", async () => {
    const script = say([{ do: "reply", parts: [{ text: "just this" }] }]);
    const answer = await client.sendMessage(script);
    if (!("messageId" in answer)) throw new Error("answered with a task");
    expect(textOf(answer.parts)).toBe("just this");
    const events = await all(client.sendMessageStream(script));
    expect(kindsOf(events)).toEqual(["message"]);
  });

  test("artifacts and chunks of a stream add up to the task [T-23]", async () => {
    const events = await all(
      client.sendMessageStream(
        say([
          { do: "working", text: "thinking" },
          { do: "artifact", artifactId: "a", name: "data", parts: [{ data: { n: [1, null] } }] },
          { do: "artifact", artifactId: "a", parts: [{ text: "more" }], append: true },
          { do: "chunks", artifactId: "b", name: "essay", count: 5, everyMs: 20, text: "word " },
          { do: "complete", text: "done" },
        ]),
      ),
    );
    const streamed = assemble(events);
    const task = await client.getTask({ tenant: "", id: streamed.id });
    expect(artifactsOf(task)).toEqual([
      ["data", "more"],
      ["essay", "word 0word 1word 2word 3word 4"],
    ]);
    expect(artifactsOf(streamed)).toEqual(artifactsOf(task));
    expect(streamed.status).toEqual(task.status);
    const chunks = events.filter(
      ({ payload }) =>
        payload?.$case === "artifactUpdate" && payload.value.artifact?.artifactId === "b",
    );
    expect(chunks.length).toBeGreaterThanOrEqual(5);
  });

  test("a second client subscribes to a running task, however it was begun, and sees its end [S-03, S-24]", async () => {
    const begun = say(
      [{ do: "sleep", ms: 500 }, { do: "chunks", count: 3, text: "c" }, { do: "complete" }],
      {
        returnImmediately: true,
      },
    );
    const { id } = taskOf(await client.sendMessage(begun));
    const second = await connect(lab.url, binding);
    const events = await all(second.resubscribeTask({ tenant: "", id }));
    expect(kindsOf(events).at(0)).toBe("task");
    expect(kindsOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
    expect(artifactsOf(assemble(events)).map(([, text]) => text)).toEqual(["c0c1c2"]);
  });

  test("a running task is canceled, and its stream ends with that [T-16]", async () => {
    const stream = client.sendMessageStream(say([{ do: "working" }, { do: "sleep", ms: 60_000 }]));
    const first = (await stream.next()).value?.payload;
    if (first?.$case !== "task") throw new Error(`began with ${first?.$case}`);
    const request = { tenant: "", id: first.value.id, metadata: undefined };
    expect(stateOf(await client.cancelTask(request))).toBe("TASK_STATE_CANCELED");
    expect(kindsOf(await all(stream)).at(-1)).toBe("TASK_STATE_CANCELED");
    // Again: the same task (§3.3.1).
    expect(stateOf(await client.cancelTask(request))).toBe("TASK_STATE_CANCELED");
  });

  test("list gives pages of a context, each with the same total [L-04]", async () => {
    const contextId = crypto.randomUUID();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(taskOf(await client.sendMessage(say("hi", { contextId }))).id);
    const listed: string[] = [];
    const sizes: number[] = [];
    for (let pageToken = ""; ; ) {
      const page = await client.listTasks(listing({ contextId, pageSize: 2, pageToken }));
      expect(page.totalSize).toBe(5);
      listed.push(...page.tasks.map(({ id }) => id));
      sizes.push(page.tasks.length);
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    expect(sizes).toEqual([2, 2, 1]);
    expect(listed).toEqual(ids.reverse());
    const full = await client.listTasks(
      listing({ contextId, historyLength: 1, includeArtifacts: true }),
    );
    expect(full.tasks.map(({ artifacts, history }) => [artifacts.length, history.length])).toEqual(
      Array.from({ length: 5 }, () => [1, 1]),
    );
  });

  test("a message to a task that needs input goes on with it [T-04]", async () => {
    const asked = taskOf(await client.sendMessage(say([{ do: "input", text: "which city?" }])));
    expect(stateOf(asked)).toBe("TASK_STATE_INPUT_REQUIRED");
    const { id: taskId, contextId } = asked;
    const task = taskOf(await client.sendMessage(say("Rome", { taskId })));
    expect([task.id, task.contextId]).toEqual([taskId, contextId]);
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(artifactsOf(task)).toEqual([["echo", "Rome"]]);
    expect(task.history.map(({ parts }) => textOf(parts))).toEqual(["", "which city?", "Rome"]);
  });

  test("a stream ends when the task needs input, and the follow-up is another stream of it", async () => {
    const first = await all(client.sendMessageStream(say([{ do: "input", text: "which city?" }])));
    expect(kindsOf(first)).toEqual(["task", "TASK_STATE_INPUT_REQUIRED"]);
    const { id: taskId } = assemble(first);
    const second = await all(client.sendMessageStream(say("Rome", { taskId })));
    expect(kindsOf(second)).toEqual(["task", "artifactUpdate", "TASK_STATE_COMPLETED"]);
    expect(assemble(second).id).toBe(taskId);
  });

  test("a push config is made, read, listed and deleted, and its secrets stay secret [W-16]", async () => {
    const { id: taskId } = taskOf(await client.sendMessage(say([{ do: "input" }])));
    const made = await client.createTaskPushNotificationConfig(webhook(taskId));
    expect(made).toMatchObject({ taskId, url: "https://example.com/hook" });
    expect(made.id).not.toBe("");
    expect(made.authentication?.scheme).toBe("Bearer");
    expect(JSON.stringify(made)).not.toMatch(/s3cret|t0ken/);
    const named = { tenant: "", taskId, id: made.id };
    const every = { tenant: "", taskId, pageSize: 0, pageToken: "" };
    expect(await client.getTaskPushNotificationConfig(named)).toEqual(made);
    expect(await client.listTaskPushNotificationConfig(every)).toEqual({
      configs: [made],
      nextPageToken: "",
    });
    await client.deleteTaskPushNotificationConfig(named);
    expect((await client.listTaskPushNotificationConfig(every)).configs).toEqual([]);
    expect(await refusalOf(client.getTaskPushNotificationConfig(named))).toBeInstanceOf(
      errors.TaskNotFoundError,
    );
  });

  test("the extended card says more than the public one", async () => {
    const other = await connect(lab.url, binding);
    const card = await other.getAgentCard();
    expect(card.name).toBe("Lab");
    expect(card.description).toBe("Does what the script in its message says, for anyone");
    expect(card.supportedInterfaces.map(({ protocolBinding }) => protocolBinding)).toEqual([
      ...BINDINGS,
    ]);
  });
});

/** Calls that are refused: with which class of the SDK, and which code of JSON-RPC and status of HTTP (§5.4). */
const REFUSALS: [string, (client: Client) => Promise<unknown>, object, number, number][] = [
  [
    "an unknown task",
    (client) => client.getTask({ tenant: "", id: UNKNOWN }),
    errors.TaskNotFoundError,
    -32001,
    404,
  ],
  [
    "a message to an unknown task",
    (client) => client.sendMessage(say("hi", { taskId: UNKNOWN })),
    errors.TaskNotFoundError,
    -32001,
    404,
  ],
  [
    "a cancel after the end",
    async (client) => {
      const { id } = taskOf(await client.sendMessage(say("hi")));
      return client.cancelTask({ tenant: "", id, metadata: undefined });
    },
    errors.TaskNotCancelableError,
    -32002,
    400,
  ],
  [
    "a message to a task that has ended",
    async (client) => {
      const { id: taskId } = taskOf(await client.sendMessage(say("hi")));
      return client.sendMessage(say("more", { taskId }));
    },
    errors.UnsupportedOperationError,
    -32004,
    400,
  ],
  [
    "an agent that breaks the rules",
    (client) => client.sendMessage(say([{ do: "publish", event: { task: { status: {} } } }])),
    errors.InvalidAgentResponseError,
    -32006,
    500,
  ],
  [
    "a message with no id",
    (client) => client.sendMessage(say("hi", { messageId: "" })),
    errors.A2AError,
    -32602,
    400,
  ],
  [
    "a webhook to a host that is not allowed",
    async (client) => {
      const { id } = taskOf(await client.sendMessage(say([{ do: "input" }])));
      return client.createTaskPushNotificationConfig(webhook(id, "https://internal.test/"));
    },
    errors.A2AError,
    -32602,
    400,
  ],
];

describe.concurrent.each(BINDINGS)("the SDK understands over %s why it was refused:", (binding) => {
  test.each(REFUSALS)("%s [P-06, P-07]", async (_, call, errorClass, jsonRpcCode, httpStatus) => {
    const error = await refusalOf(call(await connect(lab.url, binding)));
    expect(error).toBeInstanceOf(errorClass);
    expect(wireCode(error)).toBe(binding === "JSONRPC" ? jsonRpcCode : httpStatus);
  });
});
