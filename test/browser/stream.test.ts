/** The agent as a page of another origin in Chromium reaches it: preflights, streams read in the page, EventSource. */
import { createServer, type Server } from "node:http";
import {
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from "node:net";
import type { StreamResponse } from "durable-a2a";
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { assemble, content } from "../assembly.ts";
import { endServers, freePort, type RunningServer, startServer, until } from "../journeys/server.ts";
import { begin, getTask, message } from "../journeys/wire.ts";
import type { Step } from "../lab/script.ts";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let lab: RunningServer;
let pages: Server;
let line: CuttableLine;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  lab = await startServer("lab", ["--auth", "open"]);
  line = await cuttableLine(Number(new URL(lab.url).port));
  pages = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html").end("<!doctype html><title>A page</title>");
  });
  const port = await freePort();
  await new Promise<void>((resolve) => pages.listen(port, "127.0.0.1", resolve));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
  });
});

beforeEach(async () => {
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(pages.address() as { port: number }).port}/`);
  return () => page.close();
});

afterAll(async () => {
  await browser?.close();
  pages?.close();
  line?.close();
  await endServers();
});

test("a page of another origin reads a stream event by event, after a preflight [S-25]", async () => {
  const preflights = await watchPreflights(page);
  const script: Step[] = [
    { do: "working" },
    { do: "chunks", artifactId: "c", count: 6, everyMs: 250, text: "chunk " },
    { do: "complete", text: "done" },
  ];
  const params = { message: message(script) };
  const { status, version, hidden, reads } = await page.evaluate(
    async ({ url, body }) => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
        body,
      });
      const reads: { at: number; text: string }[] = [];
      const decoder = new TextDecoder();
      const reader = response.body?.getReader();
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
        reads.push({ at: performance.now(), text: decoder.decode(read.value as Uint8Array) });
      }
      return {
        status: response.status,
        version: response.headers.get("A2A-Version"),
        hidden: response.headers.get("X-Content-Type-Options"),
        reads,
      };
    },
    {
      url: `${lab.url}/`,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params }),
    },
  );
  expect(status).toBe(200);
  // Only what the agent exposes is there for the page: a preflight and CORS were at work.
  expect({ version, hidden }).toEqual({ version: "1.0", hidden: null });
  expect(preflights).toEqual([204]);
  const chunks = reads.filter(({ text }) => text.includes("chunk "));
  expect(chunks.length).toBeGreaterThanOrEqual(5);
  expect((chunks.at(-1)?.at ?? 0) - (chunks[0]?.at ?? 0)).toBeGreaterThan(1_000);
  const whole = reads.map(({ text }) => text).join("");
  const events = Array.from(whole.matchAll(/^data: (.*)$/gm), ([, data = ""]) => JSON.parse(data));
  expect(events[0].result.task.status.state).toBe("TASK_STATE_WORKING");
  expect(events.at(-1).result.statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
});

test("a page may send every header that clients of the protocol send", async () => {
  const preflights = await watchPreflights(page);
  const { id } = await begin(lab.url, [{ do: "complete" }]);
  const statuses = await page.evaluate(
    async ({ url, task }) => {
      const headers = {
        "A2A-Version": "1.0",
        "A2A-Extensions": "https://ext.example/v1",
        Authorization: "Bearer nothing",
        "Content-Type": "application/a2a+json",
        "Idempotency-Key": crypto.randomUUID(),
        "Last-Event-ID": "1",
      };
      const hook = `${url}/tasks/${task}/pushNotificationConfigs/none`;
      const responses = [
        await fetch(`${url}/tasks/${task}`, { headers }),
        await fetch(hook, { method: "DELETE", headers }),
      ];
      return responses.map((response) => response.status);
    },
    { url: lab.url, task: id },
  );
  expect(statuses).toEqual([200, 204]);
  expect(preflights).toEqual([204, 204]);
});

test("the tag of the card and errors are there for a page of another origin", async () => {
  const { etag, status, reason } = await page.evaluate(async (url) => {
    const card = await fetch(`${url}/.well-known/agent-card.json`);
    const refused = await fetch(`${url}/tasks/nope`, { headers: { "A2A-Version": "1.0" } });
    const { error } = (await refused.json()) as { error: { details: { reason: string }[] } };
    return {
      etag: card.headers.get("ETag"),
      status: refused.status,
      reason: error.details[0]?.reason,
    };
  }, lab.url);
  expect(etag).toMatch(/^"[0-9a-f]+"$/);
  expect({ status, reason }).toEqual({ status: 404, reason: "TASK_NOT_FOUND" });
});

test("EventSource goes on after a cut where it was: nothing is lost and nothing comes twice [S-10]", async () => {
  const steps = Array.from({ length: 12 }, (_, i): Step[] => [
    { do: "artifact", artifactId: `a${i}`, parts: [{ text: `a${i} ` }] },
    { do: "sleep", ms: 150 },
  ]);
  const { id } = await begin(lab.url, [
    { do: "sleep", ms: 1_000 },
    ...steps.slice(0, 6).flat(),
    { do: "chunks", artifactId: "c", count: 20, everyMs: 200, text: "c" },
    ...steps.slice(6).flat(),
    { do: "complete", text: "done" },
  ]);
  const seen: { id: string; response: StreamResponse }[] = [];
  let cuts = 0;
  await page.exposeFunction("tell", (eventId: string, data: string) => {
    seen.push({ id: eventId, response: JSON.parse(data) });
  });
  await page.exposeFunction("tellCut", () => {
    cuts += 1;
  });
  await page.evaluate((url) => {
    const { tell, tellCut } = globalThis as unknown as {
      tell(id: string, data: string): void;
      tellCut(): void;
    };
    const source = new EventSource(url);
    source.onmessage = ({ lastEventId, data }: MessageEvent) => {
      tell(lastEventId, data);
      if (data.includes("TASK_STATE_COMPLETED")) source.close();
    };
    source.onerror = tellCut;
  }, `${line.url}/tasks/${id}:subscribe`);

  await until(() => seen.length >= 10, "ten events");
  line.cut();
  await until(
    () => seen.at(-1)?.response.statusUpdate?.status.state === "TASK_STATE_COMPLETED",
    "the task to complete",
  );
  expect(cuts).toBe(1);

  // After the cut the stream begins anew, with the Task as it stood at the last event that had an id.
  const restart = seen.findLastIndex(({ response }) => response.task !== undefined);
  expect(restart).toBeGreaterThanOrEqual(10);
  expect(seen[restart]?.id).toBe(seen[restart - 1]?.id);
  expect(seen[restart]?.id).toMatch(/^\d+$/);
  const ids = seen.map((event) => Number(event.id));
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  const resumed = seen.slice(restart).map(({ response }) => response);
  expect(content(assemble(resumed))).toEqual(content(await getTask(lab.url, id)));
  const published = seen.flatMap(({ response: { artifactUpdate } }) =>
    artifactUpdate?.artifact.artifactId.startsWith("a") ? artifactUpdate.artifact.artifactId : [],
  );
  expect(published).toEqual(Array.from({ length: 12 }, (_, i) => `a${i}`));
});

/** The statuses of the preflights that the page's requests bring about, as they are answered. */
async function watchPreflights(of: Page): Promise<number[]> {
  const session: CDPSession = await of.context().newCDPSession(of);
  await session.send("Network.enable");
  const statuses: number[] = [];
  session.on("Network.responseReceived", ({ type, response }) => {
    if (type === "Preflight") statuses.push(response.status);
  });
  return statuses;
}

interface CuttableLine {
  readonly url: string;
  /** Cuts every connection, in the middle of whatever it carries. */
  cut(): void;
  close(): void;
}

/** A way to a port of this machine that can be cut. */
async function cuttableLine(to: number): Promise<CuttableLine> {
  const sockets = new Set<Socket>();
  const server: TcpServer = createTcpServer((near) => {
    const far = connect(to, "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    close() {
      cut();
      server.close();
    },
  };
}
