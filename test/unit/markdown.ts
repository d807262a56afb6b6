/** What the tests of the documentation read out of a Markdown file. */

/** A fenced block. */
export interface Block {
  /** The words after the fence: "ts", "ts members", "json", … */
  info: string;
  code: string;
  /** Line of the opening fence, from 1. */
  line: number;
  /** TypeScript of the comment `<!-- given … -->` right above it, which readers do not see. */
  given: string;
}

const BLOCK = /^(?:<!-- given\n(?<given>[\s\S]*?)-->\n)?```(?<info>.*)\n(?<code>[\s\S]*?)^```$/gm;

/** All blocks; throws when a fence is left that is not part of one, so that none goes unseen. */
export function blocksOf(markdown: string): Block[] {
  const blocks = [...markdown.matchAll(BLOCK)].map(({ 0: whole, index, groups = {} }) => {
    const { given = "", info = "", code = "" } = groups;
    const fence = index + whole.indexOf(`\`\`\`${info}\n${code}`);
    return { info, code, given, line: markdown.slice(0, fence).split("\n").length };
  });
  const left = /^[\s>*\d.-]*(```|<!-- given).*$/m.exec(markdown.replace(BLOCK, ""));
  if (left) throw new Error(`not a fenced block at the start of a line: ${left[0]}`);
  return blocks;
}

/** Members of a definition are those of an object literal around them. */
const MEMBERS = {
  before:
    'import { type AgentDefinition as $D, defineAgent as $d } from "durable-a2a"; declare const $: $D; $d({ ...$,',
  after: "});",
};

/** A block as a module whose lines have the numbers that they have in the Markdown file. */
export function moduleOf({ info, code, line, given }: Block): string {
  const { before, after } = info === "ts members" ? MEMBERS : { before: "", after: "" };
  const above = given.split("\n").length - 1;
  // The comment's own last line stands between what is given and the fence.
  const blank = "\n".repeat(line - 1 - above - (given === "" ? 0 : 1));
  return `${blank}${given}${given === "" ? "" : "\n"}${before}\n${code}${after}\nexport {};\n`;
}

/** Where links lead, those in code left out. */
export function linksOf(markdown: string): string[] {
  const prose = markdown.replace(BLOCK, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}

/** The anchors of the headings, as GitHub makes them. */
export function anchorsOf(markdown: string): string[] {
  const seen = new Map<string, number>();
  return [...markdown.replace(BLOCK, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "")
      .replaceAll(" ", "-");
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
}

/** JSON with comments, as JSON. */
export function withoutComments(jsonc: string): string {
  return jsonc.replace(/("(?:[^"\\]|\\.)*")|\/\/.*|\/\*[\s\S]*?\*\//g, "$1");
}
