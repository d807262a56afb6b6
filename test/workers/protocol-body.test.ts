/** Bodies of requests: media types, encoding and bounds, in both bindings. */
import { describe, expect, test } from "vitest";
import { BINDINGS, type Binding, send } from "./bindings.ts";
import { call, type Json, message, script } from "./client.ts";
import { type Refused, refusal, wire } from "./refusals.ts";

const encoder = new TextEncoder();

/** The text of a SendMessage call, with members beside the message. */
function sending(binding: Binding, more: object = {}, content: unknown = message("hi")): string {
  const params = { message: content, ...more };
  return JSON.stringify(
    binding === "rest" ? params : { jsonrpc: "2.0", id: 1, method: "SendMessage", params },
  );
}

function post(binding: Binding, body: BodyInit, contentType?: string): Promise<Response> {
  const headers = contentType === undefined ? {} : { "Content-Type": contentType };
  return call(binding === "rest" ? "/message:send" : "/", { method: "POST", headers, body });
}

async function taskOf(binding: Binding, response: Response): Promise<Json> {
  const body = (await response.json()) as Json;
  const value = binding === "rest" ? body : (body.result as Json | undefined);
  if (!value?.task) throw new Error(`no task: ${JSON.stringify(body)}`);
  return value.task as Json;
}

/** What cannot be read has no id that could be echoed. */
function unread(binding: Binding, reason: Refused): object {
  return refusal(binding, reason, { id: null });
}

/** A body whose length is not declared, in pieces of at most `size` bytes. */
function streamed(bytes: Uint8Array, size = 65_536): ReadableStream {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

describe("the media type of a request", () => {
  const taken: [Binding, string][] = [
    ["jsonrpc", "application/json"],
    ["jsonrpc", "application/json; charset=utf-8"],
    ["jsonrpc", "Application/JSON;charset=UTF-8"],
    ["rest", "application/json"],
    ["rest", "application/json; charset=utf-8"],
    ["rest", "application/a2a+json"],
    ["rest", "application/a2a+json; charset=utf-8"],
    ["rest", "Application/A2A+JSON"],
  ];
  test.each(taken)("over %s, %s is taken (P-23)", async (binding, type) => {
    const response = await post(binding, sending(binding), type);
    expect(await taskOf(binding, response)).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
    });
  });

  const refused: [Binding, string][] = [
    ["jsonrpc", "text/plain"],
    ["jsonrpc", "application/a2a+json"],
    ["jsonrpc", "application/jsonx"],
    ["jsonrpc", "text/plain; application/json"],
    ["rest", "text/plain"],
    ["rest", "application/x-www-form-urlencoded"],
    ["rest", "application/a2a"],
    ["rest", "text/json, application/json"],
  ];
  test.each(refused)(
    "over %s, %s is refused by the protocol's own error (P-23)",
    async (binding, type) => {
      const answer = await wire(post(binding, sending(binding), type));
      expect(answer).toEqual(unread(binding, "CONTENT_TYPE_NOT_SUPPORTED"));
    },
  );

  test.each(BINDINGS)("over %s, a body without one is refused (P-23)", async (binding) => {
    const answer = await wire(post(binding, encoder.encode(sending(binding))));
    expect(answer).toEqual(unread(binding, "CONTENT_TYPE_NOT_SUPPORTED"));
  });
});

describe.each(BINDINGS)("over %s, a body", (binding) => {
  const json = (body: BodyInit) => post(binding, body, "application/json");

  test("that is not JSON is a parse error (P-01)", async () => {
    expect(await wire(json('{"message":'))).toEqual(unread(binding, "PARSE_ERROR"));
  });

  test.each([
    ["a stray byte", [0xff]],
    ["an overlong form", [0xc0, 0x80]],
    ["half a surrogate pair", [0xed, 0xa0, 0x80]],
    ["a character that is cut off", [0xe2, 0x82]],
  ])("with %s is no UTF-8, and a parse error", async (_title, bytes) => {
    const [before = "", after = ""] = sending(binding, {}, message("@")).split("@");
    const body = new Uint8Array([...encoder.encode(before), ...bytes, ...encoder.encode(after)]);
    expect(await wire(json(body))).toEqual(unread(binding, "PARSE_ERROR"));
  });

  test("that ends within a character is a parse error", async () => {
    const body = new Uint8Array([...encoder.encode(sending(binding)), 0xe2]);
    expect(await wire(json(body))).toEqual(unread(binding, "PARSE_ERROR"));
  });

  test("with a byte order mark before the JSON is read", async () => {
    const body = new Uint8Array([0xef, 0xbb, 0xbf, ...encoder.encode(sending(binding))]);
    expect(await taskOf(binding, await json(body))).toHaveProperty("id");
  });

  test("whose characters are cut by the network is read whole", async () => {
    const body = encoder.encode(sending(binding, {}, message("é€😀")));
    const task = await taskOf(binding, await json(streamed(body, 1)));
    expect(task).toMatchObject({ history: [{ parts: [{ text: "é€😀" }] }] });
  });
});

describe.each(BINDINGS)("over %s, the nesting of JSON", (binding) => {
  /** Arrays around a number, in a message whose JSON is then nested `levels` deep. */
  function nested(levels: number): { body: string; data: unknown } {
    const around = binding === "rest" ? 4 : 5;
    let data: unknown = 1;
    for (let level = around; level < levels; level++) data = [data];
    return { data, body: sending(binding, {}, { ...message("hi"), parts: [{ data }] }) };
  }

  test("of 64 levels is read", async () => {
    const { data, body } = nested(64);
    const task = await taskOf(binding, await post(binding, body, "application/json"));
    expect(task).toMatchObject({ history: [{ parts: [{ data }] }] });
  });

  test("of 65 levels is refused", async () => {
    const answer = await wire(post(binding, nested(65).body, "application/json"));
    expect(answer).toEqual(unread(binding, "INVALID_REQUEST"));
  });

  test("is not looked for in strings", async () => {
    const text = `\\"${"[{".repeat(100)}`;
    const body = sending(binding, {}, message(text));
    const task = await taskOf(binding, await post(binding, body, "application/json"));
    expect(task).toMatchObject({ history: [{ parts: [{ text }] }] });
  });
});

const MEBIBYTE = 1024 * 1024;

describe.each(BINDINGS)("over %s, the size of a body", (binding) => {
  /** A call of so many bytes; what fills it is an unknown member, or `letters` of two bytes in it. */
  function sized(size: number, letters = 0): Uint8Array {
    const empty = encoder.encode(sending(binding, { pad: "" })).length;
    const pad = "é".repeat(letters) + "x".repeat(size - empty - 2 * letters);
    return encoder.encode(sending(binding, { pad }));
  }
  const json = (body: BodyInit) => post(binding, body, "application/json");

  test("of 1 MiB is taken", async () => {
    const body = sized(MEBIBYTE);
    expect(body).toHaveLength(MEBIBYTE);
    expect(await taskOf(binding, await json(body))).toHaveProperty("id");
  });

  test("of a byte more is HTTP 413 (D-20)", async () => {
    expect(await wire(json(sized(MEBIBYTE + 1)))).toEqual(unread(binding, "PAYLOAD_TOO_LARGE"));
  });

  test("is counted in bytes, not in characters", async () => {
    const body = sized(MEBIBYTE + 1, 500_000);
    expect(await wire(json(body))).toEqual(unread(binding, "PAYLOAD_TOO_LARGE"));
  });

  test("of 1 MiB is taken without a declared length (D-20)", async () => {
    expect(await taskOf(binding, await json(streamed(sized(MEBIBYTE))))).toHaveProperty("id");
  });

  test("of a byte more is HTTP 413 without a declared length (D-20)", async () => {
    const answer = await wire(json(streamed(sized(MEBIBYTE + 1))));
    expect(answer).toEqual(unread(binding, "PAYLOAD_TOO_LARGE"));
  });

  test("is bounded although the body never ends", async () => {
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(0x20)),
    });
    expect(await wire(json(endless))).toEqual(unread(binding, "PAYLOAD_TOO_LARGE"));
  });
});

describe("a REST body", () => {
  test.each(["[]", '"x"', "1", "null", "true"])("that is %s and no object is refused", async (body) => {
    const answer = await wire(post("rest", body, "application/json"));
    // There is no field to name.
    const message = "Invalid parameters: the body must be an object";
    expect(answer).toEqual(refusal("rest", "INVALID_PARAMS", { message }));
  });

  const none: [string, RequestInit][] = [
    ["is absent", {}],
    ["is absent beside a content type", { headers: { "Content-Type": "application/json" } }],
    ["is empty", { body: "", headers: { "Content-Type": "application/json" } }],
    ["is empty, of undeclared length", { body: streamed(new Uint8Array()) }],
    [
      "is empty, of undeclared length and JSON",
      { body: streamed(new Uint8Array()), headers: { "Content-Type": "application/json" } },
    ],
    ["is {}", { body: "{}", headers: { "Content-Type": "application/a2a+json" } }],
  ];
  test.each(none)("that %s is that of an empty message (P-24)", async (_title, init) => {
    const { id } = await send("rest", script({ do: "input" }));
    const response = await call(`/tasks/${id}:cancel`, { method: "POST", ...init });
    expect(await response.json()).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" } });
  });
});
