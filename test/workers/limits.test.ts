import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { defineAgent } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { EventLog } from "../../durable-objects/event-log.ts";
import { Subscribers } from "../../durable-objects/subscribers.ts";
import { toMs } from "../../src/agent/duration.ts";
import type { TaskEvent } from "../../src/task/event.ts";
import { birth } from "../births.ts";
import type { Step } from "../lab/script.ts";
import { narrow, plain } from "./agents.ts";
import {
  BINDINGS,
  exchange,
  expectRefused,
  getTask,
  operate,
  reached,
  send,
  start,
} from "./bindings.ts";
import { message, script } from "./client.ts";
import { open } from "./event-stream.ts";
import { meter } from "./meter.ts";

const NARROW = { agent: "narrow" };

/** An object whose JSON has so many characters. */
function sized(characters: number): object {
  return { a: "x".repeat(characters - 8) };
}

describe.each(BINDINGS)("what a message may carry (%s)", (binding) => {
  const texts = (count: number) => Array.from({ length: count }, () => ({ text: "x" }));
  const uris = (count: number) => Array.from({ length: count }, (_, i) => `https://e.com/${i}`);
  const cases: [
    title: string,
    field: string,
    make: (over: 0 | 1) => { params: object; headers?: object },
  ][] = [
    ["100 parts", "message.parts", (over) => ({ params: { message: message(texts(100 + over)) } })],
    [
      "metadata of 64 KiB on the request",
      "metadata",
      (over) => ({ params: { message: message("hi"), metadata: sized(65_536 + over) } }),
    ],
    [
      "metadata of 64 KiB on the message",
      "message.metadata",
      (over) => ({ params: { message: message("hi", { metadata: { ...sized(65_536 + over) } }) } }),
    ],
    [
      "metadata of 64 KiB on a part",
      "message.parts[1].metadata",
      (over) => ({
        params: {
          message: message([{ text: "hi" }, { text: "hi", metadata: { ...sized(65_536 + over) } }]),
        },
      }),
    ],
    [
      "32 extensions",
      "message.extensions",
      (over) => ({ params: { message: message("hi", { extensions: uris(32 + over) }) } }),
    ],
    [
      "32 extensions in the header",
      "A2A-Extensions",
      (over) => ({
        params: { message: message("hi") },
        headers: { "A2A-Extensions": uris(32 + over).join(", ") },
      }),
    ],
    [
      "an id of 256 characters",
      "message.messageId",
      (over) => ({ params: { message: message("hi", { messageId: "x".repeat(256 + over) }) } }),
    ],
  ];

  test.each(cases)(
    "%s are taken, and one more is refused with the field",
    async (_title, field, make) => {
      const call = async (over: 0 | 1) => {
        const { params, headers } = make(over);
        return operate(binding, "SendMessage", params, { agent: "plain", headers: { ...headers } });
      };
      expect((await call(0)).value).toHaveProperty("task");
      expectRefused(await call(1), "INVALID_PARAMS", field);
    },
  );
});

describe("what an agent may publish", () => {
  const artifacts = (count: number): Step[] =>
    Array.from({ length: count }, (_, i) => ({
      do: "artifact",
      artifactId: `a${i}`,
      parts: [{ text: "x" }],
    }));
  const texts = (count: number, length: number): Step[] =>
    Array.from({ length: count }, () => ({
      do: "artifact",
      artifactId: "same",
      parts: [{ text: "x".repeat(length) }],
    }));
  // The script is in the message, so its texts count twice in the task.
  const cases: [title: string, limit: string, under: Step[], over: Step[]][] = [
    ["3 artifacts", "artifacts", artifacts(3), artifacts(4)],
    ["an event of 2,000 characters", "event", texts(1, 1_900), texts(1, 2_000)],
    ["20,000 characters in all", "task", texts(4, 1_900), texts(6, 1_900)],
  ];

  test.each(cases)(
    "%s: fewer are stored; more fail the task, which stays readable",
    async (_title, limit, under, over) => {
      const done = await send("rest", script(...under), {}, NARROW);
      expect(done.status.state).toBe("TASK_STATE_COMPLETED");
      const refused = await operate(
        "rest",
        "SendMessage",
        { message: message(script(...over)) },
        NARROW,
      );
      expectRefused(refused, "INVALID_AGENT_RESPONSE", `limits.${limit}`);
      const [info] = refused.error?.details ?? [];
      const { taskId } = (info?.metadata ?? {}) as { taskId?: string };
      const task = await getTask("rest", taskId ?? "", NARROW);
      expect(task.status.state).toBe("TASK_STATE_FAILED");
      expect(task.status.message?.parts[0]?.text).toContain("at most");
      expect(task.artifacts?.length).toBeGreaterThanOrEqual(limit === "event" ? 0 : 1);
    },
  );

  test("a stream that grows past the limit keeps what was published before", async () => {
    const steps: Step[] = [
      { do: "chunks", artifactId: "grows", count: 40, everyMs: 1, text: "x".repeat(1_000) },
    ];
    const { id } = await start("rest", script(...steps), {}, NARROW);
    const task = await reached("rest", id, "TASK_STATE_FAILED", NARROW);
    const length = task.artifacts?.[0]?.parts[0]?.text?.length ?? 0;
    expect(length).toBeGreaterThan(10_000);
    expect(length).toBeLessThan(20_000);
  });

  test("a message that does not fit a full task is refused, and the task goes on", async () => {
    const full: Step[] = [...texts(4, 1_900), { do: "input", text: "more?" }];
    const { id } = await send("rest", script(...full), {}, NARROW);
    const tooMuch = await operate(
      "rest",
      "SendMessage",
      { message: message("x".repeat(5_000), { taskId: id }) },
      NARROW,
    );
    expectRefused(tooMuch, "INVALID_PARAMS", "message");
    expect((await getTask("rest", id, NARROW)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const done = await send("rest", script({ do: "complete" }), { taskId: id }, NARROW);
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
  });
});

describe("the limit of an event and of a task", () => {
  /** Whether a log with this limit takes an artifact whose event has so many bytes more than the limit leaves. */
  function takes(limit: "event" | "task", over: 0 | 1, letter = "x"): Promise<boolean> {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    return runInDurableObject(stub, (_, { storage }) => {
      const agent = { ...narrow, limits: { ...narrow.limits, event: 5_000, task: 5_000 } };
      if (limit === "event") agent.limits.task = 50_000;
      const log = new EventLog(storage, new Map([["script", agent]]), () => {});
      log.append(birth("t"));
      const [stored] = storage.sql.exec<{ length: number }>(
        "SELECT sum(octet_length(body)) AS length FROM event",
      );
      const room = 5_000 - (limit === "task" ? (stored?.length ?? 0) : 0);
      const empty = JSON.stringify(artifact("a", "")).length;
      const bytes = new TextEncoder().encode(letter).byteLength;
      const count = Math.floor((room - empty) / bytes);
      const rest = "x".repeat(room - empty - count * bytes + over);
      return log.append([artifact("a", letter.repeat(count) + rest)]).ok;
    });
  }

  test.each(["event", "task"] as const)(
    "is exact, in bytes: %s at the limit is taken, one byte more is not",
    async (limit) => {
      for (const letter of ["x", "é", "€", "😀"]) {
        expect(await takes(limit, 0, letter)).toBe(true);
        expect(await takes(limit, 1, letter)).toBe(false);
      }
    },
  );
});

describe("the defaults", () => {
  const agents = new Map([[plain.id, plain]]);

  function filled(work: (log: EventLog) => boolean[]): Promise<boolean[]> {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    return runInDurableObject(stub, (_, { storage }) => {
      const log = new EventLog(storage, agents, () => {});
      const [created, ...rest] = birth("t");
      log.append([{ ...created, agentId: plain.id } as TaskEvent, ...rest]);
      return work(log);
    });
  }

  test("let an event of 1 MiB in, and none of a byte more", async () => {
    const room = 1024 * 1024 - JSON.stringify(artifact("a", "")).length;
    const taken = await filled((log) =>
      [room, room + 1].map((length) => log.append([artifact("a", "x".repeat(length))]).ok),
    );
    expect(taken).toEqual([true, false]);
  });

  test("let 1,000 artifacts in, and none more", async () => {
    const all = Array.from({ length: 1_000 }, (_, i) => artifact(`a${i}`, "x"));
    const taken = await filled((log) => [log.append(all).ok, log.append([artifact("b", "x")]).ok]);
    expect(taken).toEqual([true, false]);
  });

  test("let 64 MiB of a task in, and not more", async () => {
    const taken = await filled((log) => {
      const event = artifact("a", "x".repeat(1024 * 1024 - 1_000));
      const all = Array.from({ length: 64 }, () => log.append([event]).ok);
      return [all.every(Boolean), log.append([event]).ok, log.append([artifact("b", "x")]).ok];
    });
    // Sixty-four of a little less than 1 MiB; the next does not fit, a small one does.
    expect(taken).toEqual([true, false, true]);
  });
});

describe("the streams of a task", () => {
  test.each(BINDINGS)(
    "are as many as the limit; one more is refused with 429 (%s)",
    async (binding) => {
      const { id } = await send(binding, script({ do: "input" }), {}, NARROW);
      const streams = [
        await open(binding, "SubscribeToTask", { id }, NARROW),
        await open(binding, "SubscribeToTask", { id }, NARROW),
      ];
      const refused = await operate(binding, "SubscribeToTask", { id }, NARROW);
      expect(refused.status).toBe(429);
      expect(refused.error?.details).toMatchObject([{ reason: "RESOURCE_EXHAUSTED" }]);
      await Promise.all(streams.map((stream) => stream.close()));
    },
  );

  test("get a comment as often as the agent says while they are idle (S-18, S-19)", async () => {
    const { id } = await send("rest", script({ do: "input" }), {}, NARROW);
    const response = await exchange("rest", "SubscribeToTask", { id }, NARROW);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes(": keepalive\n\n")) text += (await reader?.read())?.value ?? "";
    expect(text).toMatch(/^id: \d+\ndata: .*\n\n: keepalive\n\n$/);
    await reader?.cancel();
  });

  test.each([999, 300_001])("have no keepalive of %j", (keepalive) => {
    const define = () =>
      defineAgent({ ...plain.definition, limits: { keepalive: keepalive as number } });
    expect(define).toThrow("limits.keepalive: must be 1 second to 5 minutes");
  });

  test.each([1_000, "5 minutes"] as const)("have a keepalive of %j", (keepalive) => {
    const { limits } = defineAgent({ ...plain.definition, limits: { keepalive } });
    expect(limits.keepalive).toBe(toMs(keepalive));
  });

  test("a reader that is too slow is closed at its bound and delays no other", async () => {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    const result = await runInDurableObject(stub, async (_, { storage }) => {
      const subscribers = new Subscribers();
      const log = new EventLog(storage, new Map(), (entries) => subscribers.send(entries));
      log.append(birth("t"));
      const slow = subscribers.open([], "terminal").getReader();
      const quick = subscribers.open([], "terminal");
      const drained = new Response(quick).text();
      for (let i = 0; i < 300; i++) {
        log.append([artifact(`a${i}`, "x".repeat(10_000))]);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      const left = subscribers.count;
      log.append([status("TASK_STATE_COMPLETED")]);
      const lines = (await drained).split("\n").filter(Boolean);
      let broken: unknown;
      try {
        while (!(await slow.read()).done);
      } catch (error) {
        broken = error;
      }
      return { left, lines: lines.length, broken: broken !== undefined };
    });
    expect(result).toEqual({ left: 1, lines: 301, broken: true });
  });

  test("a hundred readers see the same events in the same order", async () => {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    const bodies = await runInDurableObject(stub, async (_, { storage }) => {
      const subscribers = new Subscribers();
      const log = new EventLog(storage, new Map(), (entries) => subscribers.send(entries));
      log.append(birth("t"));
      const readers = Array.from({ length: 100 }, () =>
        new Response(subscribers.open([], "terminal")).text(),
      );
      for (let i = 0; i < 50; i++) log.append([artifact("same", `${i}`)]);
      log.append([status("TASK_STATE_COMPLETED")]);
      return { texts: await Promise.all(readers), left: subscribers.count };
    });
    expect(new Set(bodies.texts).size).toBe(1);
    expect(bodies.texts[0]?.split("\n").filter(Boolean)).toHaveLength(51);
    expect(bodies.left).toBe(0);
  });

  test("a thousand streams that were opened and dropped leave no listener behind (D-09)", async () => {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    const counts = await runInDurableObject(stub, async (_, { storage }) => {
      const subscribers = new Subscribers();
      const log = new EventLog(storage, new Map(), (entries) => subscribers.send(entries));
      log.append(birth("t"));
      const opened = Array.from({ length: 1_000 }, () => subscribers.open([], "terminal"));
      const before = subscribers.count;
      await Promise.all(opened.map((stream) => stream.cancel()));
      // The next write finds out.
      log.append([artifact("a", "1")]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { before, after: subscribers.count };
    });
    expect(counts).toEqual({ before: 1_000, after: 0 });
  });
});

describe("a log of ten thousand events", () => {
  test("wakes in bounded reads, and any event can still be resumed from", async () => {
    const stub = env.TASK_OBJECT.get(env.TASK_OBJECT.newUniqueId());
    const woken = await runInDurableObject(stub, (_, { storage }) => {
      const log = new EventLog(storage, new Map(), () => {});
      log.append(birth("t"));
      for (let i = 0; i < 10_000; i++) log.append([artifact(`a${i % 10}`, `${i}`)]);
      meter.reset();
      const again = new EventLog(storage, new Map(), () => {});
      const rowsRead = meter.rowsRead;
      return {
        rowsRead,
        same: JSON.stringify(again.record) === JSON.stringify(log.record),
        seq: again.seq === log.seq,
        events: [...again.stored()].length,
      };
    });
    expect(woken).toMatchObject({ same: true, seq: true, events: 10_002 });
    expect(woken.rowsRead).toBeLessThanOrEqual(260);
    expect(woken.rowsRead).toBeGreaterThan(0);
  });
});

function artifact(artifactId: string, text: string): TaskEvent {
  return { kind: "artifact", artifact: { artifactId, parts: [{ text }] } };
}

function status(state: "TASK_STATE_COMPLETED"): TaskEvent {
  return { kind: "status", status: { state, timestamp: "2026-01-01T00:00:02.000Z" } };
}
