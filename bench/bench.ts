/**
 * `npm run bench [-- --json FILE] [-- --only TEXT]`: how fast we are, as ratios to what the platform itself costs and to
 * the official SDK. Bounded: a deadline, and a number of new objects.
 */
import { writeFile } from "node:fs/promises";
import os from "node:os";
import { parseArgs } from "node:util";
import { type Result, type Row, run } from "./row.ts";
import { delayRow, deliveriesRow } from "./rows/push.ts";
import { cardRow, getTaskRow, listTasksRow } from "./rows/read.ts";
import { sendRow } from "./rows/send.ts";
import { broadcastRow, chunksRow, firstByteRow } from "./rows/stream.ts";
import { versions } from "./server.ts";
import { type Report, table } from "./table.ts";

/** New objects of all rows together: each holds file descriptors of its server until that ends. */
const MAX_OBJECTS = 5_000;
const MAX_MS = 5 * 60_000;
/** A row gets fewer rounds when they take longer than this. */
const ROW_MS = 20_000;

const ROWS: Row[] = [
  sendRow(8, 64, 7),
  sendRow(1, 24, 7),
  getTaskRow(320, 7),
  firstByteRow(10, 7),
  chunksRow(100, 5, true),
  chunksRow(1_000, 3, true),
  chunksRow(10_000, 3, false),
  broadcastRow(1, 2_000, 9),
  broadcastRow(10, 2_000, 7),
  broadcastRow(100, 2_000, 7),
  listTasksRow(48, 7),
  cardRow(200, 800, 5),
  cardRow(304, 800, 5),
  deliveriesRow(1, 300, 5),
  deliveriesRow(50, 1_000, 5),
  delayRow(15, 5),
];

const { values } = parseArgs({
  options: { json: { type: "string" }, only: { type: "string", default: "" } },
});
// What stops a run must let it clean up.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const start = Date.now();
const results: Result[] = [];
let objects = 0;
for (const row of ROWS.filter(({ title }) => title.includes(values.only))) {
  if (Date.now() - start > MAX_MS || objects > MAX_OBJECTS)
    throw new Error("the run is over its bounds");
  const began = Date.now();
  const result = await run(row, began + ROW_MS);
  objects += result.objects;
  results.push(result);
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.error(`${row.title}: ${result.rounds} rounds, ${result.objects} objects, ${seconds} s`);
}

const report: Report = {
  date: new Date(start).toISOString().slice(0, 10),
  machine: {
    system: `${os.type()} ${os.machine()}`,
    CPU: `${os.availableParallelism()} × ${os.cpus()[0]?.model.trim() ?? "?"}`,
    Node: process.version,
    workerd: versions.workerd,
    "@a2a-js/sdk": versions.sdk,
  },
  seconds: (Date.now() - start) / 1000,
  objects,
  results,
};
console.log(table(report));
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
