/**
 * The documentation is true of the code, as far as a machine can tell. Of each fenced block the word after the fence says
 * what is done with it, and there is no word for doing nothing:
 *
 * - `ts`: a whole module, which is type-checked. What its reader brings (`declare const env: unknown;`) is in a comment
 *   `<!-- given … -->` right above the fence.
 * - `ts members`: members of what is given to `defineAgent`, type-checked as such.
 * - `json`, `jsonc`, `toml`: is parsed. `sh`: is parsed by bash. `text`: is what a program prints.
 *
 * An error of the compiler, `docs/turn.md.7.ts(12,3)`, names the block by its fence (7) and has the line of the Markdown file (12).
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { LimitsSchema } from "../../src/agent/limits.ts";
import { ERRORS } from "../../src/protocol/errors.ts";
import { OPERATIONS } from "../../src/protocol/operations.ts";
import { anchorsOf, type Block, blocksOf, linksOf, moduleOf, withoutComments } from "./markdown.ts";

const root = join(import.meta.dirname, "../..");

const paths = globSync(["*.md", "docs/*.md", "templates/*/*.md"], { cwd: root }).sort();
const documents = paths.map((path) => ({ path, markdown: readFileSync(join(root, path), "utf8") }));
const blocks = documents.flatMap(({ path, markdown }) =>
  blocksOf(markdown).map((block) => ({ path, block })),
);

const CHECKS: Record<string, (code: string) => unknown> = {
  json: JSON.parse,
  jsonc: (code) => JSON.parse(withoutComments(code)),
  toml: parseToml,
  sh: (code) => execFileSync("bash", ["-n"], { input: code, stdio: "pipe" }),
  text: (code) => code,
};
const TYPESCRIPT = ["ts", "ts members"];

/** What the compiler says of the blocks, each of them a module of one program. */
function typeCheck(modules: { path: string; block: Block }[]): string {
  // In the repository, where packages are found; and ignored by git.
  mkdirSync(join(root, ".wrangler"), { recursive: true });
  const folder = mkdtempSync(join(root, ".wrangler/docs-"));
  try {
    for (const { path, block } of modules) {
      const file = join(folder, `${path}.${block.line}.ts`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, moduleOf(block));
    }
    const config = {
      extends: relative(folder, join(root, "tsconfig.node.json")),
      // Examples show what they define, and need not use it.
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
      include: ["**/*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/typescript/lib/tsc.js");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", "."], {
      cwd: folder,
      encoding: "utf8",
    });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("the blocks of the documentation", () => {
  test("that are TypeScript have the right types, and one that has not is found", () => {
    const modules = blocks.filter(({ block }) => TYPESCRIPT.includes(block.info));
    const wrong = blocksOf(
      "\n<!-- given\ndeclare const name: string;\n-->\n```ts\nname.length();\n```\n",
    );
    const said = typeCheck([...modules, ...wrong.map((block) => ({ path: "wrong.md", block }))]);
    expect(said.split("\n").filter((line) => !/^ |^$/.test(line))).toEqual([
      expect.stringMatching(/^wrong\.md\.5\.ts\(6,6\): error TS2349/),
    ]);
  }, 60_000);

  test("that are anything else can be read", () => {
    const faults = blocks
      .filter(({ block }) => !TYPESCRIPT.includes(block.info))
      .flatMap(({ path, block: { info, code, line } }) => {
        const check = CHECKS[info];
        try {
          if (!check) throw new Error(`no check for blocks of "${info}"`);
          check(code);
          return [];
        } catch (error) {
          return [`${path}:${line}: ${(error as Error).message}`];
        }
      });
    expect(faults).toEqual([]);
  });
});

describe("the links of the documentation", () => {
  test.each(documents)("of $path lead somewhere", ({ path, markdown }) => {
    const broken = linksOf(markdown)
      .filter((target) => !/^(https?|mailto):/.test(target))
      .filter((target) => {
        const [file = "", anchor] = target.split("#");
        const to = file === "" ? join(root, path) : join(root, dirname(path), file);
        if (!existsSync(to)) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(to, "utf8")).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  test("of the README lead to every document", () => {
    const readme = documents.find(({ path }) => path === "README.md")?.markdown ?? "";
    const all = readdirSync(join(root, "docs")).map((name) => `docs/${name}`);
    expect(linksOf(readme)).toEqual(expect.arrayContaining(all));
  });
});

describe("the tables of the documentation", () => {
  const document = (path: string) => readFileSync(join(root, "docs", path), "utf8");

  test("of errors has every error, with its code and statuses", () => {
    const rows = Object.entries(ERRORS).map(
      ([reason, { code, http, status }]) => `| \`${reason}\` | ${code} | ${http} | ${status} |`,
    );
    const table = document("bindings-and-versions.md").match(/^\| `[A-Z_]+` \| .*$/gm);
    expect(table).toEqual(rows);
  });

  test("of operations has every operation, with its verbs and path", () => {
    const table = document("bindings-and-versions.md");
    for (const [name, { verbs, path }] of Object.entries(OPERATIONS)) {
      const verb = verbs.join("` or `");
      expect(table).toContain(`| \`${name}\` | \`${verb} ${path}\` |`);
    }
  });

  test("of limits has every limit that can be set", () => {
    const names = [...Object.keys(LimitsSchema.parse({})), "tasksPerOwner", "streamsPerOwner"];
    const table = document("limits-and-costs.md")
      .match(/^\| .*$/gm)
      ?.join("\n");
    for (const name of names) expect(table).toContain(`\`${name}\``);
  });
});
