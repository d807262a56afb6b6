/**
 * The webhooks of one task, each with its cursor over the log.
 *
 * Layout: table `push`, made at first use; `seq` is the last event the webhook has had. Lifetime: until deleted,
 * or with the task. Bound: the definition's `push.maxConfigs` for each task.
 */

import type { ConfigPage } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { TaskPushNotificationConfig } from "../src/protocol/requests.ts";

type Row = { id: string; body: string };

export class PushCursors {
  readonly #sql: SqlStorage;
  #exists: boolean;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#exists = sql.exec("SELECT name FROM sqlite_master WHERE name = 'push'").toArray().length > 0;
  }

  /** Stores a config, new or in place of the one with its id. A new one begins behind `seq`. */
  put(
    config: TaskPushNotificationConfig & { id: string },
    seq: number,
    max: number,
  ): Result<TaskPushNotificationConfig> {
    if (!this.find(config.id).ok && this.#count() >= max) {
      const description = `a task has at most ${max} push notification configs`;
      return refuse("INVALID_PARAMS", {
        message: `Invalid parameters: ${description}`,
        fields: [{ field: "taskPushNotificationConfig", description }],
      });
    }
    if (!this.#exists) {
      this.#sql.exec(
        "CREATE TABLE push (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID",
      );
      this.#exists = true;
    }
    this.#sql.exec(
      "INSERT INTO push VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
      config.id,
      seq,
      JSON.stringify(config),
    );
    return { ok: true, value: config };
  }

  /** An id that is not there is TASK_NOT_FOUND, as §3.1.8 has it. */
  find(id: string): Result<TaskPushNotificationConfig> {
    const [config] = this.#select("WHERE id = ?", id);
    return config ? { ok: true, value: config } : refuse("TASK_NOT_FOUND");
  }

  /** A page of configs in the order of their ids, behind `after`. */
  page(limit: number, after: string): ConfigPage {
    const configs = this.#select("WHERE id > ? ORDER BY id LIMIT ?", after, limit + 1);
    const last = configs[limit - 1]?.id;
    if (configs.length <= limit || last === undefined) return { configs };
    return { configs: configs.slice(0, limit), last };
  }

  /** Deleting what is not there is a success (§3.1.10). */
  delete(id: string): Result<undefined> {
    if (this.#exists) this.#sql.exec("DELETE FROM push WHERE id = ?", id);
    return { ok: true, value: undefined };
  }

  /** Forgets that there were any; their table is gone. */
  clear(): void {
    this.#exists = false;
  }

  #count(): number {
    if (!this.#exists) return 0;
    return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM push").one().count;
  }

  #select(where: string, ...bindings: (string | number)[]): TaskPushNotificationConfig[] {
    if (!this.#exists) return [];
    const rows = this.#sql.exec<Row>(`SELECT id, body FROM push ${where}`, ...bindings);
    return [...rows].map(({ body }) => JSON.parse(body) as TaskPushNotificationConfig);
  }
}
