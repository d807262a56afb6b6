/** What the package brings along: the templates, and itself as a dependency of the project. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { CommandError } from "../command-error.ts";
import type { Files } from "./render.ts";
import { run } from "./run.ts";

/** The folder of the package: above `src/cli/create`, or `dist/src/cli/create` once it is built. */
const ROOT: string = join(
  import.meta.dirname,
  import.meta.dirname.split(sep).includes("dist") ? "../../../.." : "../../..",
);

const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
export const VERSION: string = version;

/** Whether this is the repository, and not the package as npm installs it. */
export const IS_CLONE: boolean = !ROOT.split(sep).includes("node_modules");

/** What a template must not bring along, from where somebody tried it out. */
const LEFT_BEHIND = new Set(["node_modules", ".wrangler", ".dev.vars", "worker-configuration.d.ts"]);

export function templateFiles(template: string): Files {
  const folder = join(ROOT, "templates", template);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    paths
      .map((path): [string, string] => [relative(folder, path).split(sep).join("/"), path])
      .filter(([name]) => !name.split("/").some((part) => LEFT_BEHIND.has(part)))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, path]) => [name, readFileSync(path, "utf8")]),
  );
}

/**
 * What the project depends on: this version in the registry; from a clone, which is not there, the package itself,
 * packed into the project.
 */
export async function dependency(project: string): Promise<string> {
  if (!IS_CLONE) return `^${VERSION}`;
  const vendor = join(project, "vendor");
  mkdirSync(vendor);
  const packed = await run("npm", ["pack", "--silent", "--pack-destination", vendor], ROOT);
  if (packed.code !== 0) throw new CommandError(`The package could not be packed:\n${packed.output}`);
  return `file:vendor/${packed.output.trim().split("\n").at(-1)}`;
}
