/** What changes nothing: GetTask, ListTasks and the card. */
import { type Call, closedLoop } from "../client.ts";
import type { Ready, Row } from "../row.ts";
import * as targets from "../targets.ts";

const CLIENTS = 8;
const { jsonrpc, rest, d1, express } = targets.NAMES;
const COMPLETED = "TASK_STATE_COMPLETED";

/** A contestant that is asked `total` times a round; `prepare` gives the calls, which are made in turn. */
function reader(
  open: () => Promise<targets.Target>,
  prepare: (client: targets.Target["client"]) => Promise<Call[]>,
  { total, contains = "", status = 200 }: { total: number; contains?: string; status?: number },
): () => Promise<Ready> {
  return async () => {
    const { client, close } = await open();
    const calls = await prepare(client);
    const send = async (index: number) => {
      const call = calls[index % calls.length];
      if (call) targets.ok(await client.request(call), contains, status);
    };
    await closedLoop(CLIENTS, total / 2, send);
    return { measure: () => closedLoop(CLIENTS, total, send), close };
  };
}

/** Tasks in turn, as clients of several tasks would ask. */
const TASKS = 16;

export function getTaskRow(total: number, rounds: number): Row {
  const floor = "floor: a bare read of an object";
  const ofTasks =
    (create: Call, call: (id: string) => Call) => async (client: targets.Target["client"]) => {
      const calls: Call[] = [];
      for (let index = 0; index < TASKS; index++) {
        const { text } = targets.ok(await client.request(create));
        calls.push(call(text.startsWith("{") ? targets.taskIdIn(text) : text));
      }
      return calls;
    };
  const hello = targets.jsonRpc("SendMessage", targets.say("Ada"));
  const get = (id: string) => targets.jsonRpc("GetTask", { id });
  const options = { total, contains: COMPLETED };
  return {
    title: "GetTask",
    unit: "requests/s",
    rounds,
    contestants: {
      [floor]: reader(
        targets.floors,
        ofTasks({ path: "/insert" }, (id) => ({ path: `/read?id=${id}` })),
        { total },
      ),
      [jsonrpc]: reader(targets.agent, ofTasks(hello, get), options),
      [rest]: reader(
        targets.agent,
        ofTasks(hello, (id) => targets.rest(`/tasks/${id}`)),
        options,
      ),
      [d1]: reader(targets.d1, ofTasks(hello, get), options),
      [express]: reader(targets.express, ofTasks(hello, get), options),
    },
    comparisons: [
      { of: jsonrpc, to: floor, aim: 0.8 },
      { of: rest, to: floor, aim: 0.8 },
      { of: jsonrpc, to: d1 },
      { of: jsonrpc, to: express },
    ],
  };
}

/** Tasks in the list; they are put there directly. */
const LISTED = 5_000;

export function listTasksRow(total: number, rounds: number): Row {
  // Said for all: the SDK would show the history otherwise, and we would not.
  const page = [targets.jsonRpc("ListTasks", { pageSize: 50, historyLength: 0 })];
  const hello = targets.jsonRpc("SendMessage", targets.say("Ada"));
  const options = { total, contains: `"totalSize":${LISTED}` };
  const seeded = async (client: targets.Target["client"]) => {
    targets.ok(await client.request({ path: `/bench/seed?count=${LISTED}` }));
    return page;
  };
  return {
    title: `ListTasks, a page of 50 among ${LISTED.toLocaleString("en")}`,
    unit: "requests/s",
    rounds,
    contestants: {
      [jsonrpc]: reader(targets.agent, seeded, options),
      [rest]: reader(
        targets.agent,
        async (client) => {
          await seeded(client);
          return [targets.rest("/tasks?pageSize=50&historyLength=0")];
        },
        options,
      ),
      [d1]: reader(
        targets.d1,
        async (client) => {
          targets.ok(await client.request(hello), COMPLETED);
          return seeded(client);
        },
        options,
      ),
      [express]: reader(
        targets.express,
        async (client) => {
          await closedLoop(CLIENTS, LISTED, async () => targets.ok(await client.request(hello)));
          return page;
        },
        options,
      ),
    },
    comparisons: [
      { of: jsonrpc, to: d1, aim: 2 },
      { of: rest, to: d1, aim: 2 },
      { of: jsonrpc, to: express },
    ],
  };
}

export function cardRow(status: 200 | 304, total: number, rounds: number): Row {
  const floor = 'floor: a Worker that answers "ok"';
  const path = "/.well-known/agent-card.json";
  const card = async (client: targets.Target["client"]): Promise<Call[]> => {
    const first = targets.ok(await client.request({ method: "GET", path }), "Greeter");
    const headers: Record<string, string> =
      status === 304 ? { "If-None-Match": first.headers.etag ?? "" } : {};
    return [{ method: "GET", path, headers }];
  };
  const ours = "durable-a2a";
  return {
    title: `agent card, ${status}`,
    unit: "requests/s",
    rounds,
    contestants: {
      [floor]: reader(targets.floors, async () => [{ method: "GET", path: "/ok" }], { total }),
      [ours]: reader(targets.agent, card, { total, status }),
      [express]: reader(targets.express, card, { total, status }),
    },
    comparisons: [
      { of: ours, to: floor },
      { of: ours, to: express },
    ],
  };
}
