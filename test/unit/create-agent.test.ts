/** The pure parts of create-agent: its options, its names, and what it makes of each template. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  AUTHS,
  type AuthName,
  type Choices,
  optionsFor,
  readArguments,
  TEMPLATES,
  type TemplateName,
  withDefaults,
} from "../../src/cli/create/choices.ts";
import { projectName, quoted } from "../../src/cli/create/names.ts";
import { needsOwnNode, nodeFault, wranglerFault } from "../../src/cli/create/node-version.ts";
import { templateFiles } from "../../src/cli/create/package-files.ts";
import { type Files, render } from "../../src/cli/create/render.ts";

const NAMES = Object.keys(TEMPLATES) as TemplateName[];
const SCHEMES = Object.keys(AUTHS) as AuthName[];

function choices(changes: Partial<Choices> = {}): Choices {
  const oidc = { issuer: "https://login.example.com", audience: "agents" };
  const { auth = "open" } = changes;
  return withDefaults({ folder: "x", auth, ...(auth === "oidc" && oidc), ...changes }, false);
}

describe("options", () => {
  test("what is not said has a default", () => {
    expect(withDefaults(readArguments(["my-agent"]).given, false)).toEqual({
      folder: "my-agent",
      template: "hello",
      auth: "api-key",
      issuer: "",
      audience: "",
      push: false,
      install: true,
      git: true,
    });
    expect(withDefaults({ folder: "x", template: "long-job" }, true)).toMatchObject({
      push: true,
      git: false,
    });
  });

  test.each([
    [["x", "--template", "helo"], /no template "helo": take one of hello, llm, approval, long-job/],
    [["x", "--auth", "none"], /no auth "none": take one of api-key, oidc, open/],
    [["x", "--colour"], /Unknown option '--colour'[\s\S]*--template NAME/],
    [["x", "--template"], /--template[\s\S]*The options are/],
    [["my", "agent"], /One folder, please, not 2: my, agent/],
    [[], /Say where/],
    [["x", "--auth", "oidc"], /--issuer must be the https URL/],
    [["x", "--auth", "oidc", "--issuer", "http://a.example"], /--issuer must be the https URL/],
    [["x", "--auth", "oidc", "--issuer", "https://a.example"], /needs --audience/],
    [["x", "--issuer", "https://a.example"], /go with --auth oidc/],
  ])("%j is refused, and says what there is", (args, words) => {
    expect(() => withDefaults(readArguments(args).given, false)).toThrow(words);
  });

  test.each(SCHEMES)("the options of a choice make it again (%s)", (auth) => {
    for (const flags of [{}, { push: true, install: false, git: false }]) {
      const chosen = choices({ auth, template: "llm", ...flags });
      expect(withDefaults(readArguments(["x", ...optionsFor(chosen)]).given, true)).toEqual(chosen);
    }
  });
});

test.each([
  ["my-agent", "my-agent"],
  ["My Agent", "my-agent"],
  ["Über größe", "uber-gro-e"],
  ["--..x--", "x"],
  ["агент", "my-agent"],
  ["a".repeat(80), "a".repeat(50)],
])("the project in the folder %j is called %s", (folder, name) => {
  expect(projectName(folder)).toBe(name);
});

test("words of a shell are quoted where they must be", () => {
  expect(["my-agent", "../x", "my agent", "it's"].map(quoted)).toEqual([
    "my-agent",
    "../x",
    "'my agent'",
    `'it'\\''s'`,
  ]);
});

test("an old Node.js is told so; one that is too old for wrangler brings another along", () => {
  expect(nodeFault("18.20.4")).toMatch(/needs Node.js 20 or later, and this is 18.20.4/);
  expect(["20.0.0", "22.1.0"].map(nodeFault)).toEqual([undefined, undefined]);
  expect(["20.19.1", "21.0.0", "22.0.0", "24.1.0"].map(needsOwnNode)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(wranglerFault("21.0.0")).toMatch(/wrangler needs Node.js 22 or later, and this is 21.0.0/);
  expect(wranglerFault("22.0.0")).toBeUndefined();
});

describe.each(NAMES)("template %s", (template) => {
  const source = templateFiles(template);
  const queues = templateFiles("long-job").get("wrangler.jsonc") ?? "";
  const made = (changes: Partial<Choices>, name = "shop-bot"): Files =>
    render(source, choices({ template, ...changes }), { name, dependency: "^9.9.9" }, queues);
  const text = (files: Files, path: string): string => files.get(path) ?? "";

  test("is a whole project, with a program of at most 60 lines", () => {
    expect([...source.keys()]).toEqual(
      expect.arrayContaining([
        ".github/workflows/ci.yml",
        "AGENTS.md",
        "README.md",
        "gitignore",
        "package.json",
        "src/index.ts",
        "test/agent.test.ts",
        "tsconfig.json",
        "vitest.config.ts",
        "wrangler.jsonc",
      ]),
    );
    expect(text(source, "src/index.ts").trimEnd().split("\n").length).toBeLessThanOrEqual(60);
    expect(text(source, "wrangler.jsonc")).toContain(
      '"$schema": "node_modules/wrangler/config-schema.json"',
    );
  });

  test("uses nothing of the package but what it exports", () => {
    for (const [path, content] of source) {
      if (!path.endsWith(".ts")) continue;
      for (const [, name = ""] of content.matchAll(/from "(durable-a2a[^"]*)"/g)) {
        expect(["durable-a2a", "durable-a2a/testing", "durable-a2a/push"]).toContain(name);
      }
      expect(content).not.toMatch(/from "\.\.\/\.\.\//);
    }
  });

  test("has the versions of this repository", async () => {
    const own = await import("../../package.json", { with: { type: "json" } });
    const { devDependencies } = JSON.parse(text(source, "package.json")) as {
      devDependencies: Record<string, string>;
    };
    const known = own.default.devDependencies as Record<string, string>;
    for (const [name, version] of Object.entries(devDependencies)) expect(version).toBe(known[name]);
    expect(JSON.parse(text(source, "package.json")).dependencies["durable-a2a"]).toBe(
      `^${own.default.version}`,
    );
  });

  test.each(SCHEMES)("is open to whom it was said: %s", (auth) => {
    const program = text(made({ auth }), "src/index.ts");
    const maker = { "api-key": "apiKey()", oidc: "oidc({ issuer:", open: "open()" }[auth];
    expect(program).toContain(`  auth: ${maker}`);
    expect(program.match(/^ *auth: /gm)).toHaveLength(1);
    const [, names = ""] = /import \{([^}]*)\} from "durable-a2a"/.exec(program) ?? [];
    expect(names.split(",").map((name) => name.trim())).toContain(maker.replace(/\(.*/, ""));
    expect(/\bopen\b/.test(names)).toBe(auth === "open");
    const readme = text(made({ auth }), "README.md");
    const header = { "api-key": "X-API-Key: $API_KEY", oidc: "Bearer $TOKEN", open: undefined }[auth];
    if (header !== undefined) {
      const curls = readme.split("\n").filter((line) => line.startsWith("curl"));
      expect(curls.length).toBeGreaterThan(0);
      for (const curl of curls) expect(curl).toContain(header);
    } else expect(readme).toContain("Who may call: anyone.");
  });

  test.each([true, false])("has webhooks when it was said so: %s", (push) => {
    const files = made({ push });
    const configuration = text(files, "wrangler.jsonc");
    const program = text(files, "src/index.ts");
    expect(program.match(/^ {2}push: /gm)?.length ?? 0).toBe(push ? 1 : 0);
    for (const part of ["PUSH_QUEUE", "shop-bot-push-dead", "queue_consumer_no_wait_for_wait_until"]) {
      expect(configuration.includes(part)).toBe(push);
    }
    for (const content of [configuration, program])
      expect(content).not.toMatch(/\/\/ (end of )?push$/m);
    // Comments aside it is JSON.
    const config = JSON.parse(configuration.replace(/^\s*\/\/.*$/gm, "")) as { name: string };
    expect(config.name).toBe("shop-bot");
    expect(configuration).not.toContain(`"${template}`);
  });

  test("has the project's name, and a .gitignore", () => {
    const files = made({});
    expect(JSON.parse(text(files, "package.json"))).toMatchObject({
      name: "shop-bot",
      dependencies: { "durable-a2a": "^9.9.9" },
    });
    expect(text(files, "README.md")).toMatch(/^# shop-bot\n/);
    expect(text(files, ".gitignore")).toMatch(/^\.dev\.vars$/m);
    expect(files.has("gitignore")).toBe(false);
  });
});

test("npm create durable-a2a brings the version that it belongs to", async () => {
  const creator = await import("../../packages/create-durable-a2a/package.json", {
    with: { type: "json" },
  });
  const own = await import("../../package.json", { with: { type: "json" } });
  expect(creator.default.version).toBe(own.default.version);
  expect(creator.default.dependencies["durable-a2a"]).toBe(own.default.version);
});

test("every folder of templates/ can be chosen", () => {
  const folders = readdirSync(join(import.meta.dirname, "../../templates"));
  expect(folders.sort()).toEqual([...NAMES].sort());
});
