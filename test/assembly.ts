/** What a client makes of a stream, by the words of the specification alone (§4.2). */
import type { Artifact, StreamResponse, Task } from "durable-a2a";

export type Assembled = Pick<Task, "status" | "artifacts">;

/** Status and artifacts after these events: `append` adds the parts, anything else replaces the artifact. */
export function assemble(events: readonly StreamResponse[]): Assembled {
  const [first, ...more] = events;
  if (!first?.task) throw new Error("a stream begins with the task");
  let { status } = first.task;
  const artifacts = new Map((first.task.artifacts ?? []).map((each) => [each.artifactId, each]));
  for (const { statusUpdate, artifactUpdate } of more) {
    if (statusUpdate) status = statusUpdate.status;
    if (!artifactUpdate) continue;
    const { artifact, append } = artifactUpdate;
    const known = append ? artifacts.get(artifact.artifactId) : undefined;
    const parts = [...(known?.parts ?? []), ...artifact.parts];
    artifacts.set(artifact.artifactId, { ...known, ...artifact, parts });
  }
  return { status, artifacts: [...artifacts.values()] };
}

/** Status and artifacts with adjacent texts joined: how chunks were cut is not part of what they say. */
export function content({ status, artifacts = [] }: Assembled): object {
  return { status, artifacts: artifacts.map((each) => ({ ...each, parts: joinTexts(each.parts) })) };
}

function joinTexts(parts: Artifact["parts"]): Artifact["parts"] {
  const joined: Artifact["parts"] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last?.text === undefined || part.text === undefined) joined.push(part);
    else joined[joined.length - 1] = { ...last, text: last.text + part.text };
  }
  return joined;
}
