/**
 * What the official conformance kit (a2aproject/a2a-tck, branch 1.0-dev, `scenarios/*.feature`) asks of an agent
 * under test, by prefix of the message id.
 */
import type { Part } from "durable-a2a";
import type { Step } from "./script.ts";

const file: Part = {
  raw: btoa("Generated file content"),
  filename: "output.txt",
  mediaType: "text/plain",
};

function artifact(...parts: Part[]): Step {
  return { do: "artifact", parts };
}

function streamed(...steps: Step[]): Step[] {
  return [{ do: "working" }, ...steps, { do: "complete" }];
}

const SCENARIOS: Record<string, Step[]> = {
  "tck-complete-task": [{ do: "complete", text: "Hello from TCK" }],
  "tck-artifact-text": [artifact({ text: "Generated text content" }), { do: "complete" }],
  "tck-artifact-file-url": [
    artifact({
      url: "https://example.com/output.txt",
      filename: "output.txt",
      mediaType: "text/plain",
    }),
    { do: "complete" },
  ],
  "tck-artifact-file": [artifact(file), { do: "complete" }],
  "tck-artifact-data": [artifact({ data: { key: "value", count: 42 } }), { do: "complete" }],
  "tck-message-response": [{ do: "reply", parts: [{ text: "Direct message response" }] }],
  "tck-input-required": [{ do: "input" }],
  "tck-reject-task": [{ do: "reject", text: "rejected" }],
  "tck-stream-001": streamed(artifact({ text: "Stream hello from TCK" })),
  "tck-stream-002": [{ do: "complete" }],
  "tck-stream-003": streamed(artifact({ text: "Stream task lifecycle" })),
  "tck-stream-ordering-001": streamed(artifact({ text: "Ordered output" })),
  "tck-stream-artifact-text": streamed(artifact({ text: "Streamed text content" })),
  "tck-stream-artifact-file": streamed(artifact(file)),
  "tck-stream-artifact-chunked": streamed(
    { do: "artifact", artifactId: "chunked", parts: [{ text: "chunk-1 " }] },
    {
      do: "artifact",
      artifactId: "chunked",
      parts: [{ text: "chunk-2" }],
      append: true,
      lastChunk: true,
    },
  ),
  "test-resubscribe-message-id": streamed({ do: "sleep", ms: 4_000 }),
};

/** The steps for a message of the kit; the longest prefix counts. */
export function conformanceScript(messageId: string): Step[] | undefined {
  const prefixes = Object.keys(SCENARIOS).filter((prefix) => messageId.startsWith(prefix));
  const longest = prefixes.sort((a, b) => b.length - a.length)[0];
  return longest === undefined ? undefined : SCENARIOS[longest];
}
