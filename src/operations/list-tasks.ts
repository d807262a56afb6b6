import { type Caller, ownerOf } from "../protocol/caller.ts";
import { A2AError } from "../protocol/errors.ts";
import { decodePageToken, encodePageToken } from "../protocol/page-token.ts";
import type { ListTasksRequest, ListTasksResponse } from "../protocol/requests.ts";
import type { Task } from "../protocol/task.ts";
import type { IndexQuery, IndexRow, Ports } from "./ports.ts";

const DEFAULT_PAGE_SIZE = 50;
/** Tasks on a page that shows history or artifacts: each is asked of its own object. */
const MAX_FULL_PAGE_SIZE = 40;

/** §3.1.4: the caller's tasks, latest status first. */
export async function listTasks(
  caller: Caller,
  request: ListTasksRequest,
  ports: Ports,
): Promise<ListTasksResponse> {
  const { agent } = ports;
  if (!agent.definition.auth.listsTasks) {
    throw new A2AError("UNSUPPORTED_OPERATION", {
      message: "This agent is open to anyone and does not list tasks",
    });
  }
  const owner = ownerOf(agent.id, caller);
  const historyLength = request.historyLength ?? 0;
  const artifacts = request.includeArtifacts ?? false;
  const full = historyLength > 0 || artifacts;
  const asked = request.pageSize ?? DEFAULT_PAGE_SIZE;
  const pageSize = full ? Math.min(asked, MAX_FULL_PAGE_SIZE) : asked;

  const page = await ports.index(owner).list(query(request, owner, pageSize));
  const tasks = await Promise.all(
    page.rows.map(async (row) => {
      if (!full) return JSON.parse(row.body) as Task;
      const found = await ports.tasks.find(row.id)?.get(owner, { historyLength, artifacts });
      return found?.ok ? found.value : undefined;
    }),
  );
  return {
    tasks: tasks.filter((task) => task !== undefined),
    nextPageToken: nextPageToken(owner, page.more, page.rows.at(-1)),
    pageSize,
    totalSize: page.total,
  };
}

function query(request: ListTasksRequest, owner: string, limit: number): IndexQuery {
  const { contextId, status, statusTimestampAfter, pageToken } = request;
  return {
    contextId,
    state: status === "TASK_STATE_UNSPECIFIED" ? undefined : status,
    since: statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter),
    behind: pageToken === undefined ? undefined : position(owner, pageToken),
    limit,
  };
}

function position(owner: string, pageToken: string): { time: number; id: string } {
  const [time, id] = decodePageToken(owner, pageToken);
  if (typeof time === "number" && typeof id === "string") return { time, id };
  throw A2AError.field("pageToken", "is not a token of this list");
}

function nextPageToken(owner: string, more: boolean, last: IndexRow | undefined): string {
  return more && last ? encodePageToken(owner, [last.time, last.id]) : "";
}
