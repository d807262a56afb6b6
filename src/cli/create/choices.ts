/** What can be chosen for a new project, on the command line or by answers. */
import { parseArgs } from "node:util";
import { CommandError } from "../command-error.ts";

export const TEMPLATES = {
  hello: "one skill: the least agent there is",
  llm: "a language model, streamed; works without one",
  approval: "asks a human, waits for days, goes on",
  "long-job": "steps, sleep, progress, a webhook, a report in three formats",
} as const;
export type TemplateName = keyof typeof TEMPLATES;

export const AUTHS = {
  "api-key": "who has a key: one is made for you",
  oidc: "users of an OpenID Connect issuer",
  open: "anyone",
} as const;
export type AuthName = keyof typeof AUTHS;

export interface Choices {
  /** Folder of the project; its last part is its name. */
  folder: string;
  template: TemplateName;
  auth: AuthName;
  /** Of an OpenID Connect issuer; for `oidc` only. */
  issuer: string;
  audience: string;
  push: boolean;
  install: boolean;
  git: boolean;
}

export interface Arguments {
  /** What was said; the rest is asked, or takes its default. */
  given: Partial<Choices>;
  /** Nothing is asked. */
  yes: boolean;
  /** The package to depend on, as npm writes it. Default: this one. */
  package: string | undefined;
  help: boolean;
  version: boolean;
}

export const USAGE = `create-agent FOLDER [options]

  --template NAME         ${names(TEMPLATES)}
  --auth NAME             ${names(AUTHS)}
  --issuer URL            of the OpenID Connect issuer, with --auth oidc
  --audience TEXT         of its tokens, with --auth oidc
  --push, --no-push       webhooks: a queue and the hosts that may be called
  --install, --no-install npm install
  --git, --no-git         git init, and a first commit
  --yes                   asks nothing: defaults for what is not said
  --package SPEC          depends on this package instead of durable-a2a's own version
  --help, --version
`;

const OPTIONS = {
  template: { type: "string" },
  auth: { type: "string" },
  issuer: { type: "string" },
  audience: { type: "string" },
  push: { type: "boolean" },
  install: { type: "boolean" },
  git: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  package: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

/** Reads the command line; throws a CommandError that lists the names when one is unknown. */
export function readArguments(args: string[]): Arguments {
  const { values, positionals } = parse(args);
  const { template, auth, yes = false, help = false, version = false, ...rest } = values;
  const { package: spec, ...given } = rest;
  if (positionals.length > 1) {
    throw new CommandError(
      `One folder, please, not ${positionals.length}: ${positionals.join(", ")}. Put a name with spaces in quotes`,
    );
  }
  return {
    given: {
      ...given,
      ...(positionals[0] !== undefined && { folder: positionals[0] }),
      ...(template !== undefined && { template: oneOf("template", TEMPLATES, template) }),
      ...(auth !== undefined && { auth: oneOf("auth", AUTHS, auth) }),
    },
    yes,
    package: spec,
    help,
    version,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true, allowNegative: true });
  } catch (error) {
    const { message } = error as Error;
    throw new CommandError(`${message.split(". ")[0]}. The options are:\n\n${USAGE}`);
  }
}

function oneOf<T extends object>(option: string, values: T, value: string): keyof T {
  if (Object.hasOwn(values, value)) return value as keyof T;
  throw new CommandError(`There is no ${option} "${value}": take one of ${names(values)}`);
}

function names(values: object): string {
  return Object.keys(values).join(", ");
}

/** What is missing takes its default; throws a CommandError when it has none. */
export function withDefaults(given: Partial<Choices>, inRepository: boolean): Choices {
  const { folder, template = "hello", auth = "api-key", issuer = "", audience = "" } = given;
  if (!folder) throw new CommandError(`Say where: create-agent FOLDER\n\n${USAGE}`);
  checkIssuer({ auth, issuer, audience });
  const { push = pushByDefault(template), install = true, git = !inRepository } = given;
  return { folder, template, auth, issuer, audience, push, install, git };
}

export function pushByDefault(template: TemplateName): boolean {
  return template === "long-job";
}

function checkIssuer({ auth, issuer, audience }: Pick<Choices, "auth" | "issuer" | "audience">): void {
  if (auth !== "oidc") {
    if (issuer !== "" || audience !== "") {
      throw new CommandError("--issuer and --audience go with --auth oidc");
    }
    return;
  }
  const fault = issuerFault(issuer);
  if (fault !== undefined) throw new CommandError(`--issuer ${fault}`);
  if (audience === "") throw new CommandError("--auth oidc needs --audience: the `aud` of the tokens");
}

/** What is wrong with the URL of an issuer. */
export function issuerFault(issuer: string): string | undefined {
  return URL.parse(issuer)?.protocol === "https:"
    ? undefined
    : "must be the https URL of the issuer, the `iss` of its tokens";
}

/** The options that make the same choices again. */
export function optionsFor(choices: Choices): string[] {
  const { template, auth, issuer, audience } = choices;
  const flag = (name: "push" | "install" | "git") => `--${choices[name] ? "" : "no-"}${name}`;
  return [
    ...["--template", template, "--auth", auth],
    ...(auth === "oidc" ? ["--issuer", issuer, "--audience", audience] : []),
    ...[flag("push"), flag("install"), flag("git")],
  ];
}
