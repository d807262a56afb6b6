/** The official SDK in a Worker: its request handler with its D1 store, behind the least of a fetch adapter. */
import { env } from "cloudflare:workers";
import {
  defaultServerCallContextBuilder,
  JsonRpcTransportHandler,
  UnauthenticatedUser,
} from "@a2a-js/sdk/server";
import { DatabaseTaskStore } from "@a2a-js/sdk/server/database";
import { Kysely } from "kysely";
import { D1Dialect } from "kysely-d1";
import { release } from "../words.ts";
import { requestHandler } from "./agent.ts";

const { DB } = env as { DB: D1Database };
const store = new DatabaseTaskStore(new Kysely({ dialect: new D1Dialect({ database: DB }) }));
const transport = new JsonRpcTransportHandler(requestHandler(store));
const encoder = new TextEncoder();

/** Copies the newest task until there are as many. */
const COPIES = `INSERT INTO tasks
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
  SELECT tenant, owner, printf('%s-%06d', substr(id, 1, 29), i), context_id, status_last_updated - i * 1000,
    status_state, status, artifacts, history, metadata, protocol_version
  FROM (SELECT * FROM tasks ORDER BY status_last_updated DESC LIMIT 1), n`;

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/") return answer(request);
    if (pathname === "/bench/release") release(searchParams.get("task") ?? "");
    else if (pathname === "/bench/schema") await createSchema(await request.text());
    else
      await DB.prepare(COPIES)
        .bind(Number(searchParams.get("count")) - 1)
        .run();
    return new Response("done");
  },
} satisfies ExportedHandler;

/** The SQL that `a2a-db` writes: one statement a line. */
async function createSchema(sql: string): Promise<void> {
  const statements = sql.split("\n").filter((line) => line !== "" && !line.startsWith("--"));
  await DB.batch(statements.map((statement) => DB.prepare(statement)));
}

async function answer(request: Request): Promise<Response> {
  const body = await request.json<Record<string, unknown>>();
  const context = defaultServerCallContextBuilder({
    extensions: undefined,
    user: new UnauthenticatedUser(),
    headers: Object.fromEntries(request.headers),
    requestedVersion: request.headers.get("A2A-Version") ?? "1.0",
  });
  const result = await transport.handle(body, context);
  if (!(Symbol.asyncIterator in result)) return Response.json(result);
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await result.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
    },
  });
  return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
}
