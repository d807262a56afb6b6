import type { ArtifactInput, Part } from "durable-a2a";
import type { Month } from "./sales.ts";

/** An artifact with a media type, and the SHA-256 of its content (of its JSON, for data) in hex. */
export async function file(
  filename: string,
  mediaType: string,
  content: string | object,
): Promise<ArtifactInput> {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const part: Part = typeof content === "string" ? { text: content } : { data: content };
  return {
    artifactId: filename,
    name: filename,
    parts: [{ ...part, mediaType, filename }],
    metadata: { sha256: hash.toHex() },
  };
}

export function csv(months: readonly Month[]): string {
  return ["month,sold", ...months.map(({ name, sold }) => `${name},${sold}`)].join("\r\n");
}
