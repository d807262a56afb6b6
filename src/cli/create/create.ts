/** `create-agent`, from the command line to the words at the end. */
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CommandError } from "../command-error.ts";
import { type Choices, readArguments, USAGE, withDefaults } from "./choices.ts";
import { farewell } from "./farewell.ts";
import { projectName } from "./names.ts";
import { needsOwnNode, usersNode } from "./node-version.ts";
import { dependency, templateFiles, VERSION } from "./package-files.ts";
import { ask } from "./questions.ts";
import { render } from "./render.ts";
import { endAll, run } from "./run.ts";

/** The `node` package that this repository runs its own tools with. */
const OWN_NODE = "24.21.0";

/** Makes the project; gives the exit code. Leaves the disk as it was unless all of it succeeds. */
export async function createAgent(args: string[]): Promise<number> {
  try {
    const { given, yes, help, version, package: spec } = readArguments(args);
    if (help || version) {
      console.log(help ? USAGE : VERSION);
      return 0;
    }
    const fault = given.folder === undefined ? undefined : folderFault(given.folder);
    if (fault !== undefined) throw new CommandError(fault);
    const choices = await choose(given, yes);
    if (!choices) {
      console.error("Nothing was made.");
      return 130;
    }
    await make(choices, spec);
    return 0;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.error(error.message);
    return 2;
  }
}

async function choose(given: Partial<Choices>, yes: boolean): Promise<Choices | undefined> {
  const parent = dirname(resolve(given.folder ?? "."));
  const inRepository = (await run("git", ["rev-parse", "--git-dir"], parent)).code === 0;
  const alone = yes || Boolean(process.env.CI) || !process.stdin.isTTY || !process.stdout.isTTY;
  return alone ? withDefaults(given, inRepository) : ask(given, { inRepository, folderFault });
}

/** Why no project can be made there. */
function folderFault(folder: string): string | undefined {
  const target = resolve(folder);
  const parent = dirname(target);
  if (!existsSync(parent) || !statSync(parent).isDirectory()) return `There is no folder ${parent}`;
  if (!existsSync(target)) return undefined;
  if (!statSync(target).isDirectory()) return `${target} is a file`;
  return readdirSync(target).length > 0 ? `${target} is not empty` : undefined;
}

/** Writes into a folder beside the target, which takes its name when all is done. */
async function make(choices: Choices, spec: string | undefined): Promise<void> {
  const start = performance.now();
  const target = resolve(choices.folder);
  const draft = join(dirname(target), `.${basename(target)}.create-agent-${process.pid}`);
  const discard = () => {
    endAll();
    rmSync(draft, { recursive: true, force: true, maxRetries: 5 });
  };
  const interrupted = (signal: NodeJS.Signals) => {
    discard();
    console.error("\nInterrupted; nothing was made.");
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, interrupted);
  try {
    mkdirIn(draft);
    const key = choices.auth === "api-key" ? randomBytes(24).toString("base64url") : undefined;
    await write(draft, choices, spec, key);
    if (choices.install) await install(draft);
    const git = choices.git && (await initialize(draft));
    renameSync(draft, target);
    const seconds = (performance.now() - start) / 1000;
    console.log(
      farewell({ choices: { ...choices, git }, key, seconds, folder: relative(".", target) || "." }),
    );
    if (choices.git && !git) console.log("There is no git here: no repository was made.");
  } catch (error) {
    discard();
    throw error;
  } finally {
    for (const signal of signals) process.off(signal, interrupted);
  }
}

function mkdirIn(draft: string): void {
  try {
    mkdirSync(draft);
  } catch (error) {
    throw new CommandError(`Nothing can be written to ${dirname(draft)}: ${(error as Error).message}`);
  }
}

async function write(
  draft: string,
  choices: Choices,
  spec: string | undefined,
  key: string | undefined,
): Promise<void> {
  const files = render(
    templateFiles(choices.template),
    choices,
    {
      name: projectName(basename(resolve(choices.folder))),
      dependency: spec ?? (await dependency(draft)),
      node: needsOwnNode(await usersNode()) ? OWN_NODE : undefined,
    },
    templateFiles("long-job").get("wrangler.jsonc") ?? "",
  );
  for (const [path, text] of files) {
    const file = join(draft, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  if (key === undefined) return;
  const hash = createHash("sha256").update(key).digest("hex");
  writeFileSync(join(draft, ".dev.vars"), `API_KEYS='${JSON.stringify({ me: hash })}'\n`, {
    mode: 0o600,
  });
}

async function install(draft: string): Promise<void> {
  console.log("Installing …");
  const { code, output } = await run("npm", ["install", "--no-audit", "--no-fund"], draft);
  if (code === 127) throw new CommandError("There is no npm here; say --no-install");
  if (code !== 0) throw new CommandError(`npm install failed:\n${output}`);
}

/** A repository with a first commit, as far as git knows who commits; false when there is no git. */
async function initialize(draft: string): Promise<boolean> {
  if ((await run("git", ["init", "--quiet"], draft)).code !== 0) return false;
  await run("git", ["add", "--all"], draft);
  await run("git", ["commit", "--quiet", "--message", "An agent on durable-a2a"], draft);
  return true;
}
