import { describe, expect, test } from "vitest";
import { checkBindings, checkPush } from "../../src/env.ts";

const objects = { TASK_OBJECT: {}, TASK_INDEX: {} };
const queues = { PUSH_QUEUE: {}, PUSH_SLOW_QUEUE: {} };
const url = () => "https://agents.example.com";

function pushOf(env: object, push: { loopback: boolean } | undefined, urlOf = url) {
  checkPush(checkBindings({ ...objects, ...env }), { id: "a", push }, urlOf);
}

describe("a binding that is missing is named, with what to add", () => {
  test.each([
    [{}, "TASK_OBJECT"],
    [{ TASK_OBJECT: {} }, 'name = "TASK_INDEX"'],
    [{ ...objects, PUBLIC_URL: "agents.example.com" }, "PUBLIC_URL must be"],
  ])("%j", (env, words) => {
    expect(() => checkBindings(env)).toThrow(words);
  });

  test.each([
    [{}, 'binding = "PUSH_QUEUE"'],
    [{}, "npx wrangler queues create"],
    [{ PUSH_QUEUE: {} }, 'binding = "PUSH_SLOW_QUEUE"'],
  ])("for an agent with webhooks: %j", (env, words) => {
    expect(() => pushOf(env, { loopback: false })).toThrow(words);
  });

  test("an agent without webhooks needs no queues", () => {
    expect(() => pushOf({}, undefined)).not.toThrow();
    expect(() => pushOf(queues, { loopback: false })).not.toThrow();
  });
});

describe("push.loopback", () => {
  test("is refused where clients come by https", () => {
    expect(() => pushOf(queues, { loopback: true })).toThrow(
      /"a" has push\.loopback.*https:\/\/agents/,
    );
    expect(() => pushOf(queues, { loopback: true }, () => "http://127.0.0.1:8787")).not.toThrow();
  });
});
