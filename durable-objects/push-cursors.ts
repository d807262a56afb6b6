/**
 * The webhooks of one task, each with its cursor over the log.
 *
 * Layout: table `push`, made at first use: `config` as the client gave it, `cursor` says how far it has come
 * (`src/push/cursor.ts`), both in JSON. Lifetime: until deleted, or with the task. Bound: the definition's
 * `push.maxConfigs` for each task.
 */

import type { ConfigPage } from "../src/operations/ports.ts";
import { type Result, refuse } from "../src/protocol/errors.ts";
import type { TaskPushNotificationConfig } from "../src/protocol/requests.ts";
import type { PushCursor } from "../src/push/cursor.ts";

export type NamedConfig = TaskPushNotificationConfig & { id: string };

interface Webhook {
  config: NamedConfig;
  cursor: PushCursor;
}

type Row = { config: string; cursor: string };

export class PushCursors {
  readonly #sql: SqlStorage;
  #exists: boolean;
  readonly #webhooks: Map<string, Webhook>;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#exists = sql.exec("SELECT name FROM sqlite_master WHERE name = 'push'").toArray().length > 0;
    const rows = this.#exists ? sql.exec<Row>("SELECT config, cursor FROM push") : [];
    this.#webhooks = new Map(
      [...rows].map((row) => {
        const config = JSON.parse(row.config) as NamedConfig;
        return [config.id, { config, cursor: JSON.parse(row.cursor) as PushCursor }];
      }),
    );
  }

  get all(): Iterable<Webhook> {
    return this.#webhooks.values();
  }

  get count(): number {
    return this.#webhooks.size;
  }

  get(id: string): Webhook | undefined {
    return this.#webhooks.get(id);
  }

  /** Stores a config with its cursor, new or in place of the one with its id. */
  put(config: NamedConfig, cursor: PushCursor, max: number): Result<TaskPushNotificationConfig> {
    if (!this.#webhooks.has(config.id) && this.count >= max) {
      const description = `a task has at most ${max} push notification configs`;
      return refuse("INVALID_PARAMS", {
        message: `Invalid parameters: ${description}`,
        fields: [{ field: "taskPushNotificationConfig", description }],
      });
    }
    if (!this.#exists) {
      this.#sql.exec(
        "CREATE TABLE push (id TEXT PRIMARY KEY, config TEXT NOT NULL, cursor TEXT NOT NULL) WITHOUT ROWID",
      );
      this.#exists = true;
    }
    this.#sql.exec(
      "INSERT OR REPLACE INTO push VALUES (?, ?, ?)",
      config.id,
      JSON.stringify(config),
      JSON.stringify(cursor),
    );
    this.#webhooks.set(config.id, { config, cursor });
    return { ok: true, value: config };
  }

  /** Moves the cursor. */
  move(id: string, cursor: PushCursor): void {
    const webhook = this.#webhooks.get(id);
    if (!webhook) return;
    webhook.cursor = cursor;
    this.#sql.exec("UPDATE push SET cursor = ? WHERE id = ?", JSON.stringify(cursor), id);
  }

  /** An id that is not there is TASK_NOT_FOUND, as §3.1.8 has it. */
  find(id: string): Result<TaskPushNotificationConfig> {
    const webhook = this.#webhooks.get(id);
    return webhook ? { ok: true, value: webhook.config } : refuse("TASK_NOT_FOUND");
  }

  /** A page of configs in the order of their ids, behind `after`. */
  page(limit: number, after: string): ConfigPage {
    const configs = [...this.#webhooks.values()]
      .map(({ config }) => config)
      .filter(({ id }) => id > after)
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const last = configs[limit - 1]?.id;
    if (configs.length <= limit || last === undefined) return { configs };
    return { configs: configs.slice(0, limit), last };
  }

  /** Deleting what is not there is a success (§3.1.10). */
  delete(id: string): Result<undefined> {
    if (this.#webhooks.delete(id)) this.#sql.exec("DELETE FROM push WHERE id = ?", id);
    return { ok: true, value: undefined };
  }

  /** Forgets that there were any; their table is gone. */
  clear(): void {
    this.#exists = false;
    this.#webhooks.clear();
  }
}
