/** Webhooks of the lab agent, over a real queue: what a receiver gets, however it answers. */
import { setTimeout as pause } from "node:timers/promises";
import type { Task } from "durable-a2a";
import { verifyNotification } from "durable-a2a/push";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { content } from "../assembly.ts";
import type { Step } from "../lab/script.ts";
import { randomOf } from "./chaos.ts";
import {
  type Answer,
  type Behaviour,
  type Delivery,
  endReceivers,
  type Receiver,
  startReceiver,
} from "./receiver.ts";
import { endServers, type RunningServer, startServer, until } from "./server.ts";
import { eventsIn, expectWhole, type Hook, isOver, register, send, unregister } from "./webhooks.ts";
import { answerOf, BINDINGS, begin, call, getTask, message } from "./wire.ts";

const SEED = Date.now() % 1_000_000;
/** What must never be in a log. */
const SECRET = "swordfish";

let lab: RunningServer;
/** Another server, with a queue of its own, for webhooks that hang. */
let other: RunningServer;
let receiver: Receiver;
/** Where redirects would lead. */
let inside: Receiver;

beforeAll(async () => {
  [lab, other, receiver, inside] = await Promise.all([
    startServer("lab"),
    startServer("lab"),
    startReceiver(),
    startReceiver(),
  ]);
});
afterAll(async () => {
  await endServers();
  await endReceivers();
});

/** A path of the receiver that no other test has, and what it answers. */
function somewhere(behaviour: Behaviour = 200): string {
  const path = `/${crypto.randomUUID()}`;
  receiver.answer(path, behaviour);
  return path;
}

/** Sends the script with a webhook in it, and waits until the end of the task was taken. */
async function deliver(script: Step[], behaviour?: Behaviour, hook: Omit<Hook, "url"> = {}) {
  const path = somewhere(behaviour);
  const { task } = await send(lab.url, script, { ...hook, url: receiver.url(path) });
  await receiver.receives(path, isOver);
  return { task, received: receiver.received(path) };
}

/** Steps that say so many things, one after the other. */
function said(count: number): Step[] {
  return Array.from({ length: count }, (_, i): Step => ({ do: "working", text: `word ${i}` }));
}

/** Gives these answers in turn to whatever comes, and 200 to the rest. */
function inTurn(...answers: (number | Answer)[]): Behaviour {
  let nth = 0;
  return () => answers[nth++] ?? 200;
}

/** Gives these answers to the first attempts of the events in turn, and 200 to the rest. */
function atFirst(...answers: (number | Answer)[]): Behaviour {
  let nth = 0;
  return ({ attempt }) => (attempt === 1 ? answers[nth++] : undefined) ?? 200;
}

/** ms from the answer to one attempt to the next attempt. */
function pausesOf(deliveries: readonly Delivery[]): number[] {
  return deliveries.slice(1).map(({ at }, i) => at - (deliveries[i]?.answered?.at ?? Number.NaN));
}

function statusesOf(deliveries: readonly Delivery[]): (number | undefined)[] {
  return deliveries.map(({ answered }) => answered?.status);
}

/** What kind of events these are, in order; a status by its state. */
function kindsOf(deliveries: readonly Delivery[]): (string | undefined)[] {
  return deliveries.map(({ body }) => body.statusUpdate?.status.state ?? Object.keys(body)[0]);
}

async function ended(server: RunningServer, id: string): Promise<void> {
  await until(
    async () => (await getTask(server.url, id)).status.state === "TASK_STATE_COMPLETED",
    "the task to complete",
  );
}

describe.concurrent("a webhook", () => {
  test(`gets 200 events whole and in order, though it answers 500 to nine of them at random (seed ${SEED}) [W-10]`, async () => {
    const random = randomOf(SEED);
    /** The events that fail, by their number, and how often. */
    const failing = new Map([[Math.floor(random() * 200), 2]]);
    while (failing.size < 8) failing.set(Math.floor(random() * 200), 1);
    const numbers = new Map<string, number>();
    const script = Array.from({ length: 100 }, (_, i): Step[] => [
      { do: "working", text: `step ${i}` },
      { do: "artifact", artifactId: `result-${i % 7}`, parts: [{ data: { i } }] },
    ]).flat();
    const { task, received } = await deliver(script, ({ id, attempt }) => {
      if (!numbers.has(id)) numbers.set(id, numbers.size);
      return attempt <= (failing.get(numbers.get(id) ?? 0) ?? 0) ? 500 : 200;
    });
    expect(statusesOf(received).filter((status) => status === 500)).toHaveLength(9);
    expect(numbers.size).toBeGreaterThanOrEqual(201);
    await expectWhole(received, lab.url, task.id);
  });

  test("is tried again after whatever may pass, and its redirects lead nowhere [W-02, W-09]", async () => {
    const headers = { Location: inside.url("/inside") };
    const redirects = [301, 302, 303, 307, 308].map((status) => ({ status, headers }));
    const others = [408, 425, 502, 504];
    const { task, received } = await deliver(said(9), atFirst(...redirects, ...others));
    expect(statusesOf(received).filter((status) => status !== 200)).toEqual([
      ...redirects.map(({ status }) => status),
      ...others,
    ]);
    await expectWhole(received, lab.url, task.id);
    expect(inside.received()).toEqual([]);
  });

  test("that comes back after three tries was tried ever later, and misses nothing [W-09]", async () => {
    const { task, received } = await deliver(said(3), inTurn(500, 503, 429));
    await expectWhole(received, lab.url, task.id);
    const tries = received.slice(0, 4);
    expect(statusesOf(tries)).toEqual([500, 503, 429, 200]);
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1);
    // A second, doubling, and up to a quarter more; the rest is what a busy machine takes.
    for (const [n, ms] of pausesOf(tries).entries()) {
      expect(ms, `pause ${n + 1}`).toBeGreaterThan(950 * 2 ** n);
      expect(ms, `pause ${n + 1}`).toBeLessThan(1_250 * 2 ** n + 3_000);
    }
    // With success the count begins anew: no pause before what had waited meanwhile.
    for (const ms of pausesOf(received.slice(3))) expect(ms).toBeLessThan(900);
  });

  test("says by Retry-After when it wants to be tried again [W-09]", async () => {
    const busy = { status: 503, headers: { "Retry-After": "3" } };
    const { task, received } = await deliver(said(1), inTurn(busy));
    expect(statusesOf(received).slice(0, 2)).toEqual([503, 200]);
    const [ms = 0] = pausesOf(received);
    expect(ms).toBeGreaterThan(2_950);
    expect(ms).toBeLessThan(6_500);
    await expectWhole(received, lab.url, task.id);
  });

  test("that breaks off in the middle, and is away for a while, gets the same again [W-09]", async () => {
    const away = await startReceiver();
    away.answer("/hook", { status: 200, hang: true });
    const { task } = await send(lab.url, said(3), { url: away.url("/hook") });
    await away.receives("/hook", ({ length }) => length > 0);
    await away.refuse();
    await ended(lab, task.id);
    // At least one more try is refused.
    await pause(1_800);
    away.answer("/hook", 200);
    await away.listen();
    await away.receives("/hook", isOver);
    const [first, again] = away.received("/hook");
    expect([first?.answered, first?.cut]).toEqual([undefined, expect.any(Number)]);
    expect(again?.id).toBe(first?.id);
    expect((again?.at ?? 0) - (first?.cut ?? 0)).toBeGreaterThan(2_900);
    await expectWhole(away.received("/hook"), lab.url, task.id);
  });

  test("that is slow at first gets what is made meanwhile after that, and holds up no other task [W-10]", async () => {
    const path = somewhere(inTurn({ status: 200, delayMs: 4_000 }));
    const script: Step[] = [{ do: "working" }, { do: "sleep", ms: 300 }, ...said(3)];
    const { task } = await send(lab.url, script, { url: receiver.url(path) });
    await receiver.receives(path, ({ length }) => length > 0);
    const fast = await deliver(said(3));
    expect(receiver.received(path).map(({ answered }) => answered)).toEqual([undefined]);
    await expectWhole(fast.received, lab.url, fast.task.id);
    await receiver.receives(path, isOver);
    await expectWhole(receiver.received(path), lab.url, task.id);
  });

  test("gets 200 chunks of an artifact in a few notifications that add up to it [W-22]", async () => {
    const chunks = {
      do: "chunks",
      artifactId: "essay",
      count: 200,
      everyMs: 8,
      text: "word ",
    } as const;
    const { task, received } = await deliver([chunks, { do: "complete", text: "done" }]);
    await expectWhole(received, lab.url, task.id);
    const updates = received.filter(({ body }) => body.artifactUpdate);
    expect(updates.length).toBeGreaterThan(0);
    expect(updates.length).toBeLessThan(40);
  });

  test("that refuses for good is sent no more, and stays; with 410 it goes", async () => {
    const [refusing, gone] = [somewhere(inTurn(404)), somewhere(inTurn(410))];
    const script: Step[] = [...said(2), { do: "sleep", ms: 800 }, ...said(4).slice(2)];
    const { task } = await send(lab.url, script, { id: "refusing", url: receiver.url(refusing) });
    await register(lab.url, task.id, { id: "gone", url: receiver.url(gone) });
    await ended(lab, task.id);
    await receiver.receives(refusing, ({ length }) => length > 0);
    await receiver.receives(gone, ({ length }) => length > 0);
    await pause(3_000);
    expect(statusesOf(receiver.received(refusing))).toEqual([404]);
    expect(statusesOf(receiver.received(gone))).toEqual([410]);
    const read = (id: string) =>
      call(lab.url, "rest", "GetTaskPushNotificationConfig", { taskId: task.id, id });
    expect((await read("refusing")).status).toBe(200);
    await expect(answerOf(await read("gone"))).rejects.toThrow("TASK_NOT_FOUND");
  });
});

describe.concurrent.each(BINDINGS)("over %s", (binding) => {
  test("a task that finishes at once tells its webhook of its end, whoever waits for it [W-07]", async () => {
    for (const returnImmediately of [true, false]) {
      const path = somewhere();
      const script: Step[] = [{ do: "complete", text: "done" }];
      const { task } = await send(
        lab.url,
        script,
        { url: receiver.url(path) },
        { binding, returnImmediately },
      );
      await receiver.receives(path, isOver);
      expect(receiver.received(path).at(-1)?.body.statusUpdate).toMatchObject({
        taskId: task.id,
        contextId: task.contextId,
        status: { state: "TASK_STATE_COMPLETED", message: { parts: [{ text: "done" }] } },
      });
      await expectWhole(receiver.received(path), lab.url, task.id);
    }
  });

  test("a webhook that comes after the end gets the task as it ended, once [W-07]", async () => {
    const { id } = await begin(lab.url, [{ do: "artifact", name: "made", parts: [{ text: "it" }] }]);
    await ended(lab, id);
    const path = somewhere();
    await register(lab.url, id, { url: receiver.url(path) }, binding);
    await receiver.receives(path, isOver);
    await pause(1_500);
    expect(kindsOf(receiver.received(path))).toEqual(["task"]);
    const task = receiver.received(path)[0]?.body.task as Task;
    expect([task.id, content(task)]).toEqual([id, content(await getTask(lab.url, id))]);
  });

  test("a webhook under the name it had in v0.3 is none [W-15]", async () => {
    const path = somewhere();
    const configuration = { pushNotificationConfig: { url: receiver.url(path) } };
    const params = { message: message([{ do: "complete" }]), configuration };
    const { task } = await answerOf(await call(lab.url, binding, "SendMessage", params));
    const taskId = (task as Task).id;
    const list = await call(lab.url, binding, "ListTaskPushNotificationConfigs", { taskId });
    expect((await answerOf(list)).configs).toEqual([]);
    await pause(1_500);
    expect(receiver.received(path)).toEqual([]);
  });

  test("an answer with no task is delivered once, as the message [W-07]", async () => {
    const path = somewhere();
    const script: Step[] = [{ do: "reply", parts: [{ text: "just this" }] }];
    const hook = { url: receiver.url(path), token: "t0ken" };
    const answer = await send(lab.url, script, hook, { binding, returnImmediately: false });
    expect(answer.message?.parts).toEqual([{ text: "just this" }]);
    await receiver.receives(path, ({ length }) => length > 0);
    await pause(1_500);
    expect(receiver.received(path).map(({ body }) => body)).toEqual([{ message: answer.message }]);
    expect(receiver.received(path)[0]?.headers["x-a2a-notification-token"]).toBe("t0ken");
  });

  test("a webhook of a task that waits gets the task, then what the answer leads to [W-07]", async () => {
    const { id } = await begin(lab.url, [{ do: "input", text: "which city?" }]);
    await until(
      async () => (await getTask(lab.url, id)).status.state === "TASK_STATE_INPUT_REQUIRED",
      "the question",
    );
    const path = somewhere();
    await register(lab.url, id, { url: receiver.url(path) }, binding);
    await receiver.receives(path, ({ length }) => length > 0);
    expect(receiver.received(path)[0]?.body.task?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    await answerOf(
      await call(lab.url, binding, "SendMessage", { message: message("Rome", { taskId: id }) }),
    );
    await receiver.receives(path, isOver);
    const received = receiver.received(path);
    expect(kindsOf(received)).toEqual([
      "task",
      "TASK_STATE_WORKING",
      "artifactUpdate",
      "TASK_STATE_COMPLETED",
    ]);
    await expectWhole(received, lab.url, id, received[0]?.seq);
  });

  test("a webhook of a task at work gets what comes from then on, and no task [W-06]", async () => {
    const { id } = await begin(lab.url, [...said(1), { do: "sleep", ms: 600 }, ...said(4).slice(1)]);
    const path = somewhere();
    await register(lab.url, id, { url: receiver.url(path) }, binding);
    await receiver.receives(path, isOver);
    const received = receiver.received(path);
    expect(kindsOf(received).filter((kind) => kind === "task")).toEqual([]);
    await expectWhole(received, lab.url, id, (received[0]?.seq ?? 0) - 1);
    expect(received.map(({ body }) => body.statusUpdate?.status.message?.parts[0]?.text)).toEqual(
      expect.arrayContaining(["word 1", "word 2", "word 3"]),
    );
  });

  test("a webhook that is deleted while it waits for its next try is sent nothing more; others are", async () => {
    const [failing, working] = [somewhere(500), somewhere()];
    const { task } = await send(lab.url, said(3), { id: "working", url: receiver.url(working) });
    await register(lab.url, task.id, { id: "failing", url: receiver.url(failing) }, binding);
    await receiver.receives(failing, (deliveries) => deliveries.some(({ answered }) => answered));
    await unregister(lab.url, task.id, "failing", binding);
    const sent = receiver.received(failing).length;
    await receiver.receives(working, isOver);
    await pause(4_000);
    expect(receiver.received(failing)).toHaveLength(sent);
    expect(statusesOf(receiver.received(failing))).toEqual(Array.from({ length: sent }, () => 500));
    await expectWhole(receiver.received(working), lab.url, task.id);
  });

  test("a webhook that is deleted while it is sent to is sent nothing after that", async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const path = somewhere(async () => {
      await answered;
      return 200;
    });
    const { task } = await send(lab.url, said(6), { id: "hook", url: receiver.url(path) }, { binding });
    await receiver.receives(path, ({ length }) => length > 0);
    await ended(lab, task.id);
    await unregister(lab.url, task.id, "hook", binding);
    answer();
    await pause(2_500);
    expect(statusesOf(receiver.received(path))).toEqual([200]);
  });

  test("webhooks have ids of their own, are read back as they were made, and are not without number [W-11, W-12, W-13, W-17]", async () => {
    const { id: taskId } = await begin(lab.url, [{ do: "input" }]);
    const url = receiver.url(somewhere());
    const made = [await register(lab.url, taskId, { url }, binding)];
    made.push(await register(lab.url, taskId, { url }, binding));
    expect(new Set([taskId, ...made.map(({ id }) => id)]).size).toBe(3);
    const moved = await register(lab.url, taskId, { id: "named", url }, binding);
    const again = await register(lab.url, taskId, { ...moved, url: `${url}/moved` }, binding);
    made.push(again);
    const list = await answerOf(
      await call(lab.url, binding, "ListTaskPushNotificationConfigs", { taskId }),
    );
    const inOrder = made.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(list).toEqual({ configs: inOrder, nextPageToken: "" });
    for (const config of made) {
      const { id } = config;
      const params = { taskId, id };
      const read = await answerOf(
        await call(lab.url, binding, "GetTaskPushNotificationConfig", params),
      );
      expect(read).toEqual(config);
    }
    for (let n = made.length; n < 10; n++) await register(lab.url, taskId, { url }, binding);
    await expect(register(lab.url, taskId, { url }, binding)).rejects.toThrow(/at most 10/);
    expect(await register(lab.url, taskId, { id: "named", url }, binding)).toMatchObject({ url });
  });
});

describe.concurrent("a notification", () => {
  const { scheme, credentials } = { scheme: "Bearer", credentials: `${SECRET}-credentials` };
  test.each([
    { scheme, credentials, header: `Bearer ${credentials}` },
    { scheme: "bearer", credentials, header: `bearer ${credentials}` },
    { scheme: "Basic", credentials: "YWxpY2U6c3dvcmQ=", header: "Basic YWxpY2U6c3dvcmQ=" },
    { scheme: "Custom-1", credentials: `a="${SECRET}"`, header: `Custom-1 a="${SECRET}"` },
  ])(
    "carries $scheme credentials as they are, on every attempt, and the token beside them [W-03, W-05]",
    async ({ header, ...authentication }) => {
      const hook = { token: `${SECRET}-token`, authentication };
      const { received } = await deliver(said(1), inTurn(500), hook);
      expect(statusesOf(received)).toContain(500);
      for (const { headers } of received) {
        expect(headers.authorization).toBe(header);
        expect(headers["x-a2a-notification-token"]).toBe(`${SECRET}-token`);
      }
    },
  );

  test("is one POST of one StreamResponse, with its id and its place in the log [W-06]", async () => {
    const artifact: Step = { do: "artifact", name: "made", parts: [{ text: "it" }] };
    const { task, received } = await deliver([...said(1), artifact]);
    for (const { method, headers, body, id, seq, attempt } of received) {
      expect([method, headers["content-type"]]).toEqual(["POST", "application/a2a+json"]);
      expect(Object.keys(body)).toHaveLength(1);
      const update = body.statusUpdate ?? body.artifactUpdate;
      expect([update?.taskId, update?.contextId]).toEqual([task.id, task.contextId]);
      expect(id).toMatch(/^[\x21-\x7e]{8,}$/);
      expect(Number.isInteger(seq)).toBe(true);
      expect(attempt).toBe(1);
      // Nothing was asked for.
      expect(headers["x-a2a-notification-token"]).toBeUndefined();
      expect(headers.traceparent).toBeUndefined();
    }
    expect(kindsOf(received).slice(-2)).toEqual(["artifactUpdate", "TASK_STATE_COMPLETED"]);
    expect(eventsIn(received)).toHaveLength(received.length);
  });

  test("is signed by the agent, whose keys anybody can fetch", async () => {
    const { task, received } = await deliver(said(2));
    for (const { method, headers, raw, path } of received) {
      const url = receiver.url(path);
      const { origin } = new URL(url);
      const request = new Request(url, {
        method,
        body: raw,
        headers: headers as Record<string, string>,
      });
      const options = { issuer: lab.url, audience: origin, tasks: [task.id] };
      expect((await verifyNotification(request, options)).taskId).toBe(task.id);
    }
    expect(received.length).toBeGreaterThan(0);
  });

  test("belongs to the trace of the request that made its webhook", async () => {
    const trace = crypto.randomUUID().replaceAll("-", "");
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    const path = somewhere();
    await send(lab.url, said(1), { url: receiver.url(path) }, { headers });
    await receiver.receives(path, isOver);
    for (const each of receiver.received(path)) {
      expect(each.headers.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-0[01]$`));
    }
  });
});

test.concurrent("of twenty webhooks three hang, and the other seventeen have everything within 15 s [W-09, W-10]", async () => {
  const hung = (n: number) => [0, 7, 10].includes(n);
  const paths = Array.from({ length: 20 }, (_, n) =>
    somewhere(hung(n) ? { status: 200, hang: true } : 200),
  );
  const hooks = paths.map((path, n) => ({ id: `${n}`.padStart(2, "0"), url: receiver.url(path) }));
  const start = performance.now();
  // Ten webhooks are what a task may have.
  const script: Step[] = [
    ...said(2),
    { do: "sleep", ms: 4_000 },
    { do: "working", text: "all are there" },
    { do: "chunks", artifactId: "essay", count: 50, everyMs: 10, text: "word " },
    ...said(12).slice(2),
  ];
  const ids = await Promise.all(
    [0, 10].map(async (first) => {
      const { task } = await send(other.url, script, hooks[first] as Hook);
      const later = hooks.slice(first + 1, first + 10);
      await Promise.all(later.map((hook) => register(other.url, task.id, hook)));
      return task.id;
    }),
  );
  // They were there before there was most of it to tell.
  expect(performance.now() - start).toBeLessThan(4_000);
  const healthy = [...paths.entries()].filter(([n]) => !hung(n));
  const done = () => healthy.every(([, path]) => isOver(receiver.received(path)));
  await until(done, "seventeen webhooks to be told of the end");
  expect(performance.now() - start).toBeLessThan(15_000);
  for (const [n, path] of healthy) {
    const received = receiver.received(path);
    expect(received.map(({ attempt }) => attempt)).toEqual(received.map(() => 1));
    await expectWhole(received, other.url, ids[n < 10 ? 0 : 1] ?? "", (received[0]?.seq ?? 0) - 1);
    const told = received.map(({ body }) => body.statusUpdate?.status.message?.parts[0]?.text);
    expect(told).toContain("all are there");
  }
  // The three were given up after ten seconds, and are tried again.
  for (const path of paths.filter((_, n) => hung(n))) {
    await receiver.receives(path, ({ length }) => length > 1, 45);
    const [first, second] = receiver.received(path);
    expect(first?.answered).toBeUndefined();
    const hangMs = (first?.cut ?? 0) - (first?.at ?? 0);
    expect(hangMs).toBeGreaterThan(9_500);
    expect(hangMs).toBeLessThan(13_000);
    expect([second?.id, second?.raw]).toEqual([first?.id, first?.raw]);
    expect((second?.at ?? 0) - (first?.cut ?? 0)).toBeGreaterThan(950);
  }
});

test("secrets of webhooks and failures to reach them are nothing for the log to break down over", () => {
  expect(lab.log()).not.toMatch(/swordfish|t0ken|YWxpY2U6c3dvcmQ=|word \d/);
  for (const { log } of [lab, other]) expect(log()).not.toMatch(/uncaught|unhandled/i);
});
