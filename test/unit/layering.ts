/** The rules of the source tree, as functions from modules to violations. `architecture.test.ts` holds the tree to them. */
import { posix } from "node:path";
import { parseSync } from "vite";

interface Import {
  /** As written. */
  readonly specifier: string;
  /** Gone when compiled: `import type`, `export type … from`, `import("…").T`. */
  readonly erased: boolean;
}

export interface Module {
  /** From the root of the repository, with `/`. */
  readonly path: string;
  readonly imports: readonly Import[];
  readonly lines: number;
}

/**
 * What each layer may import: other layers, or single files of them. A layer may always import itself.
 * A folder that is not here is a violation, so that a new one is placed on purpose.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  task: ["protocol"],
  push: ["task", "protocol", "src/signature/key-set.ts"],
  signature: ["protocol"],
  agent: ["task", "signature", "protocol", "src/push/target.ts"],
  operations: [
    "agent",
    "task",
    "protocol",
    "src/push/resolve.ts",
    "src/push/headers.ts",
    "src/push/job.ts",
  ],
  bindings: ["operations", "agent", "task", "protocol"],
  edge: ["bindings", "operations", "agent", "protocol"],
  needs: [],
  env: ["needs", "src/operations/ports.ts", "src/push/job.ts", "protocol"],
  "durable-objects": ["agent", "task", "push", "protocol", "env", "needs", "src/operations/ports.ts"],
  worker: [
    "needs",
    "edge",
    "bindings",
    "operations",
    "agent",
    "task",
    "push",
    "protocol",
    "env",
    "durable-objects",
  ],
  operator: ["env", "protocol", "src/operations/ports.ts", "src/push/job.ts"],
  index: [
    "worker",
    "operator",
    "edge",
    "bindings",
    "operations",
    "agent",
    "task",
    "push",
    "signature",
    "protocol",
    "env",
    "durable-objects",
  ],
  card: ["signature", "protocol"],
  testing: ["worker", "env", "agent", "protocol"],
  cli: ["needs"],
};

const VAGUE_NAMES = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "shared",
  "common",
  "core",
  "misc",
  "lib",
]);

/** `src/task/apply.ts` is in "task", `src/worker.ts` is "worker". */
function layerOf(path: string): string {
  const [top = "", second = ""] = path.split("/");
  return top === "src" ? second.replace(/\.ts$/, "") : top;
}

/** The module of ours that an import names, or undefined for a package. */
function targetOf(from: Module, { specifier }: Import): string | undefined {
  if (specifier === "durable-a2a") return "src/index.ts";
  return specifier.startsWith(".") ? posix.join(posix.dirname(from.path), specifier) : undefined;
}

export function layeringViolations(modules: readonly Module[]): string[] {
  return modules.flatMap((module) => {
    const layer = layerOf(module.path);
    const allowed = MAY_IMPORT[layer];
    if (!allowed) return [`${module.path}: "${layer}" is not a layer`];
    return module.imports.flatMap((imported) => {
      const target = targetOf(module, imported);
      if (target === undefined || layerOf(target) === layer) return [];
      if (allowed.includes(layerOf(target)) || allowed.includes(target)) return [];
      return [`${module.path} imports ${target}`];
    });
  });
}

/** `cloudflare:` modules exist only in workerd, `node:` modules only in Node or with a compatibility flag. */
export function platformViolations(modules: readonly Module[]): string[] {
  const mayBind = ["durable-objects", "worker", "testing"];
  return modules.flatMap((module) =>
    module.imports.flatMap(({ specifier }) => {
      const bound = specifier.startsWith("cloudflare:") && !mayBind.includes(layerOf(module.path));
      const node = specifier.startsWith("node:") && layerOf(module.path) !== "cli";
      return bound || node ? [`${module.path} imports ${specifier}`] : [];
    }),
  );
}

/** Folders and files are nouns of the protocol or of the flow. */
export function nameViolations(paths: readonly string[]): string[] {
  return paths.filter((path) =>
    path.split("/").some((segment) => VAGUE_NAMES.has(segment.split(".")[0]?.toLowerCase() ?? "")),
  );
}

/** Cycles of imports that remain when compiled, each once, as `a → b → a`. */
export function cycles(modules: readonly Module[]): string[] {
  const byPath = new Map(modules.map((module) => [module.path, module]));
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (module: Module, trail: readonly string[]): void => {
    const start = trail.indexOf(module.path);
    if (start !== -1) {
      found.push([...trail.slice(start), module.path].join(" → "));
      return;
    }
    if (done.has(module.path)) return;
    for (const imported of module.imports) {
      const target = imported.erased ? undefined : byPath.get(targetOf(module, imported) ?? "");
      if (target) visit(target, [...trail, module.path]);
    }
    done.add(module.path);
  };
  for (const module of modules) visit(module, []);
  return found;
}

export interface Sizes {
  readonly median: number;
  /** Part of the files that are longer than 300 lines, from 0 to 1. */
  readonly long: number;
}

export function sizesOf(modules: readonly Module[]): Sizes {
  const lines = modules.map((module) => module.lines).sort((a, b) => a - b);
  return {
    median: lines[Math.floor(lines.length / 2)] ?? 0,
    long: lines.filter((count) => count > 300).length / Math.max(1, lines.length),
  };
}

const IMPORTING = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

function isNode(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The imports of a TypeScript source, from its syntax tree: comments and strings do not count. */
export function readModule(path: string, source: string): Module {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const imports: Import[] = [];
  const visit = (node: unknown): void => {
    if (!isNode(node)) return;
    if (IMPORTING.has(String(node.type)) && isNode(node.source)) {
      imports.push({
        // Only a literal can be followed; anything else is shown as what it is and matches no rule.
        specifier: String(node.source.value ?? "(computed)"),
        erased:
          node.type === "TSImportType" || node.importKind === "type" || node.exportKind === "type",
      });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(program);
  return { path, imports, lines: source.trimEnd().split("\n").length };
}
