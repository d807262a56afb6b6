import { DurableObject } from "cloudflare:workers";
import type { Counter } from "./script.ts";

/** Counts the executions of a task's steps; an object of its own, so that what a crash undoes is not uncounted. */
export class ExecutionCounter extends DurableObject implements Counter {
  async count(name: string): Promise<number> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS execution (name TEXT NOT NULL)");
    sql.exec("INSERT INTO execution VALUES (?)", name);
    return (await this.executions())[name] ?? 0;
  }

  async executions(): Promise<Record<string, number>> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS execution (name TEXT NOT NULL)");
    const rows = sql.exec<{ name: string; count: number }>(
      "SELECT name, count(*) AS count FROM execution GROUP BY name ORDER BY name",
    );
    return Object.fromEntries([...rows].map(({ name, count }) => [name, count]));
  }
}
