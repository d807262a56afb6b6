/** The media types of parts against the input modes of the card (§3.1.1, P-22), in both bindings. */
import { defineAgent } from "durable-a2a";
import { describe, expect, test } from "vitest";
import { plain } from "./agents.ts";
import { BINDINGS, exchange, operate } from "./bindings.ts";
import { message } from "./client.ts";
import { deploy } from "./deployment.ts";
import { refusal, wire } from "./refusals.ts";

const file = (mediaType: string) => ({ url: "https://e.com/x.bin", mediaType });

describe.each(BINDINGS)("over %s, to an agent that reads text/plain,", (binding) => {
  test.each(["text/plain", "TEXT/Plain", "text/plain; charset=utf-8", "text/plain;format=flowed", ""])(
    "a part of %j is taken",
    async (mediaType) => {
      const params = { message: message([file(mediaType)]) };
      const { value } = await operate(binding, "SendMessage", params, { agent: "plain" });
      expect(value).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
    },
  );

  test("parts without a media type are taken, whatever they are", async () => {
    const parts = [{ url: "https://e.com/x.bin" }, { raw: "aGk=" }, { data: {} }, { text: "hi" }];
    const { value } = await operate(
      binding,
      "SendMessage",
      { message: message(parts) },
      { agent: "plain" },
    );
    expect(value).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  test.each([
    "application/x-foo",
    "text/html",
    "text/plainer",
    "application/json; a=text/plain",
    "text",
  ])("a part of %j is refused by its field (P-22)", async (mediaType) => {
    const params = { message: message([{ text: "hi" }, file(mediaType)]) };
    const fields = ["message.parts[1].mediaType"];
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
      const answer = await wire(exchange(binding, operation, params, { agent: "plain" }));
      expect(answer).toEqual(refusal(binding, "CONTENT_TYPE_NOT_SUPPORTED", { fields }));
    }
  });

  test("nothing of a refused message runs (P-22)", async () => {
    const options = { agent: "keyed", headers: { "X-API-Key": "alice-key" } };
    const contextId = crypto.randomUUID();
    const count = async () =>
      (await operate(binding, "ListTasks", { contextId }, options)).value?.totalSize;
    await exchange(
      binding,
      "SendMessage",
      { message: message([file("application/x-foo")], { contextId }) },
      options,
    );
    expect(await count()).toBe(0);
    await exchange(
      binding,
      "SendMessage",
      { message: message([file("text/plain")], { contextId }) },
      options,
    );
    expect(await count()).toBe(1);
  });
});

describe("input modes with wildcards", () => {
  // Known to the objects as `plain`: only what the Worker checks is another.
  const pictures = defineAgent({
    ...plain.definition,
    id: "plain",
    inputModes: ["image/*", "Application/JSON"],
  });
  const fetch = deploy([pictures]);
  const send = (mediaType: string) =>
    fetch("https://agents.test/message:send", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: message([file(mediaType)]) }),
    });

  test.each([
    "image/png",
    "IMAGE/SVG+xml",
    "image/avif; q=1",
    "application/json",
    "application/json;a=b",
  ])("of image/* and application/json take %j (P-22)", async (mediaType) => {
    const { status, body } = await wire(send(mediaType));
    expect(status).toBe(200);
    expect(body).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  test.each(["text/plain", "images/png", "application/jsonl", "application/*", "*/png"])(
    "of image/* and application/json refuse %j (P-22)",
    async (mediaType) => {
      const fields = ["message.parts[0].mediaType"];
      expect(await wire(send(mediaType))).toEqual(
        refusal("rest", "CONTENT_TYPE_NOT_SUPPORTED", { fields }),
      );
    },
  );

  test("of */* take everything (P-22)", async () => {
    const params = { message: message([file("application/x-foo")]) };
    const { value } = await operate("rest", "SendMessage", params, { agent: "script" });
    expect(value).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });
});
