/** What `npm run lab` promises: its keys, its webhooks, and a log that says what happened and nothing more. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endReceivers, startReceiver } from "./receiver.ts";
import { endServers, type RunningServer, startServer, until } from "./server.ts";
import { answerOf, BINDINGS, begin, call, getTask, message, type Operation, readAll } from "./wire.ts";

const ALICE = { headers: { "X-API-Key": "alice-key" } };
const BOB = { headers: { "X-API-Key": "bob-key" } };

let lab: RunningServer;
beforeAll(async () => {
  lab = await startServer("lab", [
    ...["--auth", "apikey"],
    ...["--push-allow", "hooks.example.net", "*.example.org:8443"],
  ]);
});
afterAll(async () => {
  await endServers();
  await endReceivers();
});

describe.each(BINDINGS)("with --auth apikey, over %s", (binding) => {
  test.each<[string, Record<string, string>]>([
    ["without a key", {}],
    ["with a wrong key", { "X-API-Key": "mallory-key" }],
    ["with the key in another header", { Authorization: "Bearer alice-key" }],
  ])("a call %s is refused with a challenge, streams included [C-12]", async (_, headers) => {
    for (const operation of ["SendMessage", "SendStreamingMessage", "ListTasks"] as const) {
      const params = operation === "ListTasks" ? {} : { message: message("hi") };
      const response = await call(lab.url, binding, operation, params, { headers });
      expect(response.status).toBe(401);
      expect(response.headers.get("WWW-Authenticate")).toBe('ApiKey realm="a2a", header="X-API-Key"');
      expect(response.headers.get("Content-Type")).toMatch(/^application\/json/);
      await expect(answerOf(response)).rejects.toThrow("UNAUTHENTICATED");
    }
  });

  test("another caller's task looks like one that never was [L-09]", async () => {
    const task = await begin(lab.url, [{ do: "input", text: "which city?" }], ALICE);
    const calls: [Operation, (id: string) => Record<string, unknown>][] = [
      ["GetTask", (id) => ({ id })],
      ["CancelTask", (id) => ({ id })],
      ["SubscribeToTask", (id) => ({ id })],
      ["SendMessage", (taskId) => ({ message: message("Rome", { taskId }) })],
      ["CreateTaskPushNotificationConfig", (taskId) => ({ taskId, url: "https://example.com/bob" })],
    ];
    for (const [operation, params] of calls) {
      const [hers, nobodys] = await Promise.all(
        [task.id, "f".repeat(64)].map(async (id) => {
          const response = await call(lab.url, binding, operation, params(id), BOB);
          return [response.status, (await response.text()).replace(/"timestamp":"[^"]*"/, "")];
        }),
      );
      expect(hers).toEqual(nobodys);
      expect(hers?.[1]).toContain("TASK_NOT_FOUND");
    }
    expect((await getTask(lab.url, task.id, ALICE)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  test("each caller lists only their own tasks [L-09]", async () => {
    const contextId = crypto.randomUUID();
    const params = { message: message("hi", { contextId }) };
    const sent = await answerOf(await call(lab.url, binding, "SendMessage", params, ALICE));
    const ids = async (who: typeof ALICE) => {
      const { tasks } = await answerOf(await call(lab.url, binding, "ListTasks", { contextId }, who));
      return (tasks as { id: string }[]).map(({ id }) => id);
    };
    expect(await ids(ALICE)).toEqual([(sent.task as { id: string }).id]);
    expect(await ids(BOB)).toEqual([]);
  });
});

test("with --auth apikey the card stays public and says how to call [C-11]", async () => {
  const response = await fetch(`${lab.url}/.well-known/agent-card.json`);
  expect(await response.json()).toMatchObject({
    securitySchemes: { apiKey: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } } },
    securityRequirements: [{ schemes: { apiKey: { list: [] } } }],
  });
});

// Before there are webhooks to hosts that cannot be reached: workerd has lines of its own for each.
describe("the log", () => {
  const LINE =
    /^(\w+|-) (jsonrpc|rest) task=([0-9a-f]{64}|-) state=(TASK_STATE_\w+|-) (\d{3}) (\d+)ms$/;
  const SECRET = "swordfish";

  /** What is printed while `work` is done, line by line, beside audit records. */
  async function printedBy(work: () => Promise<void>, lines: number): Promise<string[]> {
    // The lines of what came before may be late.
    for (let log = ""; log !== lab.log(); await pause(200)) log = lab.log();
    const before = lab.log().length;
    const isOfRequest = (line: string) => line !== "" && !line.startsWith('{"audit":');
    const printed = () => lab.log().slice(before).split("\n").filter(isOfRequest);
    await work();
    await until(() => printed().length >= lines, `${lines} lines of log`);
    // What should not come would come now.
    await pause(200);
    return printed();
  }

  test.each(BINDINGS)(
    "it has one line for each request over %s, with what it was about",
    async (binding) => {
      let id = "";
      const lines = await printedBy(async () => {
        const asked = { message: message([{ do: "input" }]) };
        const sent = await answerOf(await call(lab.url, binding, "SendMessage", asked, ALICE));
        id = (sent.task as { id: string }).id;
        await readAll(
          await call(
            lab.url,
            binding,
            "SendStreamingMessage",
            { message: message("Rome", { taskId: id }) },
            ALICE,
          ),
        );
        await call(lab.url, binding, "GetTask", { id }, ALICE);
        await call(lab.url, binding, "GetTask", { id }, BOB);
        await call(lab.url, binding, "ListTasks", {}, ALICE);
      }, 5);
      expect(lines.map((line) => LINE.exec(line)?.slice(1, 6))).toEqual([
        ["SendMessage", binding, id, "TASK_STATE_INPUT_REQUIRED", "200"],
        ["SendStreamingMessage", binding, id, "TASK_STATE_WORKING", "200"],
        ["GetTask", binding, id, "TASK_STATE_COMPLETED", "200"],
        ["GetTask", binding, "-", "-", binding === "rest" ? "404" : "200"],
        ["ListTasks", binding, "-", "-", "200"],
      ]);
    },
  );

  test.each(BINDINGS)(
    "it names the task of a call over %s that is about one and does not answer with it",
    async (binding) => {
      const { id } = await begin(lab.url, [{ do: "complete" }], ALICE);
      const hook = { taskId: id, url: (await startReceiver()).url("/hook") };
      const lines = await printedBy(async () => {
        await call(lab.url, binding, "CreateTaskPushNotificationConfig", hook, ALICE);
        await call(lab.url, binding, "CancelTask", { id }, ALICE);
      }, 2);
      expect(lines.map((line) => LINE.exec(line)?.slice(1, 4))).toEqual([
        ["CreateTaskPushNotificationConfig", binding, id],
        ["CancelTask", binding, id],
      ]);
    },
  );

  test("it has a record of each call that changes state, as JSON on a line of its own", async () => {
    const before = lab.log().length;
    const { id } = await begin(lab.url, [{ do: "complete" }], ALICE);
    await call(lab.url, "rest", "GetTask", { id }, ALICE);
    await call(lab.url, "rest", "CancelTask", { id }, ALICE);
    const records = () =>
      lab
        .log()
        .slice(before)
        .split("\n")
        .flatMap((line) => (line.startsWith('{"audit":') ? [JSON.parse(line)] : []));
    await until(() => records().length >= 2, "two records");
    expect(records()).toMatchObject([
      { audit: { principal: "alice", operation: "SendMessage", outcome: "OK", task: id } },
      { audit: { principal: "alice", operation: "CancelTask", outcome: "TASK_NOT_CANCELABLE" } },
    ]);
  });

  test("it never shows content or keys, whatever is sent and wherever", async () => {
    const key = { headers: { "X-API-Key": `${SECRET}-key`, Authorization: `Bearer ${SECRET}` } };
    const json = { "Content-Type": "application/json", ...ALICE.headers };
    const post = (path: string, body: string, headers: Record<string, string> = json) =>
      fetch(lab.url + path, { method: "POST", headers, body });
    const lines = await printedBy(async () => {
      for (const binding of BINDINGS) {
        const said = [{ do: "complete", text: SECRET } as const];
        await call(lab.url, binding, "SendMessage", { message: message(SECRET) }, ALICE);
        await call(lab.url, binding, "SendMessage", { message: message(said) }, ALICE);
        await readAll(
          await call(lab.url, binding, "SendStreamingMessage", { message: message(said) }, ALICE),
        );
        await call(lab.url, binding, "SendMessage", { message: message(SECRET) }, key);
        await call(lab.url, binding, "GetTask", { id: SECRET }, ALICE);
        await call(lab.url, binding, "SendMessage", { message: { [SECRET]: SECRET } }, ALICE);
      }
      await post("/", `{"${SECRET}`);
      await post("/", JSON.stringify({ jsonrpc: "2.0", id: SECRET, method: SECRET }));
      await post("/message:send", SECRET, { "Content-Type": `text/${SECRET}`, ...ALICE.headers });
      await post(`/${SECRET}`, "{}");
      await fetch(`${lab.url}/tasks/nope?key=${SECRET}`, ALICE);
      await fetch(`${lab.url}/tasks?pageToken=${SECRET}`, ALICE);
      await fetch(`${lab.url}/.well-known/agent-card.json?key=${SECRET}`);
    }, 19);
    expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
    expect(lines).toHaveLength(19);
    expect(lab.log()).not.toMatch(/swordfish|alice-key|bob-key|mallory-key/);
  });
});

describe.each(BINDINGS)("with --push-allow, over %s", (binding) => {
  async function register(url: string): Promise<Response> {
    const { id: taskId } = await begin(lab.url, [{ do: "input" }], ALICE);
    return call(lab.url, binding, "CreateTaskPushNotificationConfig", { taskId, url }, ALICE);
  }

  test.each([
    "https://hooks.example.net/a2a",
    "https://one.example.org:8443/a2a",
    "https://example.com/a2a",
    "http://127.0.0.1:9/a2a",
  ])("a webhook to %s is taken", async (url) => {
    expect(await answerOf(await register(url))).toMatchObject({ url });
  });

  test.each([
    "https://other.example.net/a2a",
    "https://one.example.org/a2a",
    "http://hooks.example.net/a2a",
    "https://169.254.169.254/latest",
  ])("a webhook to %s is refused, by its field [W-01]", async (url) => {
    const response = await register(url);
    expect(response.status).toBe(binding === "rest" ? 400 : 200);
    await expect(answerOf(response)).rejects.toThrow(/"field":"url"/);
  });
});

test("SIGTERM to npm ends all of it within seconds, in the middle of a task", async () => {
  await begin(lab.url, [{ do: "sleep", ms: 60_000 }], ALICE);
  expect(await lab.stop("SIGTERM")).toEqual([]);
}, 5_000);
