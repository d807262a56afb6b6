/** `durable-a2a/testing`, as a user's own tests use it. */
import { A2AError, type StreamResponse } from "durable-a2a";
import { testAgent } from "durable-a2a/testing";
import { afterEach, describe, expect, test } from "vitest";
import { busy, keyed, plain, script as replying, shared, skilled } from "./agents.ts";
import { script } from "./client.ts";

const alice = testAgent(keyed, { caller: "alice" });
const bob = testAgent(keyed, { caller: "bob" });

afterEach(() => alice.resetClock());

const thrown = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("calls", () => {
  test("send gives the task as it is answered", async () => {
    const task = await alice.send("Ada");
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts?.[0]?.parts).toEqual([{ text: "You said: Ada" }]);
    expect(await alice.get(task.id)).toEqual(task);
  });

  test("a follow-up goes on with its task", async () => {
    const asked = await alice.send(script({ do: "input", text: "which?" }));
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const done = await alice.send("Rome", { taskId: asked.id, metadata: { from: "test" } });
    expect(done.id).toBe(asked.id);
    expect(done.history?.at(-1)).toMatchObject({ metadata: { from: "test" } });
    expect(done.status.state).toBe("TASK_STATE_COMPLETED");
  });

  test("stream and subscribe give events as they come, and can be resumed", async () => {
    const events: (StreamResponse & { id?: string })[] = [];
    const steps = script({ do: "working", text: "a" }, { do: "working", text: "b" }, { do: "input" });
    for await (const event of alice.stream(steps)) events.push(event);
    expect(events[0]?.task?.id).toMatch(/^[0-9a-f]{64}$/);
    expect(events.at(-1)?.statusUpdate?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const id = events[0]?.task?.id ?? "";
    const rest: StreamResponse[] = [];
    const middle = events.find(
      ({ statusUpdate }) => statusUpdate?.status.message?.parts[0]?.text === "a",
    );
    const { id: lastEventId = "" } = middle ?? {};
    for await (const event of alice.subscribe(id, { lastEventId })) {
      rest.push(event);
      if (event.statusUpdate?.status.state === "TASK_STATE_INPUT_REQUIRED") break;
    }
    const texts = rest.map(({ statusUpdate }) => statusUpdate?.status.message?.parts[0]?.text);
    expect(texts).toContain("b");
    expect(texts).not.toContain("a");
  });

  test("list and cancel are the caller's own", async () => {
    const { id } = await alice.send(script({ do: "input" }));
    expect((await alice.list()).map((task) => task.id)).toContain(id);
    expect(await bob.list()).toEqual([]);
    expect((await alice.cancel(id)).status.state).toBe("TASK_STATE_CANCELED");
  });

  test("refusals are errors with a reason", async () => {
    const { id } = await alice.send("hi");
    for (const work of [bob.get(id), bob.cancel(id), bob.send("hi", { taskId: id })]) {
      expect(await thrown(work)).toMatchObject({ name: "A2AError", reason: "TASK_NOT_FOUND" });
    }
    expect(await thrown(alice.cancel(id))).toMatchObject({ reason: "TASK_NOT_CANCELABLE" });
    const refused = await thrown(alice.send([]));
    expect(refused).toBeInstanceOf(A2AError);
    expect(refused).toMatchObject({ reason: "INVALID_PARAMS", fields: [{ field: "message.parts" }] });
    const stream = thrown(bob.subscribe(id).next());
    expect(await stream).toMatchObject({ reason: "TASK_NOT_FOUND" });
  });

  test("a Message in place of a task has a call of its own", async () => {
    const tester = testAgent(replying);
    const reply = await tester.reply(script({ do: "reply", parts: [{ text: "hello" }] }));
    expect(reply.parts).toEqual([{ text: "hello" }]);
    const said = await thrown(tester.send(script({ do: "reply", parts: [{ text: "hello" }] })));
    expect(String(said)).toContain("use reply()");
    expect(String(await thrown(tester.reply(script({ do: "input" }))))).toContain("use send()");
  });

  test("a repeated key gives the same task", async () => {
    const options = { idempotencyKey: crypto.randomUUID() };
    const first = await alice.send("once", options);
    // Another message id is another request.
    expect(await thrown(alice.send("twice", options))).toMatchObject({ reason: "INVALID_PARAMS" });
    expect((await alice.get(first.id)).status.state).toBe("TASK_STATE_COMPLETED");
  });

  test("callers of an open agent have no names, as ever", async () => {
    const { id } = await testAgent(plain).send("hi");
    expect((await testAgent(plain).get(id)).id).toBe(id);
    expect(await thrown(testAgent(plain).list())).toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
  });

  test("tenants and scopes are the test's to choose", async () => {
    const tester = testAgent(shared, { tenant: "alpha" });
    const { id } = await tester.send("hi");
    const elsewhere = testAgent(shared, { tenant: "beta" });
    expect(await thrown(elsewhere.get(id))).toMatchObject({ reason: "TASK_NOT_FOUND" });
    const [scoped] = skilled.definition.skills.filter(({ scopes = [] }) => scopes.length > 0);
    const skill = scoped?.id ?? "";
    const sent = await testAgent(skilled).send("hi", { skill });
    expect(sent.status.state).toBe("TASK_STATE_COMPLETED");
    const refused = thrown(testAgent(skilled, { scopes: [] }).send("hi", { skill }));
    expect(await refused).toMatchObject({ reason: "PERMISSION_DENIED" });
  });

  test("limits of a caller hold", async () => {
    const tester = testAgent(busy);
    const work = () => tester.send(script({ do: "sleep", ms: 60_000 }), { returnImmediately: true });
    const tasks = [await work(), await work()];
    expect(await thrown(work())).toMatchObject({ reason: "RESOURCE_EXHAUSTED" });
    for (const { id } of tasks) await tester.cancel(id);
  });

  test("the card is that of the agent's own schemes", async () => {
    expect((await alice.card()).securitySchemes).toHaveProperty("apiKey");
  });
});

describe("until", () => {
  test("waits for a state", async () => {
    const { id } = await alice.send(script({ do: "sleep", ms: 100 }), { returnImmediately: true });
    expect((await alice.until(id)).status.state).toBe("TASK_STATE_COMPLETED");
    const asked = await alice.send(script({ do: "sleep", ms: 50 }, { do: "input" }), {
      returnImmediately: true,
    });
    await alice.until(asked.id, "TASK_STATE_INPUT_REQUIRED");
  });

  test("says what the task is when that does not come", async () => {
    const { id } = await alice.send(script({ do: "input" }));
    const late = thrown(alice.until(id, "TASK_STATE_COMPLETED", 0.05));
    expect(String(await late)).toContain("the task is TASK_STATE_INPUT_REQUIRED after 0.05 s");
    await alice.cancel(id);
    const over = thrown(alice.until(id, "TASK_STATE_COMPLETED"));
    expect(String(await over)).toContain("the task is TASK_STATE_CANCELED for ever");
  });
});

describe("what befalls a Worker", () => {
  test("cut: a turn runs again, and repeats no step that was done", async () => {
    const steps = script(
      { do: "step", name: "first", result: 1 },
      { do: "ask", name: "which", text: "which?" },
      { do: "step", name: "second", result: 2 },
      { do: "report" },
    );
    const { id } = await alice.send(steps);
    await alice.cut();
    await alice.send("Rome", { taskId: id });
    const task = await alice.until(id);
    const report = task.artifacts?.find(({ artifactId }) => artifactId === "report");
    expect(report?.parts[0]?.data).toMatchObject({ attempt: 2, executions: { first: 1, second: 1 } });
  });

  test("advance: a sleep of days is over, with what comes after it", async () => {
    const steps = script(
      { do: "durableSleep", name: "week", ms: 7 * 86_400_000 - 3_600_000 },
      { do: "working", text: "awake" },
      { do: "complete" },
    );
    const { id } = await alice.send(steps, { returnImmediately: true });
    await alice.until(id, "TASK_STATE_WORKING");
    await alice.advance("6 days");
    expect((await alice.get(id)).status.state).toBe("TASK_STATE_WORKING");
    const before = Date.now();
    await alice.advance("23 hours");
    expect(Date.now() - before).toBeGreaterThanOrEqual(23 * 3_600_000);
    const task = await alice.until(id);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const days = (Date.parse(task.status.timestamp ?? "") - before) / 86_400_000;
    expect(days).toBeLessThan(1.01);
  });

  test("advance: several sleeps, each at its time; and after retention the task is gone", async () => {
    const day = 86_400_000;
    const steps = script(
      ...[1, 2, 3].map((n) => ({ do: "durableSleep", name: `nap ${n}`, ms: day }) as const),
    );
    const { id } = await alice.send(steps, { returnImmediately: true });
    const start = Date.now();
    for (let count = 0; count < 3; count++) {
      await alice.until(id, "TASK_STATE_WORKING");
      await alice.advance("25 hours");
    }
    const task = await alice.until(id);
    expect(Date.parse(task.status.timestamp ?? "") - start).toBeGreaterThan(3 * day - 5_000);
    await alice.advance("31 days");
    expect(await thrown(alice.get(id))).toMatchObject({ reason: "TASK_NOT_FOUND" });
  });

  test("advance: what is no duration is an error", async () => {
    expect(String(await thrown(alice.advance("soon" as "1 day")))).toContain("not a duration: soon");
  });

  test("resetClock: the time is right again", async () => {
    const before = Date.now();
    await alice.advance("1 hour");
    expect(Date.now() - before).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.parse(new Date().toISOString()) - before).toBeGreaterThanOrEqual(3_600_000);
    expect(new Date(0).getTime()).toBe(0);
    alice.resetClock();
    expect(Date.now() - before).toBeLessThan(60_000);
  });

  test("rowsWritten: what a task costs, its list and its alarm included", async () => {
    await alice.send("the list is there now");
    const rows = await alice.rowsWritten(() => alice.send("Ada"));
    expect(rows).toBeGreaterThanOrEqual(6);
    expect(rows).toBeLessThanOrEqual(9);
    expect(await alice.rowsWritten(() => alice.list())).toBe(0);
  });
});
