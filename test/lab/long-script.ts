import type { Step } from "./script.ts";

/** Forty events and two hundred chunks of three artifacts. */
export const LONG_SCRIPT: Step[] = [
  // Time for all readers to come.
  { do: "sleep", ms: 1_500 },
  ...Array.from({ length: 10 }, (_, i): Step[] => [
    { do: "working", text: `step ${i}` },
    { do: "artifact", artifactId: "list", parts: [{ data: i }], append: true },
    { do: "chunks", artifactId: `text-${i % 3}`, count: 20, everyMs: 8, text: `word ${i}.` },
    { do: "artifact", artifactId: `note-${i}`, parts: [{ text: `note ${i}` }] },
  ]).flat(),
  { do: "complete", text: "done" },
];
