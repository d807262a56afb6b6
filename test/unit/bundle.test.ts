/** What a user deploys: the smallest template, bundled as wrangler bundles it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Metafile, transformSync } from "esbuild";
import { parseSync } from "vite";
import { beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

interface Bundle {
  code: string;
  metafile: Metafile;
}

async function bundle(entry: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    alias: { "durable-a2a": join(root, "src/index.ts") },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "browser"],
    target: "es2024",
    external: ["cloudflare:*", "node:*"],
  });
  return { code: outputFiles[0]?.text ?? "", metafile };
}

/** The modules of which something is in the bundle. */
function modulesIn({ metafile }: Bundle): string[] {
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
}

function importsOf({ metafile }: Bundle): string[] {
  return Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
}

function isNode(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Whether the code can make code from a string: a call of `eval`, or `Function` called or held as a value. */
function makesCode(source: string, loader: "ts" | "js"): boolean {
  const { program } = parseSync("module.js", transformSync(source, { loader }).code);
  const named = (node: unknown, name: string) =>
    isNode(node) && node.type === "Identifier" && node.name === name;
  const visit = (node: unknown): boolean => {
    if (!isNode(node)) return false;
    if (node.type === "CallExpression" && named(node.callee, "eval")) return true;
    const callee =
      node.type === "CallExpression" || node.type === "NewExpression" ? node.callee : undefined;
    const held = node.type === "VariableDeclarator" ? node.init : undefined;
    if (named(callee, "Function") || named(held, "Function")) return true;
    return Object.values(node).some(visit);
  };
  return visit(program);
}

describe("the hello template, bundled and minified", () => {
  let hello: Bundle;

  beforeAll(async () => {
    hello = await bundle("templates/hello/src/index.ts");
  });

  test("is smaller than 150 KiB after gzip", () => {
    expect(gzipSync(hello.code).byteLength).toBeLessThan(150 * 1024);
  });

  test("imports nothing but what workerd has without a compatibility flag", () => {
    const platform = ["cloudflare:workers"];
    expect(importsOf(hello).filter((path) => !platform.includes(path))).toEqual([]);
  });

  /**
   * Two files of Zod stay: `util.js` asks once whether code may be generated (on Cloudflare it says no by the
   * user agent, without trying), and `doc.js` generates only after a yes.
   */
  test("makes no code from strings, except where Zod asks first whether it may", () => {
    const suspects = modulesIn(hello).filter((path) =>
      makesCode(readFileSync(join(root, path), "utf8"), path.endsWith(".ts") ? "ts" : "js"),
    );
    expect(suspects.filter((path) => !/\/zod\/v4\/core\/(util|doc)\.js$/.test(path))).toEqual([]);
  });

  test("has of the cryptography what signs webhooks, and nothing that an open agent does not use", () => {
    const jose = modulesIn(hello).filter((path) => path.includes("node_modules/jose/"));
    expect(jose.filter((path) => /verify|encrypt|decrypt|jwe|jwks\//.test(path))).toEqual([]);
  });

  test("has no test, no command and no second Zod in it", () => {
    const foreign = modulesIn(hello).filter((path) => /^(test|src\/cli)\//.test(path));
    expect(foreign).toEqual([]);
    const zods = modulesIn(hello).map((path) => /^(.*\/zod)\/v4\//.exec(path)?.[1]);
    expect(new Set(zods.filter((path) => path !== undefined)).size).toBeLessThanOrEqual(1);
  });

  test("has nothing in it of the signing of cards, which it does not do", () => {
    const signing = /^src\/(signature|push\/verify)|\/canonicalize\//;
    expect(modulesIn(hello).filter((path) => signing.test(path))).toEqual([]);
  });
});

describe("durable-a2a/card, bundled and minified", () => {
  test("is smaller than 20 KiB after gzip, and runs without workerd and without Node", async () => {
    const card = await bundle("src/card.ts");
    expect(gzipSync(card.code).byteLength).toBeLessThan(20 * 1024);
    expect(importsOf(card)).toEqual([]);
    expect(modulesIn(card).filter((path) => path.includes("/zod/"))).toEqual([]);
  });
});

describe("durable-a2a/push, bundled and minified", () => {
  test("is smaller than 60 KiB after gzip, and runs without workerd and without Node", async () => {
    const push = await bundle("src/push.ts");
    expect(gzipSync(push.code).byteLength).toBeLessThan(60 * 1024);
    expect(importsOf(push)).toEqual([]);
  });
});

describe("the search for generated code", () => {
  test.each(["eval('1')", "new Function('1')", "Function('1')()", "const F = Function; new F('1')"])(
    "finds %s",
    (source) => {
      expect(makesCode(source, "js")).toBe(true);
    },
  );

  test.each([
    "const evaluate = (f: Function) => f;",
    "x instanceof Function;",
    "a.eval('1')",
    "// eval(1)",
  ])("passes %s", (source) => {
    expect(makesCode(source, "ts")).toBe(false);
  });
});
