/** The one table of a run, in Markdown: ratios first, then what was measured. */
import type { Figure, Ratio, Result, Unit } from "./row.ts";

export interface Report {
  date: string;
  machine: Record<string, string>;
  seconds: number;
  objects: number;
  results: Result[];
}

export function table({ date, machine, seconds, objects, results }: Report): string {
  const about = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  return [
    `${date} · ${about.join(" · ")}`,
    `${Math.round(seconds)} s, ${objects} new objects. Medians of paired rounds, (least–most).`,
    "",
    "| row | of | to | times as fast | aim |",
    "|---|---|---|---|---|",
    ...results.flatMap(({ ratios }) => ratios.map(ratioLine)),
    "",
    "| row | | median | spread |",
    "|---|---|---|---|",
    ...results.flatMap(({ figures }) => figures.map(figureLine)),
  ].join("\n");
}

function ratioLine({ row, of, to, median, min, max, aim }: Ratio): string {
  const verdict = aim === undefined ? "" : `≥ ${aim}: ${median >= aim ? "met" : "**missed**"}`;
  return `| ${row} | ${of} | ${to} | **${ratio(median)}** (${ratio(min)}–${ratio(max)}) | ${verdict} |`;
}

function figureLine({ row, contestant, median, min, max, unit }: Figure): string {
  return `| ${row} | ${contestant} | ${amount(median, unit)} ${unit} | ${amount(min, unit)}–${amount(max, unit)} |`;
}

function ratio(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toFixed(2);
}

function amount(value: number, unit: Unit): string {
  if (unit === "ms" && value < 100) return value.toFixed(1);
  return Math.round(value).toLocaleString("en");
}
