/** create-agent as a command: what it makes, and that it leaves nothing behind when it makes nothing. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ROOT, until } from "./server.ts";

const COMMAND = join(ROOT, "src/cli/create-agent.ts");
/** Nothing is installed, and the package is not packed: what is left takes a second. */
const QUICK = ["--no-install", "--package", "^0.1.0"];

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "durable-a2a-create-"));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

interface Run {
  child: ChildProcess;
  output(): string;
  ended: Promise<number>;
}

function start(args: string[], { cwd = parent, env = {}, node = [] as string[] } = {}): Run {
  const child = spawn(process.execPath, [...node, COMMAND, ...args], {
    cwd,
    // A terminal would be asked; this is a closed standard input.
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, CI: "", ...env },
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
  }
  const ended = new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? -1)));
  return { child, output: () => text, ended };
}

async function create(args: string[], options: Parameters<typeof start>[1] = {}) {
  const run = start(args, options);
  return { code: await run.ended, output: run.output() };
}

const files = (folder: string) => readdirSync(join(parent, folder)).sort();

describe("a project", () => {
  test("is made with closed stdin and without a question: a folder, a key, a repository, and how to go on", async () => {
    const { code, output } = await create(["my-agent", ...QUICK]);
    expect(output).toContain("npm run dev");
    expect(code).toBe(0);
    expect(files("my-agent")).toEqual([
      ".dev.vars",
      ".git",
      ".github",
      ".gitignore",
      "AGENTS.md",
      "README.md",
      "package.json",
      "src",
      "test",
      "tsconfig.json",
      "vitest.config.ts",
      "wrangler.jsonc",
    ]);
    expect(output).toContain("http://127.0.0.1:8787/.well-known/agent-card.json");
    const [, key = ""] = /-H 'X-API-Key: ([\w-]{32})'/.exec(output) ?? [];
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
    const vars = readFileSync(join(parent, "my-agent/.dev.vars"), "utf8");
    expect(vars).toBe(`API_KEYS='{"me":"${Buffer.from(hash).toString("hex")}"}'\n`);
    expect(statSync(join(parent, "my-agent/.dev.vars")).mode & 0o077).toBe(0);
    expect(output).toMatch(
      /Once more: .*my-agent --template hello --auth api-key --no-push --no-install --git/,
    );
    // No key is in what is committed.
    expect(readFileSync(join(parent, "my-agent/.gitignore"), "utf8")).toContain(".dev.vars");
    expect(files(".")).toEqual(["my-agent"]);
  });

  test.each(["my agent", "агент Ω", "-x-", "it's"])("may be in a folder called %j", async (name) => {
    const { code, output } = await create([...QUICK, "--no-git", "--", name]);
    expect(output).toContain("Made");
    expect(code).toBe(0);
    const { name: called } = JSON.parse(readFileSync(join(parent, name, "package.json"), "utf8"));
    expect(called).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(files(".")).toEqual([name]);
  });

  test("may be made in an empty folder that is there", async () => {
    mkdirSync(join(parent, "empty"));
    expect((await create(["empty", ...QUICK, "--yes"])).code).toBe(0);
    expect(files("empty")).toContain("package.json");
  });

  test("is made without git, and says so", async () => {
    const bin = join(parent, "bin");
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, "node"));
    const { code, output } = await create(["x", ...QUICK], { env: { PATH: bin } });
    expect(output).toContain("no git here");
    expect(code).toBe(0);
    expect(files("x")).not.toContain(".git");
  });

  test("is no repository of its own inside of one, unless that is said", async () => {
    mkdirSync(join(parent, ".git"));
    for (const path of ["HEAD", "objects", "refs"]) {
      if (path === "HEAD") writeFileSync(join(parent, ".git/HEAD"), "ref: refs/heads/main\n");
      else mkdirSync(join(parent, ".git", path));
    }
    await create(["inside", ...QUICK]);
    expect(files("inside")).not.toContain(".git");
    await create(["own", ...QUICK, "--git"]);
    expect(files("own")).toContain(".git");
  });
});

describe("nothing is made", () => {
  const untouched = () => expect(files(".")).toEqual(["before"]);
  beforeEach(() => {
    mkdirSync(join(parent, "before"));
    writeFileSync(join(parent, "before/file"), "");
  });

  test.each<[string, string[], RegExp]>([
    ["in a folder that is not empty", ["before"], /before is not empty/],
    ["in a file", ["before/file"], /before\/file is a file/],
    ["where there is no folder", ["nowhere/x"], /There is no folder .*nowhere/],
    ["without a folder", [], /Say where: create-agent FOLDER/],
    ["of an unknown template", ["x", "--template", "y"], /take one of hello, llm, approval, long-job/],
    ["of an unknown option", ["x", "--y"], /Unknown option '--y'[\s\S]*--template NAME/],
    ["for an issuer that is not said", ["x", "--auth", "oidc"], /--issuer must be/],
  ])("%s", async (_, args, words) => {
    const { code, output } = await create([...args, ...QUICK]);
    expect(output).toMatch(words);
    expect(code).toBe(2);
    untouched();
  });

  test("where nothing can be written", async () => {
    // Root may write wherever it likes, but not to a file system that takes no files.
    const folder = process.getuid?.() === 0 ? "/proc/self" : join(parent, "before");
    if (process.getuid?.() !== 0) chmodSync(folder, 0o500);
    const { code, output } = await create([join(folder, "x"), ...QUICK]);
    expect(output).toMatch(/Nothing can be written to/);
    expect(code).toBe(2);
    if (process.getuid?.() !== 0) chmodSync(folder, 0o700);
    untouched();
  });

  test("by a Node.js that is too old", async () => {
    const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'18.20.4'})";
    const { code, output } = await create(["x", ...QUICK], { node: ["--import", old] });
    expect(output).toBe(
      "create-agent needs Node.js 20 or later, and this is 18.20.4: https://nodejs.org\n",
    );
    expect(code).toBe(1);
    untouched();
  });

  /** An npm that says that it is at work, in `npm.pid`, and then does what it is told. */
  function npm(script: string): { PATH: string } {
    const bin = mkdtempSync(join(tmpdir(), "durable-a2a-npm-"));
    const path = join(bin, "npm");
    writeFileSync(path, `#!/bin/sh\necho $$ > ${bin}/npm.pid\n${script}\n`, { mode: 0o755 });
    return { PATH: `${bin}${delimiter}${process.env.PATH}` };
  }

  test("when npm install fails, which is shown", async () => {
    const { code, output } = await create(["x", "--package", "^0.1.0"], {
      env: npm("mkdir node_modules; echo it is broken >&2; exit 7"),
    });
    expect(output).toMatch(/npm install failed:\nit is broken/);
    expect(code).toBe(2);
    untouched();
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "when it is interrupted by %s in the middle",
    async (signal) => {
      const env = npm("mkdir node_modules; sleep 60");
      const run = start(["x", "--package", "^0.1.0"], { env });
      const pid = join(env.PATH.split(delimiter)[0] ?? "", "npm.pid");
      await until(() => existsSync(pid) && readFileSync(pid, "utf8") !== "", "npm to be at work");
      run.child.kill(signal);
      expect(await run.ended).toBe(signal === "SIGINT" ? 130 : 143);
      expect(run.output()).toContain("nothing was made");
      untouched();
      const gone = () => {
        try {
          process.kill(Number(readFileSync(pid, "utf8")), 0);
          return false;
        } catch {
          return true;
        }
      };
      await until(gone, "npm to be gone");
    },
  );
});

describe("in a terminal", () => {
  /** Types the keys when their question is there; `script` gives the command a terminal. */
  async function answer(args: string[], answers: [question: string, keys: string][]) {
    const words = [process.execPath, COMMAND, ...args].map((word) => `'${word}'`).join(" ");
    const command = `stty cols 120 rows 40; ${words}`;
    const child = spawn("script", ["-qfec", command, "/dev/null"], {
      cwd: parent,
      env: { ...process.env, CI: "", TERM: "xterm" },
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    const ended = new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? -1)));
    for (const [question, keys] of answers) {
      await until(() => text.includes(question), question);
      child.stdin.write(keys);
    }
    const code = await ended;
    return { code, output: stripVTControlCharacters(text) };
  }

  test("what was not said is asked", async () => {
    const { code, output } = await answer(QUICK, [
      ["Where?", "x\r"],
      ["What kind of agent?", "\u001b[B\r"],
      ["Who may call it?", "\u001b[B\u001b[B\r"],
      ["Webhooks?", "y"],
      ["git init?", "n"],
    ]);
    expect(output).toMatch(/Once more: .*x --template llm --auth open --push --no-install --no-git/);
    expect(code).toBe(0);
    expect(files(".")).toEqual(["x"]);
  });

  test("Ctrl-C at a question leaves nothing behind", async () => {
    const { code, output } = await answer(["x", ...QUICK], [["What kind of agent?", "\u0003"]]);
    expect(output).toContain("Nothing was made.");
    expect(code).toBe(130);
    expect(files(".")).toEqual([]);
  });
});

test("--help shows the options, --version the version", async () => {
  expect((await create(["--help"])).output).toMatch(/--template NAME +hello, llm, approval, long-job/);
  expect((await create(["--version"])).output).toMatch(/^\d+\.\d+\.\d+\n$/);
});
