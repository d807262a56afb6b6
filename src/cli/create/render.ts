/** Turns a template into the files of a project: pure. */
import type { Choices } from "./choices.ts";

export interface Project {
  name: string;
  /** The dependency on this library, as npm writes it. */
  dependency: string;
  /** The version of the `node` package to bring along, when there has to be one. */
  node?: string | undefined;
}

/** Files by their path in the project. */
export type Files = ReadonlyMap<string, string>;

const PUSH_LINE = '  push: { allow: ["hooks.example.com"] }, // the hosts that webhooks may be at\n';
const BLOCK = /^ *\/\/ push\n([\s\S]*?)^ *\/\/ end of push\n/gm;

/**
 * The files of the project. `queues` is the configuration of a template that has webhooks, where the parts that they
 * need stand between the lines `// push` and `// end of push`.
 */
export function render(template: Files, choices: Choices, project: Project, queues: string): Files {
  const files = new Map<string, string>();
  for (const [path, text] of template) {
    // npm leaves a file of the name it should have out of a package.
    files.set(path === "gitignore" ? ".gitignore" : path, text);
  }
  change(files, "package.json", (text) => manifest(text, project));
  change(files, "wrangler.jsonc", (text) => configuration(text, choices, project, queues));
  change(files, "src/index.ts", (text) => program(text, choices));
  change(files, "README.md", (text) => readme(text, choices, project));
  return files;
}

function change(files: Map<string, string>, path: string, edit: (text: string) => string): void {
  const text = files.get(path);
  if (text !== undefined) files.set(path, edit(text));
}

function manifest(text: string, { name, dependency, node }: Project): string {
  const parsed = JSON.parse(text) as {
    name: string;
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  parsed.name = name;
  parsed.dependencies["durable-a2a"] = dependency;
  if (node !== undefined) parsed.devDependencies.node = node;
  return `${JSON.stringify(parsed, null, 2)}\n`;
}

function configuration(
  text: string,
  { push, template }: Choices,
  { name }: Project,
  queues: string,
): string {
  const [flags = "", bindings = ""] = Array.from(queues.matchAll(BLOCK), ([, inner = ""]) => inner);
  const bare = text.replace(BLOCK, "");
  const whole = push
    ? bare
        .replace(/^ *"main": .*\n.*\n/m, (lines) => lines + flags)
        .replace(/^ *"migrations"/m, (line) => bindings + line)
    : bare;
  const names = [template, "long-job"].map(
    (each) => new RegExp(`"${each}(-push(-slow|-dead)?)?"`, "g"),
  );
  const comment = /create long-job-push \(and long-job-push-slow, long-job-push-dead\)/;
  return names
    .reduce((renamed, pattern) => renamed.replace(pattern, `"${name}$1"`), whole)
    .replace(comment, `create ${name}-push (and ${name}-push-slow, ${name}-push-dead)`);
}

const SCHEMES: Record<Choices["auth"], string> = { "api-key": "apiKey", oidc: "oidc", open: "open" };

function program(text: string, choices: Choices): string {
  const { auth, issuer, audience, push } = choices;
  const scheme = SCHEMES[auth];
  const options =
    auth === "oidc"
      ? `{ issuer: ${JSON.stringify(issuer)}, audience: ${JSON.stringify(audience)}, algorithms: ["RS256"] }`
      : "";
  const why = {
    "api-key": "the keys' hashes are in the secret API_KEYS",
    oidc: "the algorithms are those your issuer signs with",
    open: "required: who may call is never a default",
  }[auth];
  return text
    .replace(BLOCK, "")
    .replace(/^import \{([^}]*)\} from "durable-a2a";/m, (_, names: string) => {
      const list = names.split(",").map((each) => each.trim());
      const renamed = list.filter(Boolean).map((each) => (each === "open" ? scheme : each));
      return `import { ${renamed.sort(byName).join(", ")} } from "durable-a2a";`;
    })
    .replace(
      /^ *auth: open\(\),.*\n/m,
      `  auth: ${scheme}(${options}), // ${why}\n${push ? PUSH_LINE : ""}`,
    );
}

/** As formatters sort imports: by name, whether it is a type or not. */
function byName(a: string, b: string): number {
  const [first, second] = [a, b].map((each) => each.replace("type ", ""));
  return (first ?? "").localeCompare(second ?? "");
}

const VERSION_HEADER = "-H 'A2A-Version: 1.0'";

function readme(text: string, { auth }: Choices, { name }: Project): string {
  const header = {
    "api-key": ` -H "X-API-Key: $API_KEY"`,
    oidc: ` -H "Authorization: Bearer $TOKEN"`,
    open: "",
  }[auth];
  const who = {
    "api-key":
      "Who may call: who has a key. The hashes of the keys are in the secret `API_KEYS`, on this machine in `.dev.vars`; put yours into `$API_KEY` for the commands below (`export API_KEY=…`).",
    oidc: "Who may call: users of the OpenID Connect issuer in `src/index.ts`; put a token of it into `$TOKEN` for the commands below.",
    open: "Who may call: anyone.",
  }[auth];
  return text
    .replace(/^# .*$/m, `# ${name}`)
    .replace(/^Who may call: .*$/m, who)
    .replaceAll(VERSION_HEADER, VERSION_HEADER + header);
}
