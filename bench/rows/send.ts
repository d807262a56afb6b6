/** SendMessage to a new task, beside what a new object costs without us. */
import { type Call, closedLoop } from "../client.ts";
import type { Ready, Row } from "../row.ts";
import * as targets from "../targets.ts";

const FLOORS = {
  insert: "floor: new object, one insert",
  index: "floor: and an alarm, and an index object",
};

export function sendRow(clients: number, total: number, rounds: number): Row {
  const contestant =
    (open: () => Promise<targets.Target>, call: () => Call, contains: string) =>
    async (): Promise<Ready> => {
      const { client, close } = await open();
      const send = async () => targets.ok(await client.request(call()), contains);
      await closedLoop(clients, total / 2, send);
      return { measure: () => closedLoop(clients, total, send), close };
    };
  const { jsonrpc, rest, d1, express } = targets.NAMES;
  const overJsonRpc = () => targets.jsonRpc("SendMessage", targets.say("Ada"));
  const completed = "TASK_STATE_COMPLETED";
  return {
    title: `SendMessage to a new task, ${clients} ${clients === 1 ? "client" : "clients"}`,
    unit: "requests/s",
    rounds,
    contestants: {
      [FLOORS.insert]: contestant(targets.floors, () => ({ path: "/insert" }), ""),
      [FLOORS.index]: contestant(targets.floors, () => ({ path: "/index" }), ""),
      [jsonrpc]: contestant(targets.agent, overJsonRpc, completed),
      [rest]: contestant(
        targets.agent,
        () => targets.rest("/message:send", targets.say("Ada")),
        completed,
      ),
      [d1]: contestant(targets.d1, overJsonRpc, completed),
      [express]: contestant(targets.express, overJsonRpc, completed),
    },
    comparisons: [
      { of: jsonrpc, to: FLOORS.index, aim: 0.85 },
      { of: rest, to: FLOORS.index, aim: 0.85 },
      { of: jsonrpc, to: FLOORS.insert },
      { of: jsonrpc, to: d1 },
      { of: jsonrpc, to: express },
    ],
  };
}
