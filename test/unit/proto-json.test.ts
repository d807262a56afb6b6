/** What the schemas of `src/protocol` read, what they give back, and what they refuse with which field. */
import { describe, expect, test } from "vitest";
import type * as z from "zod";
import { A2AError, parse } from "../../src/protocol/errors.ts";
import { Message, Part, textOf } from "../../src/protocol/message.ts";
import { bytes, timestamp } from "../../src/protocol/proto-json.ts";
import {
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageConfiguration,
  SendMessageRequest,
  TaskPushNotificationConfig,
} from "../../src/protocol/requests.ts";
import { StreamResponse, Task, TaskStatus } from "../../src/protocol/task.ts";

const hi = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };

/** The parsed value as it goes on the wire. */
function read(schema: z.ZodType, input: unknown): unknown {
  return JSON.parse(JSON.stringify(parse(schema, input)));
}

function refusal(schema: z.ZodType, input: unknown): A2AError {
  try {
    parse(schema, input);
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

function refusedFields(schema: z.ZodType, input: unknown): string[] {
  const error = refusal(schema, input);
  expect(error.reason).toBe("INVALID_PARAMS");
  return error.fields.map(({ field }) => field);
}

describe("names and members", () => {
  test("snake_case names are read, and camelCase is given back (P-14)", () => {
    const snake = {
      message: {
        message_id: "m1",
        context_id: "c",
        role: "ROLE_USER",
        parts: [{ text: "hi", media_type: "text/plain" }],
        reference_task_ids: ["t1"],
      },
      configuration: {
        accepted_output_modes: ["text/plain"],
        history_length: 2,
        return_immediately: true,
        task_push_notification_config: { url: "https://hook.example", task_id: "t" },
      },
    };
    expect(read(SendMessageRequest, snake)).toEqual({
      message: {
        messageId: "m1",
        contextId: "c",
        role: "ROLE_USER",
        parts: [{ text: "hi", mediaType: "text/plain" }],
        referenceTaskIds: ["t1"],
      },
      configuration: {
        acceptedOutputModes: ["text/plain"],
        historyLength: 2,
        returnImmediately: true,
        taskPushNotificationConfig: { url: "https://hook.example", taskId: "t" },
      },
    });
  });

  test("the camelCase name wins when both are there", () => {
    expect(read(Message, { ...hi, contextId: "camel", context_id: "snake" })).toMatchObject({
      contextId: "camel",
    });
  });

  test("unknown members are ignored at every level (P-12)", () => {
    const extra = { unknownFieldXyz: 1 };
    const request = {
      message: { ...hi, parts: [{ text: "hi", ...extra }], ...extra },
      configuration: { historyLength: 1, pushNotificationConfig: { url: "x" }, ...extra },
      ...extra,
    };
    expect(read(SendMessageRequest, request)).toEqual({
      message: hi,
      configuration: { historyLength: 1 },
    });
  });

  test("the v0.3 members `kind` and `type` on a part are unknown members (P-13)", () => {
    expect(read(Part, { kind: "text", type: "text", text: "hi" })).toEqual({ text: "hi" });
  });

  test("null means absent for optional members, lists and messages (P-17)", () => {
    const message = {
      ...hi,
      contextId: null,
      taskId: null,
      metadata: null,
      extensions: null,
      referenceTaskIds: null,
    };
    expect(read(SendMessageRequest, { message, configuration: null, metadata: null })).toEqual({
      message: hi,
    });
    const status = { state: "TASK_STATE_WORKING", message: null, timestamp: null };
    expect(read(Task, { id: "t", status, history: null, artifacts: null })).toEqual({
      id: "t",
      status: { state: "TASK_STATE_WORKING" },
    });
  });

  test("a required list that is null or missing is refused with its path (P-17)", () => {
    expect(refusedFields(SendMessageRequest, { message: { ...hi, parts: null } })).toEqual([
      "message.parts",
    ]);
    expect(
      refusal(SendMessageRequest, { message: { ...hi, parts: null } }).fields[0]?.description,
    ).toBe("is required");
  });

  test("an empty optional string is absent", () => {
    expect(read(Message, { ...hi, contextId: "", taskId: "" })).toEqual(hi);
  });

  test("members of metadata are left as they are, nulls and unknown names included", () => {
    const metadata = { a_b: null, cD: [1, null], __proto: { x: { y: "" } } };
    expect(read(Message, { ...hi, metadata })).toEqual({ ...hi, metadata });
  });

  test("metadata must be an object", () => {
    for (const metadata of ["x", 1, [], true]) {
      expect(refusedFields(Message, { ...hi, metadata })).toEqual(["metadata"]);
    }
  });

  test("what is given back is read to the same again", () => {
    const once = parse(SendMessageRequest, {
      message: { ...hi, role: 1, parts: [{ raw: "-_8" }, { data: null }] },
    });
    expect(parse(SendMessageRequest, once)).toEqual(once);
  });
});

describe("enums", () => {
  test("integer values are read, names are given back (P-14)", () => {
    expect(read(Message, { ...hi, role: 1 })).toMatchObject({ role: "ROLE_USER" });
    expect(read(Message, { ...hi, role: 2 })).toMatchObject({ role: "ROLE_AGENT" });
    const names = [
      "TASK_STATE_UNSPECIFIED",
      "TASK_STATE_SUBMITTED",
      "TASK_STATE_WORKING",
      "TASK_STATE_COMPLETED",
      "TASK_STATE_FAILED",
      "TASK_STATE_CANCELED",
      "TASK_STATE_INPUT_REQUIRED",
      "TASK_STATE_REJECTED",
      "TASK_STATE_AUTH_REQUIRED",
    ];
    for (const [number, name] of names.entries()) {
      expect(read(ListTasksRequest, { status: number })).toEqual({ status: name });
    }
  });

  test.each(["user", "role_user", "agent", "", 3, -1, 1.5, true])(
    "a role that is not one is refused: %j (P-15)",
    (role) => {
      expect(refusedFields(Message, { ...hi, role })).toEqual(["role"]);
    },
  );

  test.each(["working", "NOPE", "completed", 9, -1])(
    "a status that is not one is refused: %j (P-15, L-08)",
    (status) => {
      expect(refusedFields(ListTasksRequest, { status })).toEqual(["status"]);
    },
  );

  test("an unspecified role or state is refused where one is required", () => {
    expect(refusedFields(Message, { ...hi, role: "ROLE_UNSPECIFIED" })).toEqual(["role"]);
    expect(refusedFields(Message, { ...hi, role: 0 })).toEqual(["role"]);
    expect(refusedFields(TaskStatus, { state: 0 })).toEqual(["state"]);
  });

  test("an unspecified status of ListTasks is read: it is no filter", () => {
    expect(read(ListTasksRequest, { status: "TASK_STATE_UNSPECIFIED" })).toEqual({
      status: "TASK_STATE_UNSPECIFIED",
    });
  });
});

describe("numbers", () => {
  test("decimal strings are read as numbers", () => {
    expect(read(ListTasksRequest, { pageSize: "10", historyLength: "0" })).toEqual({
      pageSize: 10,
      historyLength: 0,
    });
  });

  test.each(["abc", "", "1.5", " 1", "0x1", "1e1", 1.5, true, [], {}])(
    "a page size that is not an integer is refused: %j",
    (pageSize) => {
      expect(refusedFields(ListTasksRequest, { pageSize })).toEqual(["pageSize"]);
    },
  );

  test("a page of ListTasks has 1 to 100 tasks", () => {
    for (const pageSize of [1, 100, "100"]) {
      expect(read(ListTasksRequest, { pageSize })).toEqual({ pageSize: Number(pageSize) });
    }
    for (const pageSize of [0, 101, -1, "101"]) {
      expect(refusedFields(ListTasksRequest, { pageSize })).toEqual(["pageSize"]);
    }
  });

  test("a page of push configs may be 0, the default of proto3, and has at most 100", () => {
    expect(read(ListTaskPushNotificationConfigsRequest, { taskId: "t", pageSize: 0 })).toEqual({
      taskId: "t",
      pageSize: 0,
    });
    expect(
      refusedFields(ListTaskPushNotificationConfigsRequest, { taskId: "t", pageSize: 101 }),
    ).toEqual(["pageSize"]);
  });

  test("historyLength keeps unset and 0 apart, takes any int32 above, and refuses -1", () => {
    expect(read(GetTaskRequest, { id: "t" })).toEqual({ id: "t" });
    for (const historyLength of [0, 1, 999_999_999, 2 ** 31 - 1]) {
      expect(read(GetTaskRequest, { id: "t", historyLength })).toEqual({ id: "t", historyLength });
    }
    for (const historyLength of [-1, "-1", 2 ** 31]) {
      expect(refusedFields(GetTaskRequest, { id: "t", historyLength })).toEqual(["historyLength"]);
      expect(refusedFields(SendMessageConfiguration, { historyLength })).toEqual(["historyLength"]);
      expect(refusedFields(ListTasksRequest, { historyLength })).toEqual(["historyLength"]);
    }
  });
});

describe("ids", () => {
  const longest = "x".repeat(256);

  test("an id of 256 characters is read, one of 257 refused", () => {
    expect(read(GetTaskRequest, { id: longest })).toEqual({ id: longest });
    expect(refusedFields(GetTaskRequest, { id: `${longest}x` })).toEqual(["id"]);
    for (const field of ["messageId", "contextId", "taskId"]) {
      expect(read(Message, { ...hi, [field]: longest })).toMatchObject({ [field]: longest });
      expect(refusedFields(Message, { ...hi, [field]: `${longest}x` })).toEqual([field]);
    }
  });

  test("a tenant has the same bound", () => {
    expect(read(GetTaskRequest, { id: "t", tenant: longest })).toEqual({ id: "t", tenant: longest });
    expect(refusedFields(GetTaskRequest, { id: "t", tenant: `${longest}x` })).toEqual(["tenant"]);
  });

  test("a required id must be there and not empty (P-21)", () => {
    const { messageId: _, ...anonymous } = hi;
    expect(refusedFields(SendMessageRequest, { message: anonymous })).toEqual(["message.messageId"]);
    expect(refusedFields(SendMessageRequest, { message: { ...hi, messageId: "" } })).toEqual([
      "message.messageId",
    ]);
    expect(refusedFields(GetTaskRequest, {})).toEqual(["id"]);
    expect(refusedFields(TaskPushNotificationConfig, { url: "" })).toEqual(["url"]);
  });
});

describe("parts", () => {
  test("an empty list of parts is refused as message.parts (P-21)", () => {
    expect(refusedFields(SendMessageRequest, { message: { ...hi, parts: [] } })).toEqual([
      "message.parts",
    ]);
  });

  test("two populated arms are refused by the part's path (P-09)", () => {
    const parts = [{ text: "hello", url: "https://e.com/x" }];
    const error = refusal(SendMessageRequest, { message: { ...hi, parts } });
    expect(error.fields).toEqual([
      {
        field: "message.parts[0]",
        description: "exactly one of text, raw, url, data is needed; text and url are set",
      },
    ]);
    expect(error.message).toBe(
      "Invalid parameters: message.parts[0]: exactly one of text, raw, url, data is needed; text and url are set",
    );
  });

  test.each([{ mediaType: "application/json" }, {}, { text: null }, { url: null, raw: null }])(
    "a part without content is refused: %j (P-11)",
    (part) => {
      expect(refusal(SendMessageRequest, { message: { ...hi, parts: [part] } }).fields).toEqual([
        {
          field: "message.parts[0]",
          description: "exactly one of text, raw, url, data is needed; none is set",
        },
      ]);
    },
  );

  test.each([42, 0, -1.5, "text", "", true, false, null, [], [1, [2]], {}, { a: { b: null } }])(
    "data may be any JSON value: %j (P-18)",
    (data) => {
      expect(read(Part, { data })).toEqual({ data });
    },
  );

  test("an empty arm is a value when it stands alone", () => {
    for (const part of [{ text: "" }, { raw: "" }, { url: "" }, { data: "" }, { data: null }]) {
      expect(read(Part, part)).toEqual(part);
    }
  });

  test("an empty or null arm is ignored beside a populated one", () => {
    expect(read(Part, { text: "a", raw: "", url: "", data: null })).toEqual({ text: "a" });
    expect(read(Part, { text: "", url: "https://e.com" })).toEqual({ url: "https://e.com" });
    expect(read(Part, { text: "", data: false })).toEqual({ data: false });
    expect(read(Part, { text: "", data: 0 })).toEqual({ data: 0 });
    expect(read(Part, { raw: "AA==", data: null })).toEqual({ raw: "AA==" });
  });

  test("two empty arms are refused: nobody can tell which is meant", () => {
    expect(refusedFields(Message, { ...hi, parts: [{ text: "", url: "" }] })).toEqual(["parts[0]"]);
  });

  test("every wrong part is named, not only the first", () => {
    const parts = [{ text: "fine" }, {}, { raw: "%%%" }, { text: 5 }, "x"];
    expect(refusedFields(SendMessageRequest, { message: { ...hi, parts } })).toEqual([
      "message.parts[1]",
      "message.parts[2].raw",
      "message.parts[3].text",
      "message.parts[4]",
    ]);
  });

  test("the text of parts is what the text parts say, one per line", () => {
    expect(textOf([{ text: "a" }, { data: 1 }, { text: "" }, { text: "b" }])).toBe("a\n\nb");
  });
});

describe("the other oneofs", () => {
  const status = { state: "TASK_STATE_WORKING" };

  test("a stream response has exactly one member", () => {
    const task = { id: "t", status };
    expect(read(StreamResponse, { task, message: null, status_update: null })).toEqual({ task });
    const both = { task, statusUpdate: { taskId: "t", contextId: "c", status } };
    expect(refusal(StreamResponse, both).fields[0]?.description).toMatch(
      /exactly one of .*; task and statusUpdate are set/,
    );
    expect(refusal(StreamResponse, {}).fields[0]?.description).toMatch(/none is set/);
  });

  test("a member by its snake_case name counts as the member", () => {
    const update = { task_id: "t", context_id: "c", status };
    expect(read(StreamResponse, { status_update: update })).toEqual({
      statusUpdate: { taskId: "t", contextId: "c", status },
    });
  });
});

describe("bytes", () => {
  test.each([
    ["QQ==", "QQ=="],
    ["QQ", "QQ=="],
    ["QUI", "QUI="],
    ["QUJD", "QUJD"],
    ["-_8", "+/8="],
    ["-_8=", "+/8="],
    ["", ""],
  ])("%j is read as %j: base64 and base64url, with and without padding", (input, output) => {
    expect(read(bytes, input)).toBe(output);
  });

  test.each(["Q", "%%%", "Q=Q=", "QQ QQ", "ä", 5, {}])("refuses what is not base64: %j", (input) => {
    expect(refusal(bytes, input).fields).toHaveLength(1);
  });

  test("a long run of padding is refused at once", () => {
    const started = performance.now();
    expect(refusal(bytes, `${"=".repeat(50_000)}A`).fields).toHaveLength(1);
    expect(performance.now() - started).toBeLessThan(200);
  });
});

describe("timestamps", () => {
  test.each([
    ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
    ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500Z"],
    ["2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00.123Z"],
    ["2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31T20:00:00-08:30", "2026-02-01T04:30:00.000Z"],
    ["2026-01-31t12:00:00z", "2026-01-31T12:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
  ])("%s is given back in UTC with milliseconds: %s", (input, output) => {
    expect(read(timestamp, input)).toBe(output);
  });

  test.each([
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31 12:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:00:61Z",
    "9999-12-31T23:59:59-01:00",
    "0001-01-01T00:00:00+01:00",
    "yesterday",
    "",
    1_769_860_800_000,
  ])("refuses what is no instant of RFC 3339 in the years 1 to 9999: %j", (input) => {
    expect(refusal(timestamp, input).fields).toHaveLength(1);
  });

  test("a wrong filter time is refused by its name", () => {
    expect(refusedFields(ListTasksRequest, { statusTimestampAfter: "soon" })).toEqual([
      "statusTimestampAfter",
    ]);
  });
});

describe("booleans", () => {
  test("only true and false are booleans", () => {
    expect(read(ListTasksRequest, { includeArtifacts: false })).toEqual({ includeArtifacts: false });
    for (const includeArtifacts of ["true", 1, 0, "TRUE"]) {
      expect(refusedFields(ListTasksRequest, { includeArtifacts })).toEqual(["includeArtifacts"]);
    }
  });
});

describe("requests as a whole", () => {
  test.each(["x", 5, [], true])("params that are no object are refused: %j", (params) => {
    expect(refusal(SendMessageRequest, params).reason).toBe("INVALID_PARAMS");
  });

  test("every missing field is named in one answer", () => {
    expect(refusedFields(SendMessageRequest, { message: {} })).toEqual([
      "message.messageId",
      "message.role",
      "message.parts",
    ]);
  });

  test("a refusal never repeats the value that was sent", () => {
    const secret = "s3cret";
    const { message, fields } = refusal(SendMessageRequest, {
      message: { ...hi, role: secret, parts: [{ raw: `%${secret}` }], metadata: secret },
    });
    expect(JSON.stringify([message, fields])).not.toContain(secret);
  });

  test("the reason can be chosen by the caller", () => {
    expect(() => parse(Message, {}, "INVALID_AGENT_RESPONSE")).toThrow(
      expect.objectContaining({ reason: "INVALID_AGENT_RESPONSE" }),
    );
  });
});
