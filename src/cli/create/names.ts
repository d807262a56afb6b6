/** Names of a project, made from the name of its folder. */

/** Cloudflare takes 63; the longest queue adds eleven. */
const LONGEST = 50;

/** The name of the package and of the Worker: lower-case letters, digits and dashes. */
export function projectName(folder: string): string {
  const name = folder
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, "");
  // Letters of other scripts are fine in a folder, but not in the name of a Worker.
  return name === "" ? "my-agent" : name;
}

/** The text as one word of a shell. */
export function quoted(text: string): string {
  return /^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
