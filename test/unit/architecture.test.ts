/** Holds the source tree to its layers and sizes. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";
import {
  cycles,
  layeringViolations,
  type Module,
  nameViolations,
  platformViolations,
  readModule,
  sizesOf,
} from "./layering.ts";

const root = join(import.meta.dirname, "../..");

function filesUnder(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
      .filter((path) => !/\/(node_modules|dist|\.wrangler)\//.test(path)),
  );
}

const library = filesUnder("src", "durable-objects")
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readModule(path, readFileSync(join(root, path), "utf8")));

describe("the source tree", () => {
  test("imports go down the layers, never up", () => {
    expect(layeringViolations(library)).toEqual([]);
  });

  test("the platform is imported only where objects and handlers are, Node only in the commands", () => {
    expect(platformViolations(library)).toEqual([]);
  });

  test("no import comes back to where it started", () => {
    expect(cycles(library)).toEqual([]);
  });

  test("no file or folder has a name that says nothing", () => {
    expect(nameViolations(filesUnder("src", "durable-objects", "test", "templates"))).toEqual([]);
  });

  test("files are short: the median is at most 150 lines, and nine in ten have at most 300", () => {
    const { median, long } = sizesOf(library);
    expect(median).toBeLessThanOrEqual(150);
    expect(long).toBeLessThanOrEqual(0.1);
  });

  test("the task object is a switchboard of fewer than 150 lines", () => {
    const object = library.find(({ path }) => path === "durable-objects/task-object.ts");
    expect(object?.lines).toBeLessThan(150);
  });
});

/** A made-up module: `import type` where a specifier starts with "type ". */
function made(path: string, ...specifiers: string[]): Module {
  const source = specifiers.map((text) =>
    text.startsWith("type ")
      ? `import type * as x from "${text.slice(5)}";`
      : `import * as x from "${text}";`,
  );
  return readModule(path, source.join("\n"));
}

describe("the check of the layers", () => {
  const refused: [title: string, module: Module][] = [
    ["protocol importing a task rule", made("src/protocol/task.ts", "../task/apply.ts")],
    ["a type import upwards", made("src/task/view.ts", "type ../agent/turn.ts")],
    ["agent importing the rest of push", made("src/agent/turn.ts", "../push/consumer.ts")],
    ["an operation importing a binding", made("src/operations/get.ts", "../bindings/rest.ts")],
    [
      "an operation importing an object",
      made("src/operations/get.ts", "../../durable-objects/index.ts"),
    ],
    ["a binding importing the edge", made("src/bindings/rest.ts", "../edge/app.ts")],
    ["the edge importing an object", made("src/edge/app.ts", "../../durable-objects/index.ts")],
    [
      "an object importing an operation",
      made("durable-objects/runner.ts", "../src/operations/table.ts"),
    ],
    ["an object importing the worker", made("durable-objects/index.ts", "../src/worker.ts")],
    ["a command importing the library", made("src/cli/dev.ts", "../protocol/task.ts")],
    ["the library importing a command", made("src/index.ts", "./cli/dev.ts")],
    ["the library importing itself by its name", made("src/edge/app.ts", "durable-a2a")],
    ["a folder that nobody placed", made("src/extras/thing.ts")],
  ];
  test.each(refused)("refuses %s", (_title, module) => {
    expect(layeringViolations([module])).toHaveLength(1);
  });

  const allowed: [title: string, module: Module][] = [
    ["a file importing its own folder", made("src/task/view.ts", "./apply.ts")],
    ["a layer importing one below", made("src/operations/get.ts", "../task/view.ts", "zod")],
    ["agent importing the target rule", made("src/agent/card.ts", "../push/target.ts")],
    ["an object importing the ports", made("durable-objects/index.ts", "../src/operations/ports.ts")],
    ["the worker importing both sides", made("src/worker.ts", "./edge/app.ts", "./bindings/rest.ts")],
    ["the index naming the objects", made("src/index.ts", "../durable-objects/index.ts")],
  ];
  test.each(allowed)("lets %s pass", (_title, module) => {
    expect(layeringViolations([module])).toEqual([]);
  });
});

describe("the other checks", () => {
  test("refuse the platform outside objects and handlers, and Node outside the commands", () => {
    const modules = [
      made("src/edge/app.ts", "cloudflare:workers"),
      made("src/agent/turn.ts", "type cloudflare:workers"),
      made("durable-objects/runner.ts", "node:crypto"),
      made("src/worker.ts", "cloudflare:workers"),
      made("durable-objects/index.ts", "cloudflare:workers"),
      made("src/cli/dev.ts", "node:fs"),
    ];
    expect(platformViolations(modules)).toEqual([
      "src/edge/app.ts imports cloudflare:workers",
      "src/agent/turn.ts imports cloudflare:workers",
      "durable-objects/runner.ts imports node:crypto",
    ]);
  });

  test("find a cycle of two and of three, and take type imports for none", () => {
    const two = [made("src/task/a.ts", "./b.ts"), made("src/task/b.ts", "./a.ts")];
    expect(cycles(two)).toEqual(["src/task/a.ts → src/task/b.ts → src/task/a.ts"]);
    const three = [
      made("src/task/a.ts", "./b.ts"),
      made("src/task/b.ts", "./c.ts"),
      made("src/task/c.ts", "./a.ts", "./d.ts"),
      made("src/task/d.ts"),
    ];
    expect(cycles(three)).toHaveLength(1);
    const types = [made("src/task/a.ts", "./b.ts"), made("src/task/b.ts", "type ./a.ts")];
    expect(cycles(types)).toEqual([]);
  });

  test("refuse vague names of files and folders, and let words that contain them pass", () => {
    const paths = ["src/utils/a.ts", "src/task/helpers.ts", "test/common.test.ts", "src/task/score.ts"];
    expect(nameViolations(paths)).toEqual(paths.slice(0, 3));
  });

  test("measure the median and the part of long files", () => {
    const sized = (lines: number): Module => ({ path: "src/task/a.ts", imports: [], lines });
    expect(sizesOf([10, 301, 100, 300].map(sized))).toEqual({ median: 300, long: 0.25 });
  });

  test("read every form of import, and no import in a comment or a string", () => {
    const source = `
      import { a } from "./a.ts";
      import "./b.ts";
      export * from "./c.ts";
      export type { D } from "./d.ts";
      import type { E } from "./e.ts";
      type F = import("./f.ts").F;
      const g = await import("./g.ts");
      // import "./no.ts"
      const text = 'import "./no.ts"';
    `;
    expect(readModule("src/task/x.ts", source).imports).toEqual([
      { specifier: "./a.ts", erased: false },
      { specifier: "./b.ts", erased: false },
      { specifier: "./c.ts", erased: false },
      { specifier: "./d.ts", erased: true },
      { specifier: "./e.ts", erased: true },
      { specifier: "./f.ts", erased: true },
      { specifier: "./g.ts", erased: false },
    ]);
  });
});
