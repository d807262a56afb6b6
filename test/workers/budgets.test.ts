import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import { pause, send, start } from "./bindings.ts";
import { script } from "./client.ts";
import { meter, type Reading } from "./meter.ts";

const ALICE = { "X-API-Key": "alice-key" };

interface Bill {
  kind: string;
  rowsWritten: number;
  requests: number;
  budget: { rowsWritten: number; requests: number };
  readings: Reading[];
}

const bills: Bill[] = [];

afterAll(() => {
  // Read by `npm run budgets`.
  console.log(`BUDGETS ${JSON.stringify(bills)}`);
});

/** What the task of a script costs, from its message until nothing is left to do. */
async function bill(
  kind: string,
  agent: string,
  steps: Step[],
  budget: Bill["budget"],
  more: Step[][] = [],
): Promise<Bill> {
  const options = { agent, headers: ALICE };
  // The index is there already, as it is for every task but an owner's first.
  await send("jsonrpc", "first", {}, options);
  await pause(50);
  meter.reset();
  const task = await send("jsonrpc", script(...steps), {}, options);
  for (const next of more) await send("jsonrpc", script(...next), { taskId: task.id }, options);
  await pause(50);
  const { rowsWritten, requests } = meter;
  const found = { kind, rowsWritten, requests, budget, readings: meter.readings() };
  bills.push(found);
  return found;
}

const artifact: Step = { do: "artifact", parts: [{ text: "done" }] };

describe("a task costs no more than its budget of written rows and object requests", () => {
  const kinds: [kind: string, agent: string, steps: Step[], budget: Bill["budget"], more?: Step[][]][] =
    [
      ["answered at once, listed", "keyed", [artifact], { rowsWritten: 12, requests: 3 }],
      ["answered at once, not listed", "plain", [artifact], { rowsWritten: 8, requests: 1 }],
      [
        "streamed in 200 chunks",
        "keyed",
        [{ do: "chunks", count: 200, everyMs: 10, text: "word " }],
        { rowsWritten: 40, requests: 3 },
      ],
      [
        "a question and its answer",
        "keyed",
        [{ do: "input", text: "which?" }],
        { rowsWritten: 22, requests: 6 },
        [[artifact]],
      ],
      [
        "ten steps",
        "keyed",
        [...Array.from({ length: 10 }, (_, i): Step => ({ do: "step", name: `step ${i}` })), artifact],
        // What a task costs, and at most two rows for each step.
        { rowsWritten: 12 + 20, requests: 3 },
      ],
      [
        "an ask with its answer",
        "keyed",
        [{ do: "ask", name: "which", text: "which?" }, artifact],
        { rowsWritten: 12 + 10, requests: 6 },
        [[artifact]],
      ],
    ];
  test.each(kinds)("%s", async (kind, agent, steps, budget, more) => {
    const { rowsWritten, requests, readings } = await bill(kind, agent, steps, budget, more);
    expect(rowsWritten, JSON.stringify(readings)).toBeLessThanOrEqual(budget.rowsWritten);
    expect(requests).toBeLessThanOrEqual(budget.requests);
    // A meter that counts nothing would hold every budget.
    expect(readings.map(({ statement }) => statement)).toContain("INSERT INTO event");
  });

  const waiting: Step[] = [
    { do: "input", text: "which?" },
    { do: "ask", name: "which", text: "which?" },
    { do: "durableSleep", name: "hour", ms: 3_600_000 },
  ];
  test.each(waiting)(
    "a task that waits in %o costs nothing while it waits: one far alarm",
    async (step) => {
      const options = { agent: "keyed", headers: ALICE };
      const { id } = await start("jsonrpc", script(step), {}, options);
      await pause(100);
      const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(id));
      const alarm = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
      expect(((alarm ?? 0) - Date.now()) / 60_000).toBeGreaterThan(59);
      meter.reset();
      await pause(1_500);
      expect(meter.readings()).toEqual([]);
      expect(meter.requests).toBe(0);
    },
  );
});
