/**
 * The documentation: its programs are type-checked, its JSON is JSON, its links lead somewhere.
 *
 * A block of `ts` is a whole module. `ts part` is statements, with the names of `docs-prelude.ts` around them; `ts member`
 * is members of an agent's definition. `node` after it: it runs in Node.js, with the types of that.
 */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENTS = [
  "README.md",
  "SECURITY.md",
  "AGENTS.md",
  ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`),
  ...readdirSync(join(ROOT, "templates")).map((name) => `templates/${name}/README.md`),
];

interface Block {
  /** `docs/turn.md:7` */
  where: string;
  language: string;
  kinds: string[];
  text: string;
}

function blocksOf(path: string): Block[] {
  const source = readFileSync(join(ROOT, path), "utf8");
  return Array.from(source.matchAll(/^( *)```(\w*) *(.*)\n([\s\S]*?)^ *```$/gm), (match) => {
    const [, indent = "", language = "", kinds = "", text = ""] = match;
    const line = source.slice(0, match.index).split("\n").length;
    return {
      where: `${path}:${line}`,
      language,
      kinds: kinds.split(" ").filter(Boolean),
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

const blocks = DOCUMENTS.flatMap(blocksOf);

describe("programs", () => {
  mkdirSync(join(ROOT, ".wrangler"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".wrangler/docs-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function module({ kinds, text }: Block): string {
    const whole = text
      .replace(/^( *)\/\/ …$/gm, "$1...rest,")
      .replaceAll("../src/index.ts", "./hello.ts");
    if (kinds.includes("member")) {
      return `import type { AgentDefinition } from "durable-a2a";\nimport * as a2a from "durable-a2a";\nconst { oidc, signWith } = a2a;\nexport const members: Partial<AgentDefinition> = {\n${whole}};\nexport const used = [oidc, signWith];\n`;
    }
    if (kinds.includes("part")) {
      const imports = whole.match(/^import [\s\S]*?;$/gm)?.join("\n") ?? "";
      const missing = ["defineAgent", "verifyCard", "verifyNotification"].filter(
        (name) => whole.includes(name) && !imports.includes(name),
      );
      const from: Record<string, string> = { verifyCard: "/card", verifyNotification: "/push" };
      const added = missing.map((name) => `import { ${name} } from "durable-a2a${from[name] ?? ""}";`);
      return `${added.join("\n")}\n${whole}\nexport {};\n`;
    }
    return whole;
  }

  test("are type-checked", { timeout: 60_000 }, async () => {
    const programs = blocks.filter(({ language }) => language === "ts");
    expect(programs.length).toBeGreaterThan(20);
    const places = new Map<string, string>();
    mkdirSync(join(folder, "node"));
    writeFileSync(
      join(folder, "node/prelude.ts"),
      "declare global { function receive(request: Request): Promise<Response>; }\nexport {};\n",
    );
    writeFileSync(
      join(folder, "node/tsconfig.json"),
      JSON.stringify({
        extends: "../../../tsconfig.node.json",
        compilerOptions: { types: ["node"] },
        include: ["*.ts"],
        exclude: [],
      }),
    );
    for (const [index, block] of programs.entries()) {
      const name = `block-${index}.ts`;
      places.set(name, block.where);
      writeFileSync(join(folder, block.kinds.includes("node") ? "node" : "", name), module(block));
    }
    writeFileSync(join(folder, "hello.ts"), readFileSync(join(ROOT, "templates/hello/src/index.ts")));
    writeFileSync(
      join(folder, "prelude.ts"),
      readFileSync(join(import.meta.dirname, "docs-prelude.ts")),
    );
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: "../../tsconfig.node.json",
        compilerOptions: {
          noUnusedLocals: false,
          noUnusedParameters: false,
          allowUnusedLabels: true,
          paths: {
            "durable-a2a": ["../../src/index.ts"],
            "durable-a2a/*": ["../../src/*.ts"],
          },
        },
        include: ["*.ts"],
        exclude: [],
      }),
    );
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const check = (path: string) =>
      new Promise<string>((resolve) => {
        execFile(process.execPath, [tsc, "-p", path, "--pretty", "false"], (_, stdout) =>
          resolve(stdout),
        );
      });
    const errors = (await Promise.all([folder, join(folder, "node")].map(check))).join("");
    const named = errors.replace(
      /^.*?(block-\d+\.ts)/gm,
      (_, name: string) => `${places.get(name)} (${name})`,
    );
    expect(named).toBe("");
  });
});

test.each(blocks.filter(({ language }) => language === "json"))("$where is JSON", ({ text }) => {
  expect(() => JSON.parse(text.replaceAll("…", ""))).not.toThrow();
});

test.each(blocks.filter(({ language }) => language === "jsonc"))(
  "$where is JSON with comments",
  ({ text }) => {
    expect(() => JSON.parse(text.replace(/^\s*\/\/.*$/gm, ""))).not.toThrow();
  },
);

describe("links", () => {
  const anchorsOf = (path: string) => {
    const headings = readFileSync(path, "utf8").matchAll(/^#+ (.*)$/gm);
    return Array.from(headings, ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
  };

  test.each(DOCUMENTS)("%s leads to what is there", (document) => {
    const source = readFileSync(join(ROOT, document), "utf8").replace(/^```[\s\S]*?^```$/gm, "");
    for (const [, target = ""] of source.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(ROOT, document) : join(ROOT, dirname(document), path);
      expect(existsSync(file), `${document}: ${target}`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(file), `${document}: ${target}`).toContain(anchor);
    }
  });

  test("the README leads to every page", () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    for (const name of readdirSync(join(ROOT, "docs"))) expect(readme).toContain(`docs/${name}`);
  });
});
