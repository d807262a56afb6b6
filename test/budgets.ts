/** `npm run budgets [-- --json]`: what each kind of task costs, as the tests count it. */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";

interface Bill {
  kind: string;
  rowsWritten: number;
  requests: number;
  budget: { rowsWritten: number; requests: number };
  readings: { object: string; statement: string; rowsWritten: number; rowsRead: number }[];
}

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
const output = execFileSync(
  "npx",
  ["vitest", "run", "--silent=false", "--project", "workers", "test/workers/budgets.test.ts"],
  { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, NO_COLOR: "1" } },
);
const bills = JSON.parse(/^BUDGETS (.*)$/m.exec(output)?.[1] ?? "[]") as Bill[];

if (values.json) {
  console.log(JSON.stringify(bills, null, 2));
} else {
  console.log("| task | rows written | object requests | of which |");
  console.log("|---|---|---|---|");
  for (const { kind, rowsWritten, requests, budget, readings } of bills) {
    const parts = readings
      .filter((reading) => reading.rowsWritten > 0)
      .map((reading) => `${reading.object} ${reading.statement} ${reading.rowsWritten}`);
    console.log(
      `| ${kind} | ${rowsWritten} (at most ${budget.rowsWritten}) | ${requests} (at most ${budget.requests}) | ${parts.join(", ")} |`,
    );
  }
}
