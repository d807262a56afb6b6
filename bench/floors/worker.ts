/**
 * The floors: what the platform itself costs, with nothing of ours. Every path is the least code that does what its
 * counterpart in the framework cannot do without.
 */
import { DurableObject } from "cloudflare:workers";
import { pause } from "../words.ts";

interface Env {
  FLOOR: DurableObjectNamespace<Floor>;
  INDEX: DurableObjectNamespace<Index>;
}

/** As long as what GetTask answers for the same task. */
const BODY: string = "x".repeat(560);
const encoder = new TextEncoder();

export class Floor extends DurableObject<Env> {
  readonly #writers = new Set<WritableStreamDefaultWriter<Uint8Array>>();

  async insert(): Promise<string> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE event (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    sql.exec("INSERT INTO event VALUES (1, ?)", BODY);
    return this.ctx.id.toString();
  }

  async insertAndIndex(): Promise<string> {
    const id = await this.insert();
    // Not awaited: the answer waits for it at the output gate, as for the insert.
    void this.ctx.storage.setAlarm(Date.now() + 30_000);
    await this.env.INDEX.getByName("all").put(id);
    return id;
  }

  async read(): Promise<string> {
    return this.ctx.storage.sql.exec<{ body: string }>("SELECT body FROM event").one().body;
  }

  async subscribe(): Promise<ReadableStream<Uint8Array>> {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    this.#writers.add(writer);
    void writer.write(encoder.encode("data: {}\n\n"));
    return readable;
  }

  /**
   * Sends as many events to everyone, `burst` in each turn of the event loop, and ends the streams. The events of a burst
   * leave in one write: a write for each is many times slower, and no floor.
   */
  async broadcast(count: number, burst: number, head: string): Promise<void> {
    for (let sent = 0; sent < count; sent += burst) {
      let text = "";
      for (let index = sent + 1; index <= Math.min(sent + burst, count); index++) {
        text += `data: ${head}${JSON.stringify({ text: `word${index} ` })}}\n\n`;
      }
      const bytes = encoder.encode(text);
      for (const writer of this.#writers) void writer.write(bytes);
      await pause();
    }
    await Promise.all([...this.#writers].map((writer) => writer.close()));
    this.#writers.clear();
  }

  override async alarm(): Promise<void> {}
}

export class Index extends DurableObject<Env> {
  #exists = false;

  async put(id: string): Promise<void> {
    const { sql } = this.ctx.storage;
    if (!this.#exists)
      sql.exec("CREATE TABLE IF NOT EXISTS task (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    this.#exists = true;
    sql.exec("INSERT INTO task (body) VALUES (?)", id);
  }
}

export default {
  async fetch(request, { FLOOR }) {
    const { pathname, searchParams } = new URL(request.url);
    const id = searchParams.get("id");
    if (pathname === "/ok") return new Response("ok");
    if (pathname === "/insert") return new Response(await FLOOR.get(FLOOR.newUniqueId()).insert());
    if (pathname === "/index")
      return new Response(await FLOOR.get(FLOOR.newUniqueId()).insertAndIndex());
    const floor = id === null ? FLOOR.getByName("broadcast") : FLOOR.get(FLOOR.idFromString(id));
    if (pathname === "/read") return new Response(await floor.read());
    if (pathname === "/subscribe") {
      return new Response(await floor.subscribe(), {
        headers: { "Content-Type": "text/event-stream" },
      });
    }
    const [count, burst] = [Number(searchParams.get("count")), Number(searchParams.get("burst"))];
    await floor.broadcast(count, burst, await request.text());
    return new Response("done");
  },
} satisfies ExportedHandler<Env>;
