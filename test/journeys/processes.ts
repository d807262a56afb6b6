/** The processes of this machine, from `/proc`: who is whose child, and who is left. */
import { readdirSync, readFileSync } from "node:fs";

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
}

/** The processes that live. One that has ended and waits for its parent to notice holds nothing any more. */
function living(): Process[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    const process = read(Number(entry));
    return process ? [process] : [];
  });
}

function read(pid: number): Process | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name is in parentheses and may hold any character.
  const end = stat.lastIndexOf(")");
  const [state, parent] = stat.slice(end + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  return { pid, parent: Number(parent), name: stat.slice(stat.indexOf("(") + 1, end) };
}

/** The process and all that descend from it. */
export function processTree(pid: number): Process[] {
  const all = living();
  const tree = all.filter((process) => process.pid === pid);
  for (const { pid: parent } of tree) tree.push(...all.filter((process) => process.parent === parent));
  return tree;
}

/** Whether that process lives: its id may have gone to another. */
export function exists({ pid, name }: Process): boolean {
  return read(pid)?.name === name;
}
