/** The official SDK as a client of `npm run dev`: the hello program, over each binding. */
import type { Client } from "@a2a-js/sdk/client";
import * as errors from "@a2a-js/sdk/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  all,
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
} from "./sdk.ts";
import { endServers, type RunningServer, startServer } from "./server.ts";

const UNKNOWN = "0".repeat(64);

let dev: RunningServer;

beforeAll(async () => {
  dev = await startServer("dev");
});
afterAll(endServers);

describe.each(BINDINGS)("the hello agent over %s", (binding) => {
  let client: Client;
  beforeAll(async () => {
    client = await connect(dev.url, binding);
  });

  test("the card offers the binding", () => {
    expect(client.transport.protocolName).toBe(binding);
    expect(client.protocolVersion).toBe("1.0");
  });

  test("send answers with the finished task, and get with the same one", async () => {
    const task = taskOf(await client.sendMessage(say("Ada")));
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts.map(({ parts }) => textOf(parts))).toEqual(["Hello, Ada!"]);
    expect(task.history.map(({ parts }) => textOf(parts))).toEqual(["Ada", "Looking up a greeting"]);
    expect(await client.getTask({ tenant: "", id: task.id })).toEqual(task);
  });

  test("get with a history length shows only the latest messages", async () => {
    const { id } = taskOf(await client.sendMessage(say("Ada")));
    const one = await client.getTask({ tenant: "", id, historyLength: 1 });
    expect(one.history.map(({ parts }) => textOf(parts))).toEqual(["Looking up a greeting"]);
    const none = await client.getTask({ tenant: "", id, historyLength: 0 });
    expect(none.history).toEqual([]);
  });

  test("a stream begins with the task and adds up to it", async () => {
    const events = await all(client.sendMessageStream(say("Ada")));
    expect(kindsOf(events)).toEqual([
      "task",
      "TASK_STATE_WORKING",
      "artifactUpdate",
      "TASK_STATE_COMPLETED",
    ]);
    const task = assemble(events);
    const { status, artifacts } = await client.getTask({ tenant: "", id: task.id });
    expect({ status, artifacts }).toEqual({ status: task.status, artifacts: task.artifacts });
  });

  test("cancel and subscribe are refused once the task has ended, and for an unknown id [S-07, S-23]", async () => {
    const { id } = taskOf(await client.sendMessage(say("Ada")));
    const request = { tenant: "", id, metadata: undefined };
    const unknown = { ...request, id: UNKNOWN };
    expect(await refusalOf(client.cancelTask(request))).toBeInstanceOf(errors.TaskNotCancelableError);
    expect(await refusalOf(client.cancelTask(unknown))).toBeInstanceOf(errors.TaskNotFoundError);
    expect(await refusalOf(client.resubscribeTask(request))).toBeInstanceOf(
      errors.UnsupportedOperationError,
    );
    expect(await refusalOf(client.resubscribeTask(unknown))).toBeInstanceOf(errors.TaskNotFoundError);
  });

  test("list and the extended card are refused: the agent is open to anyone and declares none", async () => {
    await client.sendMessage(say("Ada"));
    const { transport } = client;
    for (const call of [
      () => client.listTasks(listing()),
      () => transport.getExtendedAgentCard({ tenant: "" }),
    ]) {
      expect(await refusalOf(call())).toBeInstanceOf(errors.UnsupportedOperationError);
    }
  });

  test("push configs are refused: the card declares no push notifications", async () => {
    const { id: taskId } = taskOf(await client.sendMessage(say("Ada")));
    const named = { tenant: "", taskId, id: "one" };
    const { transport } = client;
    for (const call of [
      () => transport.createTaskPushNotificationConfig(webhook(taskId)),
      () => transport.getTaskPushNotificationConfig(named),
      () => transport.listTaskPushNotificationConfig({ ...named, pageSize: 0, pageToken: "" }),
      () => transport.deleteTaskPushNotificationConfig(named),
    ]) {
      expect(await refusalOf(call())).toBeInstanceOf(errors.PushNotificationNotSupportedError);
    }
  });
});
