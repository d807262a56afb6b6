/** What clients do with push notification configs (§3.1.7 to §3.1.10). */
import { describe, expect, test } from "vitest";
import { BINDINGS, type Binding, expectRefused, operate, send } from "./bindings.ts";
import { type Json, rest, script } from "./client.ts";
import { hook } from "./webhooks.ts";

const URL = "https://example.com/hook";
const SECRETS = { token: "t0ken", authentication: { scheme: "Bearer", credentials: "s3cret" } };
const MASKED = { token: "********", authentication: { scheme: "Bearer", credentials: "********" } };

async function task(binding: Binding): Promise<string> {
  const { id } = await send(binding, script({ do: "input" }));
  return id;
}

async function list(binding: Binding, taskId: string, page: object = {}): Promise<Json> {
  const { value } = await operate(binding, "ListTaskPushNotificationConfigs", { taskId, ...page });
  return value ?? {};
}

describe.each(BINDINGS)("push notification configs (%s)", (binding) => {
  test("without an id get one each; with the id of another one it is changed in place [W-11]", async () => {
    const taskId = await task(binding);
    const one = await hook(binding, taskId);
    const two = await hook(binding, taskId);
    for (const id of [one, two]) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(two).not.toBe(one);
    await hook(binding, taskId, { id: one, url: "https://example.com/other" });
    const { configs } = await list(binding, taskId);
    expect(new Map((configs as Json[]).map(({ id, url }) => [id, url]))).toEqual(
      new Map([
        [one, "https://example.com/other"],
        [two, URL],
      ]),
    );
  });

  test("are listed in pages, in the shape of the specification [W-13]", async () => {
    const taskId = await task(binding);
    expect(await list(binding, taskId)).toEqual({ configs: [], nextPageToken: "" });
    for (const id of ["b", "a", "c"]) await hook(binding, taskId, { id });
    const first = await list(binding, taskId, { pageSize: 2 });
    expect(first).toEqual({
      configs: [
        { id: "a", taskId, url: URL },
        { id: "b", taskId, url: URL },
      ],
      nextPageToken: expect.stringMatching(/./),
    });
    const second = await list(binding, taskId, { pageSize: 2, pageToken: first.nextPageToken });
    expect(second).toEqual({ configs: [{ id: "c", taskId, url: URL }], nextPageToken: "" });
  });

  test("never give a secret back, not even when they are made, and scheme and URL stay [W-16]", async () => {
    const taskId = await task(binding);
    const config = { taskId, id: "w", url: URL, ...SECRETS };
    const shown = { taskId, id: "w", url: URL, ...MASKED };
    expect((await operate(binding, "CreateTaskPushNotificationConfig", config)).value).toEqual(shown);
    const get = await operate(binding, "GetTaskPushNotificationConfig", { taskId, id: "w" });
    expect(get.value).toEqual(shown);
    expect(await list(binding, taskId)).toEqual({ configs: [shown], nextPageToken: "" });
  });

  test("are bounded for each task; changing one is always possible, also inline [W-17]", async () => {
    const taskId = await task(binding);
    for (const id of ["a", "b", "c"]) await hook(binding, taskId, { id });
    const fourth = await operate(binding, "CreateTaskPushNotificationConfig", { taskId, url: URL });
    expectRefused(fourth, "INVALID_PARAMS", "taskPushNotificationConfig");
    await hook(binding, taskId, { id: "a", url: "https://example.com/other" });
    const inline = (config: object) =>
      operate(binding, "SendMessage", {
        message: { messageId: "m", role: "ROLE_USER", taskId, parts: script({ do: "input" }) },
        configuration: { taskPushNotificationConfig: { url: URL, ...config } },
      });
    expectRefused(await inline({}), "INVALID_PARAMS", "taskPushNotificationConfig");
    expect((await inline({ id: "b" })).error).toBeUndefined();
    expect((await list(binding, taskId)).configs).toHaveLength(3);
    await operate(binding, "DeleteTaskPushNotificationConfig", { taskId, id: "c" });
    await hook(binding, taskId, { id: "d" });
    expect((await list(binding, taskId)).configs).toHaveLength(3);
  });

  test("that are not there: get is refused, delete is a success", async () => {
    const taskId = await task(binding);
    const named = { taskId, id: "none" };
    expectRefused(await operate(binding, "GetTaskPushNotificationConfig", named), "TASK_NOT_FOUND");
    expect((await operate(binding, "DeleteTaskPushNotificationConfig", named)).error).toBeUndefined();
  });

  test("inline have the name of v1.0 alone; the one of v0.3 is an unknown field [W-15]", async () => {
    const old = { configuration: { pushNotificationConfig: { url: URL } } };
    const { id } = await send(binding, script({ do: "input" }), {}, old);
    expect((await list(binding, id)).configs).toEqual([]);
    const now = { configuration: { taskPushNotificationConfig: { url: URL } } };
    const { id: other } = await send(binding, script({ do: "input" }), {}, now);
    expect((await list(binding, other)).configs).toHaveLength(1);
  });
});

test("over REST the body is the config itself [W-12]", async () => {
  const taskId = await task("rest");
  const path = `/tasks/${taskId}/pushNotificationConfigs`;
  const made = await rest("POST", path, { url: URL, id: "w" });
  expect(made).toMatchObject({ status: 200, body: { taskId, id: "w", url: URL } });
  expect((await rest("GET", `${path}/w`)).body).toEqual(made.body);
  expect((await rest("GET", path)).body).toEqual({ configs: [made.body], nextPageToken: "" });
});
