/**
 * The Durable Object of one owner: the list of the owner's tasks, latest status first, and what it has under way.
 *
 * Layout: table `task`, made with the first row, and one index over (time, id), so that a change of a task costs
 * two written rows. Lifetime: that of the tasks. Bound: a row for each task the owner has.
 * Table `doomed`: ids of tasks that are being deleted, one after the other, by the alarm. Gone when they are.
 */
import { DurableObject } from "cloudflare:workers";
import { type Bindings, taskDirectory } from "../src/env.ts";
import type {
  AdmitRequest,
  IndexPage,
  IndexPort,
  IndexQuery,
  IndexRow,
} from "../src/operations/ports.ts";
import type { Result } from "../src/protocol/errors.ts";
import type { TaskState } from "../src/protocol/task.ts";
import { OwnerCounts } from "./owner-counts.ts";

/** A request to a task each. */
const DELETED_AT_ONCE = 40;
/** When a task that could not be deleted is tried again. */
const RETRY_MS = 60_000;

export type TaskIndexClass = new (
  ctx: DurableObjectState,
  env: Bindings,
) => DurableObject<Bindings> & IndexPort;

type Stored = { [K in keyof IndexRow]: IndexRow[K] };

export function taskIndexObject(): TaskIndexClass {
  return class TaskIndex extends DurableObject<Bindings> implements IndexPort {
    readonly #sql = this.ctx.storage.sql;
    #exists = this.#has("task");
    #deleting = this.#has("doomed");
    /** The last of the doomed that was tried. */
    #tried = "";

    readonly #counts = new OwnerCounts(
      () => this.#working(),
      (id) => this.#stateOf(id),
    );

    async put({ id, contextId, state, time, body }: IndexRow): Promise<void> {
      // A task that is being deleted may go on for a while.
      if (this.#isDoomed(id)) return;
      this.#counts.tell(id, state);
      this.#create();
      this.#sql.exec(
        `INSERT INTO task (id, contextId, state, time, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
          contextId = excluded.contextId, state = excluded.state, time = excluded.time, body = excluded.body`,
        id,
        contextId,
        state,
        time,
        body,
      );
    }

    async list({ contextId, state, since, behind, limit }: IndexQuery): Promise<IndexPage> {
      if (!this.#exists) return { rows: [], more: false, total: 0 };
      const conditions: [string, ...(string | number)[]][] = [];
      if (contextId !== undefined) conditions.push(["contextId = ?", contextId]);
      if (state !== undefined) conditions.push(["state = ?", state]);
      if (since !== undefined) conditions.push(["time >= ?", since]);
      const matching = where(conditions);
      const { total } = this.#sql
        .exec<{ total: number }>(
          `SELECT count(*) AS total FROM task ${matching.sql}`,
          ...matching.values,
        )
        .one();
      if (behind) conditions.push(["(time, id) < (?, ?)", behind.time, behind.id]);
      const page = where(conditions);
      const rows = this.#sql
        .exec<Stored>(
          `SELECT id, contextId, state, time, body FROM task ${page.sql} ORDER BY time DESC, id DESC LIMIT ?`,
          ...page.values,
          limit + 1,
        )
        .toArray();
      return { rows: rows.slice(0, limit), more: rows.length > limit, total };
    }

    async admit(request: AdmitRequest): Promise<Result<undefined>> {
      return this.#counts.admit(request);
    }

    async hold(stream: string): Promise<void> {
      this.#counts.hold(stream);
    }

    async release(ids: string[]): Promise<void> {
      this.#counts.release(ids);
    }

    *#working(): Iterable<string> {
      if (!this.#exists) return;
      const query = `SELECT id FROM task WHERE state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING')`;
      for (const { id } of this.#sql.exec<{ id: string }>(query)) yield id;
    }

    #stateOf(id: string): TaskState | undefined {
      if (!this.#exists) return undefined;
      const query = "SELECT state FROM task WHERE id = ?";
      return this.#sql.exec<{ state: TaskState }>(query, id).toArray()[0]?.state;
    }

    async remove(id: string): Promise<void> {
      this.#counts.forget(id);
      if (this.#exists) this.#sql.exec("DELETE FROM task WHERE id = ?", id);
    }

    async deleteAll(): Promise<number> {
      if (!this.#exists) return 0;
      const { storage } = this.ctx;
      const count = storage.transactionSync(() => {
        this.#sql.exec("CREATE TABLE IF NOT EXISTS doomed (id TEXT PRIMARY KEY) WITHOUT ROWID");
        this.#sql.exec("INSERT OR IGNORE INTO doomed SELECT id FROM task");
        return this.#sql.exec("DELETE FROM task RETURNING id").toArray().length;
      });
      this.#deleting = true;
      this.#tried = "";
      this.#counts.forgetAll();
      await storage.setAlarm(Date.now());
      return count;
    }

    /** Deletes the tasks that are doomed, some at a time, until none is left. */
    override async alarm(): Promise<void> {
      const { storage } = this.ctx;
      const doomed = this.#doomed(this.#tried, DELETED_AT_ONCE);
      await Promise.all(doomed.map((id) => this.#delete(id)));
      this.#tried = doomed.at(-1) ?? "";
      if (doomed.length > 0) {
        await storage.setAlarm(Date.now());
      } else if (this.#doomed("", 1).length > 0) {
        await storage.setAlarm(Date.now() + RETRY_MS);
      } else {
        this.#sql.exec("DROP TABLE IF EXISTS doomed");
        this.#deleting = false;
      }
    }

    async #delete(id: string): Promise<void> {
      try {
        await taskDirectory(this.env).find(id)?.erase();
        this.#sql.exec("DELETE FROM doomed WHERE id = ?", id);
      } catch (error) {
        console.error(`task ${id}: it could not be deleted yet`, error);
      }
    }

    /** The doomed behind this id. */
    #doomed(behind: string, limit: number): string[] {
      if (!this.#deleting) return [];
      const rows = this.#sql.exec<{ id: string }>(
        "SELECT id FROM doomed WHERE id > ? ORDER BY id LIMIT ?",
        behind,
        limit,
      );
      return [...rows].map(({ id }) => id);
    }

    #isDoomed(id: string): boolean {
      if (!this.#deleting) return false;
      return this.#sql.exec("SELECT id FROM doomed WHERE id = ?", id).toArray().length > 0;
    }

    #has(table: string): boolean {
      return (
        this.#sql.exec("SELECT name FROM sqlite_master WHERE name = ?", table).toArray().length > 0
      );
    }

    #create(): void {
      if (this.#exists) return;
      this.#sql.exec(
        `CREATE TABLE task (id TEXT PRIMARY KEY, contextId TEXT NOT NULL, state TEXT NOT NULL, time INTEGER NOT NULL,
          body TEXT NOT NULL) WITHOUT ROWID`,
      );
      this.#sql.exec("CREATE INDEX task_by_time ON task (time, id)");
      this.#exists = true;
    }
  };
}

function where(conditions: readonly [string, ...(string | number)[]][]): {
  sql: string;
  values: (string | number)[];
} {
  if (conditions.length === 0) return { sql: "", values: [] };
  return {
    sql: `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`,
    values: conditions.flatMap(([, ...values]) => values),
  };
}
