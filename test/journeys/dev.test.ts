/** What a newcomer does first: `npm run dev`, and the commands that it and the README print. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endServers, ROOT, type RunningServer, startServer } from "./server.ts";

/** Where the README's commands expect the server. */
const README_URL = "http://127.0.0.1:8787";

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const blocks = fencedBlocks(readme);

let dev: RunningServer;
beforeAll(async () => {
  dev = await startServer("dev");
  await dev.printed(/Say hello:/);
});
afterAll(endServers);

test("npm run dev -- --port N prints the URL of its card on that port", async () => {
  const [, printed = ""] = /Agent card: +(\S+)/.exec(dev.log()) ?? [];
  expect(printed).toBe(`${dev.url}/.well-known/agent-card.json`);
  const card = (await (await fetch(printed)).json()) as { name: string };
  expect(card.name).toBe("Greeter");
});

test("the curl that npm run dev prints greets Ada", async () => {
  const [, printed = ""] = /(curl [\s\S]*?)\n\n/.exec(dev.log()) ?? [];
  expect(printed).toContain(dev.url);
  const { task } = JSON.parse(await shell(printed)) as {
    task: { status: { state: string }; artifacts: { parts: { text: string }[] }[] };
  };
  expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  expect(task.artifacts[0]?.parts[0]?.text).toBe("Hello, Ada!");
});

describe("README", () => {
  const examples = examplesOf(blocks);

  test("its first program is the hello template", () => {
    const program = blocks.find(({ language }) => language === "ts" || language === "typescript");
    expect(program?.text).toBe(readFileSync(join(ROOT, "templates/hello/src/index.ts"), "utf8"));
  });

  test("it shows commands to call the agent, and what they answer", () => {
    expect(examples.length).toBeGreaterThan(0);
    expect(examples.some(({ answer }) => answer !== undefined)).toBe(true);
  });

  test.each(examples)("answers as printed: $command", async ({ command, answer }) => {
    const given = await shell(command.replaceAll(README_URL, dev.url));
    expect(given).not.toBe("");
    expect(given).not.toMatch(/"error"/);
    if (answer !== undefined) {
      expect(withoutChance(given.replaceAll(dev.url, README_URL))).toBe(withoutChance(answer));
    }
  });
});

test("Ctrl-C ends all of it within seconds", async () => {
  expect(await dev.stop("SIGINT", "all")).toEqual([]);
}, 5_000);

interface Block {
  language: string;
  text: string;
  /** Whether it stands right under the block before it. */
  continues: boolean;
}

function fencedBlocks(markdown: string): Block[] {
  let end = 0;
  return Array.from(markdown.matchAll(/^```(\w*).*\n([\s\S]*?)^```$/gm), (match) => {
    const [fence, language = "", text = ""] = match;
    const between = markdown.slice(end, match.index);
    end = match.index + fence.length;
    return { language, text, continues: between.trim() === "" };
  });
}

interface Example {
  command: string;
  answer: string | undefined;
}

/** The `curl` lines of shell blocks. An answer is what follows in the block, or the block of another kind under it. */
function examplesOf(all: readonly Block[]): Example[] {
  return all.flatMap(({ language, text }, index) => {
    if (!isShell(language)) return [];
    const found: Example[] = [];
    for (const line of text.replace(/\\\n\s*/g, "").split("\n")) {
      const last = found.at(-1);
      if (line.startsWith("curl ")) found.push({ command: line, answer: undefined });
      else if (last && line.trim() !== "") last.answer = `${last.answer ?? ""}${line}\n`;
    }
    const under = all[index + 1];
    const last = found.at(-1);
    if (last && under?.continues && !isShell(under.language)) last.answer ??= under.text;
    return found;
  });
}

function isShell(language: string): boolean {
  return ["sh", "bash", "shell"].includes(language);
}

/** Without ids, times and layout: they differ from one answer to the next. */
function withoutChance(text: string): string {
  return text
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "…")
    .replace(/\b[0-9a-f]{64}\b/g, "…")
    .replace(/\b[0-9a-f]+…/g, "…")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "(time)")
    .replace(/\s+/g, "");
}

async function shell(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { timeout: 20_000 });
  return stdout;
}
