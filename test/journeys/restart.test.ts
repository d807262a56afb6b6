/** What of a server's tasks is there when it comes back with the same `--persist-to`, however it went. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endServers, type RunningServer, startServer, temporaryFolder, until } from "./server.ts";
import {
  answerOf,
  BINDINGS,
  begin,
  call,
  eventsOf,
  getTask,
  message,
  readAll,
  type StreamEvent,
} from "./wire.ts";

afterAll(endServers);

/** A task that was at work when its server was killed, and that no test looks at. */
let unseen: { server: RunningServer; id: string };

/** The ways a server goes: told to end, or cut off with everything in the middle of it. */
const WAYS: [string, (server: RunningServer) => Promise<unknown>][] = [
  ["SIGKILL to every process", (server) => server.kill()],
  ["SIGTERM to npm", (server) => server.stop()],
];

describe.each(WAYS)("after %s and a restart", (_, end) => {
  let lab: RunningServer;
  let finished: string;
  let waiting: string;
  let working: string;
  let streamed: string;
  let lastEventId: string;

  beforeAll(async () => {
    const folder = temporaryFolder();
    const first = await startServer("lab", ["--persist-to", folder]);
    const begun = async (...script: Parameters<typeof begin>[1]) => (await begin(first.url, script)).id;
    finished = await begun(
      { do: "artifact", name: "made", parts: [{ text: "it" }] },
      { do: "complete" },
    );
    waiting = await begun({ do: "input", text: "which city?" });
    // Long enough to be cut off; after that a second is all they take.
    const work = { do: "step", name: "work", ms: 1_000 } as const;
    working = await begun({ do: "working", text: "at it" }, work, { do: "report" });
    const id = await begun(work, { do: "report" });
    const stream = eventsOf(
      await call(first.url, "rest", "SendStreamingMessage", {
        message: message([{ do: "working" }, work, { do: "report" }]),
      }),
    );
    const { response, id: eventId = "" } = (await stream.next()).value as StreamEvent;
    streamed = response.task?.id ?? "";
    lastEventId = eventId;
    // A client that is cut off sees its stream break.
    const broken = drain(stream);
    await end(first);
    await broken;
    lab = await startServer("lab", ["--persist-to", folder]);
    unseen ??= { server: lab, id };
  });

  test("a finished task is there, artifacts and all, and is listed [T-31, D-03]", async () => {
    const { status, artifacts } = await getTask(lab.url, finished);
    expect(status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifacts).toMatchObject([{ name: "made", parts: [{ text: "it" }] }]);
    expect(await statesListed(lab)).toMatchObject({ [finished]: "TASK_STATE_COMPLETED" });
  });

  test("a task that was at work goes on and finishes, saying nothing twice [D-05]", async () => {
    await until(
      async () => (await getTask(lab.url, working)).status.state === "TASK_STATE_COMPLETED",
      "the task to be done",
    );
    const { history, artifacts } = await getTask(lab.url, working);
    expect(history?.map(({ parts }) => parts[0]?.text)).toEqual([undefined, "at it"]);
    expect(artifacts).toMatchObject([{ parts: [{ data: { attempt: 2 } }] }]);
    await until(
      async () => (await statesListed(lab))[working] === "TASK_STATE_COMPLETED",
      "the list to show it",
    );
  });

  test("a stream that was cut goes on with Last-Event-ID, to the end of the task", async () => {
    const headers = { "Last-Event-ID": lastEventId };
    const response = await call(lab.url, "rest", "SubscribeToTask", { id: streamed }, { headers });
    const events = (await readAll(response)).map(({ response: event }) => event);
    const states = events.map(({ task, statusUpdate }) => (task ?? statusUpdate)?.status.state);
    expect(states.filter(Boolean)).toEqual([
      "TASK_STATE_WORKING",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
    ]);
  });

  test.each(BINDINGS)(
    "a subscription to a task that waits shows it over %s, and stays open for the answer [S-04, S-05, S-06]",
    async (binding) => {
      const other = await begin(lab.url, [{ do: "input", text: "which city?" }]);
      const id = binding === "rest" ? waiting : other.id;
      const events = eventsOf(await call(lab.url, binding, "SubscribeToTask", { id }));
      const first = (await events.next()).value?.response.task;
      expect(first?.status).toMatchObject({
        state: "TASK_STATE_INPUT_REQUIRED",
        message: { parts: [{ text: "which city?" }] },
      });
      const params = { message: message("Rome", { taskId: id }) };
      const { task } = await answerOf(await call(lab.url, "jsonrpc", "SendMessage", params));
      expect(task).toMatchObject({
        id,
        status: { state: "TASK_STATE_COMPLETED" },
        artifacts: [{ name: "echo", parts: [{ text: "Rome" }] }],
      });
      const rest: (string | undefined)[] = [];
      for await (const { response } of events) {
        rest.push(response.statusUpdate?.status.state ?? response.artifactUpdate?.artifact.name);
      }
      expect(rest).toEqual(["TASK_STATE_WORKING", "echo", "TASK_STATE_COMPLETED"]);
    },
  );
});

test("a task that was at work and that nobody asks for finishes by itself within its alarm [D-05, D-19]", async () => {
  const { server, id } = unseen;
  await until(
    async () => (await statesListed(server))[id] === "TASK_STATE_COMPLETED",
    "the list to show it",
  );
}, 40_000);

test("tasks that go on after a restart are no warnings in the log [D-05]", async () => {
  await pause(500);
  expect(unseen.server.log()).not.toMatch(/warning|error/i);
});

/** Ids of the listed tasks with their states. */
async function statesListed(lab: RunningServer): Promise<Record<string, string>> {
  const { tasks } = await answerOf(await call(lab.url, "rest", "ListTasks", {}));
  const listed = tasks as { id: string; status: { state: string } }[];
  return Object.fromEntries(listed.map(({ id, status }) => [id, status.state]));
}

/** Reads a stream to its end, whatever that is. */
async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of stream);
  } catch {
    // Cut off.
  }
}
