import { defineAgent, durableObjects, open, worker } from "durable-a2a";
import { csv, file } from "./report.ts";
import { countSales, type Month } from "./sales.ts";

const MONTHS = ["January", "February", "March", "April"];

export const agent = defineAgent({
  name: "Reporter",
  description: "Counts the sales of a product month by month, and writes a report",
  version: "1.0.0",
  skills: [{ id: "report", name: "Report", description: "Reports sales", tags: ["report"] }],
  auth: open(), // required: who may call is never a default
  // push
  push: { allow: ["hooks.example.com"] }, // the hosts that webhooks may be at
  // end of push
  outputModes: ["text/plain", "application/json", "text/csv"],
  async run(turn) {
    const product = turn.text;
    if (product === "") return turn.inputRequired("Which product?");

    const months: Month[] = [];
    for (const name of MONTHS) {
      await turn.working(`Counting ${name} (${months.length} of ${MONTHS.length} months done)`);
      // Counted once: after a crash or a deploy the turn runs again, and finds here what it knows already.
      months.push(await turn.step("count", () => countSales(product, name), { retries: 5 }));
    }

    // The object is put away meanwhile, and costs nothing. It might as well be three days.
    await turn.working("Waiting for the last figures to settle");
    await turn.sleep("settle", "12 seconds");

    const total = months.reduce((sum, { sold }) => sum + sold, 0);
    const text = `${product}: ${total} sold from ${MONTHS[0]} to ${MONTHS.at(-1)}`;
    await turn.artifact(await file("report.txt", "text/plain", text));
    await turn.artifact(await file("report.json", "application/json", { product, months, total }));
    await turn.artifact(await file("report.csv", "text/csv", csv(months)));
    return turn.complete("The report is ready");
  },
});

export const { TaskObject, TaskIndex } = durableObjects(agent);
export default worker(agent);
