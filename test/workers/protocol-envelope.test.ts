/** The JSON-RPC envelope (§9.3, §9.5): what is a call, and which id its answer has. */
import { describe, expect, test } from "vitest";
import { call, type Json, message, rpc, sse } from "./client.ts";
import { refusal, wire } from "./refusals.ts";

/** A legal call, with members replaced; `undefined` leaves one out. */
function base(changes: Json = {}): Json {
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "SendMessage",
    params: { message: message("hi") },
    ...changes,
  };
}

function post(body: unknown, path = "/"): Promise<Response> {
  return call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** How many tasks a context has. */
async function tasksIn(contextId: string): Promise<unknown> {
  const { body } = await rpc("ListTasks", { contextId });
  return (body.result as Json).totalSize;
}

describe("what is no JSON-RPC call", () => {
  test.each(['{"jsonrpc":"2.0",', "", "  ", "{]", "nul", "{'jsonrpc':'2.0'}", "\u0000"])(
    "text that is not JSON is -32700 with id null: %j (P-01)",
    async (text) => {
      expect(await wire(post(text))).toEqual(refusal("jsonrpc", "PARSE_ERROR", { id: null }));
    },
  );

  test.each(["1", "null", '"SendMessage"', "true"])(
    "JSON that is no object is -32600 with id null: %s (P-02)",
    async (text) => {
      expect(await wire(post(text))).toEqual(refusal("jsonrpc", "INVALID_REQUEST", { id: null }));
    },
  );

  test.each([[undefined], [null], ["aaa"], ["1.0"], ["2.00"], [2], [2.1], [["2.0"]]])(
    "a `jsonrpc` member of %j is -32600, and the id is echoed (P-02)",
    async (jsonrpc) => {
      const answer = await wire(post(base({ jsonrpc, id: "a" })));
      expect(answer).toEqual(refusal("jsonrpc", "INVALID_REQUEST", { id: "a" }));
    },
  );

  test.each([[undefined], [null], [5], [{}], [["SendMessage"]]])(
    "a `method` of %j is -32600 (P-02)",
    async (method) => {
      expect(await wire(post(base({ method })))).toEqual(refusal("jsonrpc", "INVALID_REQUEST"));
    },
  );

  test.each(["Nope", "sendMessage", "SendMessage ", "", "toString", "__proto__", "constructor"])(
    "a method of the name %j is -32601",
    async (method) => {
      expect(await wire(post(base({ method })))).toEqual(refusal("jsonrpc", "METHOD_NOT_FOUND"));
    },
  );
});

describe("params", () => {
  test.each([["x"], [""], [5], [true], [false], [[]], [[{ message: message("hi") }]]])(
    "of %j are -32602 (P-04)",
    async (params) => {
      const answer = await wire(post(base({ params })));
      expect(answer).toEqual(refusal("jsonrpc", "INVALID_PARAMS", { fields: ["params"] }));
    },
  );

  test.each([null, undefined])(
    "of %j are none, which is enough where none are needed (P-04)",
    async (params) => {
      const { status, body } = await wire(post(base({ method: "ListTasks", params })));
      expect(status).toBe(200);
      expect(body).toMatchObject({ jsonrpc: "2.0", id: 1, result: { tasks: expect.any(Array) } });
      expect(await wire(post(base({ params })))).toEqual(
        refusal("jsonrpc", "INVALID_PARAMS", { fields: ["message"] }),
      );
    },
  );

  test("unknown members of the envelope are ignored", async () => {
    const { body } = await wire(post(base({ meta: { a: 1 }, result: null, error: "x" })));
    expect(body).toEqual({ jsonrpc: "2.0", id: 1, result: { task: expect.any(Object) } });
  });
});

describe("the id of a call", () => {
  const ids = [0, "", "0", 1.5, -7, "call-1", "\u2028ü", Number.MAX_SAFE_INTEGER];

  test.each(ids)("of %j is echoed with a result (P-33)", async (id) => {
    const { status, body } = await wire(post(base({ id })));
    expect(status).toBe(200);
    expect(body).toEqual({ jsonrpc: "2.0", id, result: { task: expect.any(Object) } });
  });

  test.each(ids)("of %j is echoed with the error of a stream that did not start (P-33)", async (id) => {
    const answer = await wire(post(base({ id, method: "SubscribeToTask", params: { id: "nope" } })));
    expect(answer).toEqual(refusal("jsonrpc", "TASK_NOT_FOUND", { id }));
  });

  test.each(ids)("of %j is echoed with every event of a stream (P-33)", async (id) => {
    const response = await post(base({ id, method: "SendStreamingMessage" }));
    expect(response.headers.get("Content-Type")).toBe("text/event-stream");
    let count = 0;
    for await (const { data } of sse(response)) {
      expect(data).toEqual({ jsonrpc: "2.0", id, result: expect.any(Object) });
      count += 1;
    }
    expect(count).toBeGreaterThan(1);
  });

  test.each(["9007199254740993", "12345678901234567890", "1e400"])(
    "of %s, which JavaScript cannot hold, is echoed as it is or refused (P-33)",
    async (digits) => {
      const response = await post(JSON.stringify(base({ id: "@" })).replace('"@"', digits));
      const answer = await response.text();
      if (answer.includes('"error"')) {
        expect(JSON.parse(answer)).toMatchObject({ id: null, error: { code: -32600 } });
      } else {
        expect(answer).toContain(`"id":${digits},`);
      }
    },
  );

  test.each(ids)("of %j is echoed with -32600 (P-33)", async (id) => {
    const answer = await wire(post(base({ id, jsonrpc: "aaa" })));
    expect(answer).toEqual(refusal("jsonrpc", "INVALID_REQUEST", { id }));
  });

  test.each([[{}], [[]], [[1]], [true], [false]])(
    "of %j is -32600 with id null, and nothing runs (P-33)",
    async (id) => {
      const contextId = crypto.randomUUID();
      const params = { message: message("hi", { contextId }) };
      const answer = await wire(post(base({ id, params })));
      expect(answer).toEqual(refusal("jsonrpc", "INVALID_REQUEST", { id: null }));
      expect(await tasksIn(contextId)).toBe(0);
    },
  );
});

describe("what is not executed", () => {
  test.each([undefined, null])(
    "a call whose id is %j is -32600, and nothing runs (P-31)",
    async (id) => {
      const contextId = crypto.randomUUID();
      const params = { message: message("hi", { contextId }) };
      const answer = await wire(post(base({ id, params })));
      expect(answer).toEqual(refusal("jsonrpc", "INVALID_REQUEST", { id: null }));
      expect(await tasksIn(contextId)).toBe(0);
    },
  );

  test("a batch is one -32600 with id null, and none of it runs (P-31)", async () => {
    const contextId = crypto.randomUUID();
    const one = base({ params: { message: message("hi", { contextId }) } });
    for (const batch of [[one, { ...one, id: 2 }], [one], []]) {
      const answer = await wire(post(batch));
      expect(answer).toEqual(refusal("jsonrpc", "INVALID_REQUEST", { id: null }));
    }
    expect(await tasksIn(contextId)).toBe(0);
    // The same call alone does run, so that the count above says something.
    await post(one);
    expect(await tasksIn(contextId)).toBe(1);
  });
});

describe("the endpoint", () => {
  test.each(["", "/", "/agents/script", "/agents/script/", "/?A2A-Version=1.0"])(
    "answers at %j without a redirect",
    async (path) => {
      const response = await post(base(), path);
      expect(response.redirected).toBe(false);
      expect(response.headers.get("Content-Type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ result: { task: {} } });
    },
  );
});
