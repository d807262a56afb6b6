/** Streams: how they begin, go on and end (CASES.md, group 2). */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { Step } from "../lab/script.ts";
import {
  BINDINGS,
  exchange,
  expectRefused,
  getTask,
  operate,
  pause,
  reached,
  send,
  start,
} from "./bindings.ts";
import { message, script } from "./client.ts";
import { open, statesOf, textsOf } from "./event-stream.ts";

const PLAIN = { agent: "plain" };

function part(text: string): Step {
  return { do: "artifact", artifactId: text, parts: [{ text }] };
}

describe.each(BINDINGS)("over %s", (binding) => {
  const sending = (...steps: Step[]) =>
    open(binding, "SendStreamingMessage", { message: message(script(...steps)) }, PLAIN);
  const subscribing = (id: string) => open(binding, "SubscribeToTask", { id }, PLAIN);

  test("a subscription that races the end of its task is refused, or shows the end and closes (S-01)", async () => {
    const race = async (wait: number): Promise<"refused" | "closed"> => {
      const { id } = await start(binding, script({ do: "sleep", ms: 20 }), {}, PLAIN);
      await pause(wait);
      const response = await exchange(binding, "SubscribeToTask", { id }, PLAIN);
      const text = await response.text();
      if (response.headers.get("Content-Type") !== "text/event-stream") {
        expect(text).toContain("UNSUPPORTED_OPERATION");
        return "refused";
      }
      expect(text.match(/"task":/g)).toHaveLength(1);
      expect(text.match(/TASK_STATE_COMPLETED/g)).toHaveLength(1);
      return "closed";
    };
    const outcomes = new Set<string>();
    let wait = 10;
    for (let round = 0; round < 15; round++) {
      const outcome = await race(wait);
      outcomes.add(outcome);
      wait = Math.max(0, wait + (outcome === "closed" ? 2 : -2));
    }
    expect(outcomes).toEqual(new Set(["refused", "closed"]));
  });

  test("a subscription begins with the task as it stands: status, artifacts and history (S-03)", async () => {
    const stream = await sending({ do: "working", text: "half" }, part("a"), { do: "sleep", ms: 150 });
    const { id = "" } = (await stream.next())?.event.task ?? {};
    await stream.until((event) => event.artifactUpdate !== undefined);
    const subscribed = await subscribing(id);
    const first = await subscribed.next();
    expect(first?.event).toEqual({ task: await getTask(binding, id, PLAIN) });
    expect(first?.event.task).toMatchObject({
      status: { state: "TASK_STATE_WORKING", message: { parts: [{ text: "half" }] } },
      artifacts: [{ artifactId: "a" }],
      history: [{ role: "ROLE_USER" }],
    });
    expect(await subscribed.rest()).toEqual(await stream.rest());
  });

  test("a subscription at INPUT_REQUIRED stays open for what the next message brings (S-04)", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, PLAIN);
    const subscribed = await subscribing(id);
    expect((await subscribed.next())?.event.task?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await send(binding, script(part("a"), { do: "input", text: "more" }), { taskId: id }, PLAIN);
    await send(binding, script(part("b")), { taskId: id }, PLAIN);
    const events = await subscribed.rest();
    expect(statesOf(events)).toEqual([
      "TASK_STATE_WORKING",
      "TASK_STATE_INPUT_REQUIRED",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
    ]);
    expect(textsOf(events)).toEqual(["a", "b"]);
  });

  test("a stream of a message closes at INPUT_REQUIRED, and one of the next message goes on (S-04)", async () => {
    const first = await (await sending(part("a"), { do: "input" })).rest();
    expect(statesOf(first)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"]);
    const taskId = first[0]?.event.task?.id ?? "";
    const more = { message: message(script(part("b")), { taskId }) };
    const second = await (await open(binding, "SendStreamingMessage", more, PLAIN)).rest();
    expect(second[0]?.event.task).toMatchObject({
      id: taskId,
      status: { state: "TASK_STATE_WORKING" },
      artifacts: [{ artifactId: "a" }],
    });
    expect(second[0]?.event.task?.history?.at(-1)?.messageId).toBe(more.message.messageId);
    expect(statesOf(second.slice(1))).toEqual(["TASK_STATE_COMPLETED"]);
    expect(textsOf(second)).toEqual(["b"]);
  });

  test("a subscription at INPUT_REQUIRED gives the task, and not an error (S-05)", async () => {
    const task = await send(binding, script(part("a"), { do: "input", text: "well?" }), {}, PLAIN);
    const subscribed = await subscribing(task.id);
    expect((await subscribed.next())?.event).toEqual({ task });
    await subscribed.close();
  });

  test("a subscription to a task whose object left memory begins with the task and goes on (S-06)", async () => {
    const task = await send(binding, script(part("a"), { do: "input" }), {}, PLAIN);
    await evictDurableObject(env.TASK_OBJECT.get(env.TASK_OBJECT.idFromString(task.id)));
    const subscribed = await subscribing(task.id);
    expect((await subscribed.next())?.event).toEqual({ task });
    await send(binding, script(part("b")), { taskId: task.id }, PLAIN);
    const events = await subscribed.rest();
    expect(textsOf(events)).toEqual(["b"]);
    expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
  });

  test.each(["complete", "fail", "reject"] as const)(
    "a subscription to a task that ended by %s is refused (S-07)",
    async (ending) => {
      const { id } = await send(binding, script({ do: ending }), {}, PLAIN);
      expectRefused(await operate(binding, "SubscribeToTask", { id }, PLAIN), "UNSUPPORTED_OPERATION");
    },
  );

  test("a subscription to a canceled task is refused (S-07)", async () => {
    const { id } = await send(binding, script({ do: "input" }), {}, PLAIN);
    await operate(binding, "CancelTask", { id }, PLAIN);
    expectRefused(await operate(binding, "SubscribeToTask", { id }, PLAIN), "UNSUPPORTED_OPERATION");
  });

  test("a client that goes away ends nothing: the task completes, and is stored (S-08)", async () => {
    const stream = await sending(part("a"), { do: "sleep", ms: 100 }, part("b"), part("c"));
    const { id = "" } = (await stream.next())?.event.task ?? {};
    const subscribed = await subscribing(id);
    await subscribed.next();
    await stream.close();
    await subscribed.close();
    const task = await reached(binding, id, "TASK_STATE_COMPLETED", PLAIN);
    expect(task.artifacts?.map(({ artifactId }) => artifactId)).toEqual(["a", "b", "c"]);
  });

  test("a client that comes back finds in the task what happened while it was away (S-10)", async () => {
    const stream = await sending(part("a"), { do: "sleep", ms: 80 }, part("b"), part("c"), {
      do: "sleep",
      ms: 250,
    });
    const { id = "" } = (await stream.next())?.event.task ?? {};
    await stream.next();
    await stream.close();
    await pause(200);
    const again = await subscribing(id);
    const task = (await again.next())?.event.task;
    expect(task?.artifacts?.map(({ artifactId }) => artifactId)).toEqual(["a", "b", "c"]);
    expect(statesOf(await again.rest())).toEqual(["TASK_STATE_COMPLETED"]);
  });

  test("what is wrong before a stream starts is a plain error without the headers of a stream (S-11)", async () => {
    const foreign = { message: message("hi", { taskId: "nope" }) };
    const bad = { message: { ...message("hi"), parts: [] } };
    for (const [operation, params] of [
      ["SendStreamingMessage", foreign],
      ["SendStreamingMessage", bad],
      ["SendStreamingMessage", {}],
      ["SubscribeToTask", { id: "nope" }],
    ] as const) {
      const response = await exchange(binding, operation, params, PLAIN);
      expect(response.headers.get("Content-Type")).toMatch(/^application\/json/);
      expect(response.headers.has("X-Accel-Buffering")).toBe(false);
      expect(await response.json()).toHaveProperty("error");
    }
  });

  test.each(["plain", undefined])(
    "a stream of an agent (%s) that throws at once shows the task, then FAILED under the same id (S-13)",
    async (agent) => {
      const as = agent === undefined ? {} : { agent };
      const thrown = { message: message(script({ do: "throw" })) };
      const events = await (await open(binding, "SendStreamingMessage", thrown, as)).rest();
      const { id = "" } = events[0]?.event.task ?? {};
      expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_FAILED"]);
      expect(events[1]?.event.statusUpdate?.taskId).toBe(id);
      expect((await getTask(binding, id, as)).status).toEqual(events[1]?.event.statusUpdate?.status);
    },
  );

  test("a message after a task is not shown: the task fails (S-14)", async () => {
    const events = await (
      await sending(
        { do: "publish", event: { task: { status: { state: "TASK_STATE_WORKING" } } } },
        {
          do: "publish",
          event: { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "?" }] } },
        },
      )
    ).rest();
    expect(statesOf(events)).toEqual(["TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_FAILED"]);
    expect(events.filter(({ event }) => event.message)).toEqual([]);
  });

  test.each([
    [
      "a status",
      { do: "publish", event: { statusUpdate: { status: { state: "TASK_STATE_WORKING" } } } },
    ],
    ["an artifact", part("a")],
    ["an end", { do: "complete" }],
  ] as [string, Step][])(
    "a stream begins with the task though the agent publishes %s first (S-15)",
    async (_, step) => {
      for (const as of [PLAIN, {}]) {
        const sent = { message: message(script(step, { do: "complete" })) };
        const events = await (await open(binding, "SendStreamingMessage", sent, as)).rest();
        expect(events.map(({ event }) => event.task !== undefined)).toEqual([
          true,
          ...events.slice(1).map(() => false),
        ]);
        expect(events[0]?.event.task?.history?.[0]?.messageId).toBe(sent.message.messageId);
        expect(statesOf(events).at(-1)).toBe("TASK_STATE_COMPLETED");
      }
    },
  );
});
