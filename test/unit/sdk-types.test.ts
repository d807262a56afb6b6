/**
 * Holds the schemas of `src/protocol` to the official SDK: what one side writes, the other reads and writes
 * again without loss, for every message of the protocol.
 */
import * as sdk from "@a2a-js/sdk";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import * as card from "../../src/protocol/card.ts";
import { A2AError, parse } from "../../src/protocol/errors.ts";
import { Message, Part } from "../../src/protocol/message.ts";
import * as requests from "../../src/protocol/requests.ts";
import * as tasks from "../../src/protocol/task.ts";
import * as full from "./sdk-messages.ts";

interface Codec {
  fromJSON(json: unknown): unknown;
  toJSON(message: never): unknown;
}

interface Row {
  schema: z.ZodType;
  /** With every field set; one object per arm of a oneof. */
  messages: readonly object[];
  /** The fields that the proto marks REQUIRED, where absent is not the same as empty. */
  required?: readonly string[];
  /** The member of the SDK's type that stands for a oneof. */
  oneof?: string;
}

/** The object schema inside what `message`, `oneof`, `optional` and `default` put around it. */
function objectOf(schema: unknown): z.ZodObject {
  if (schema instanceof z.ZodObject) return schema;
  if (schema instanceof z.ZodPipe) return objectOf(schema.out);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return objectOf(schema.unwrap());
  throw new Error("not the schema of a message");
}

function member(schema: unknown, name: string): z.ZodType {
  const found = objectOf(schema).shape[name];
  if (found instanceof z.ZodType) return found;
  throw new Error(`no member ${name}`);
}

function valuesOf(schema: z.ZodType): z.ZodType {
  const map = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  if (map instanceof z.ZodRecord && map.valueType instanceof z.ZodType) return map.valueType;
  throw new Error("not the schema of a map");
}

const flows = member(member(card.SecurityScheme, "oauth2SecurityScheme"), "flows");

const ROWS: Record<string, Row> = {
  Part: { schema: Part, messages: Object.values(full.parts), oneof: "content" },
  Message: { schema: Message, messages: [full.message], required: ["messageId", "role", "parts"] },
  Artifact: {
    schema: tasks.Artifact,
    messages: [full.artifact],
    required: ["artifactId", "parts"],
  },
  TaskStatus: { schema: tasks.TaskStatus, messages: [full.taskStatus], required: ["state"] },
  Task: { schema: tasks.Task, messages: [full.task], required: ["id", "status"] },
  TaskStatusUpdateEvent: {
    schema: tasks.TaskStatusUpdateEvent,
    messages: [full.statusUpdate],
    required: ["taskId", "contextId", "status"],
  },
  TaskArtifactUpdateEvent: {
    schema: tasks.TaskArtifactUpdateEvent,
    messages: [full.artifactUpdate],
    required: ["taskId", "contextId", "artifact"],
  },
  StreamResponse: {
    schema: tasks.StreamResponse,
    messages: Object.values(full.streamResponses),
    oneof: "payload",
  },
  SendMessageConfiguration: {
    schema: requests.SendMessageConfiguration,
    messages: [full.sendMessageConfiguration],
  },
  SendMessageRequest: {
    schema: requests.SendMessageRequest,
    messages: [full.sendMessageRequest],
    required: ["message"],
  },
  SendMessageResponse: {
    schema: requests.SendMessageResponse,
    messages: Object.values(full.sendMessageResponses),
    oneof: "payload",
  },
  GetTaskRequest: {
    schema: requests.GetTaskRequest,
    messages: [full.getTaskRequest],
    required: ["id"],
  },
  ListTasksRequest: { schema: requests.ListTasksRequest, messages: [full.listTasksRequest] },
  // REQUIRED in the proto, but an empty page is legal, and ProtoJSON writers leave its members out.
  ListTasksResponse: { schema: requests.ListTasksResponse, messages: [full.listTasksResponse] },
  CancelTaskRequest: {
    schema: requests.CancelTaskRequest,
    messages: [full.cancelTaskRequest],
    required: ["id"],
  },
  SubscribeToTaskRequest: {
    schema: requests.SubscribeToTaskRequest,
    messages: [full.subscribeToTaskRequest],
    required: ["id"],
  },
  AuthenticationInfo: {
    schema: requests.AuthenticationInfo,
    messages: [full.authenticationInfo],
    required: ["scheme"],
  },
  TaskPushNotificationConfig: {
    schema: requests.TaskPushNotificationConfig,
    messages: [full.pushConfig],
    required: ["url"],
  },
  GetTaskPushNotificationConfigRequest: {
    schema: requests.GetTaskPushNotificationConfigRequest,
    messages: [full.pushConfigName],
    required: ["taskId", "id"],
  },
  DeleteTaskPushNotificationConfigRequest: {
    schema: requests.DeleteTaskPushNotificationConfigRequest,
    messages: [full.pushConfigName],
    required: ["taskId", "id"],
  },
  ListTaskPushNotificationConfigsRequest: {
    schema: requests.ListTaskPushNotificationConfigsRequest,
    messages: [full.listPushConfigsRequest],
    required: ["taskId"],
  },
  ListTaskPushNotificationConfigsResponse: {
    schema: requests.ListTaskPushNotificationConfigsResponse,
    messages: [full.listPushConfigsResponse],
  },
  GetExtendedAgentCardRequest: {
    schema: requests.GetExtendedAgentCardRequest,
    messages: [full.getExtendedAgentCardRequest],
  },
  AgentInterface: {
    schema: card.AgentInterface,
    messages: [full.agentInterface],
    required: ["url", "protocolBinding", "protocolVersion"],
  },
  AgentProvider: {
    schema: card.AgentProvider,
    messages: [full.agentProvider],
    required: ["url", "organization"],
  },
  // Not REQUIRED in the proto; an extension without its URI says nothing.
  AgentExtension: {
    schema: card.AgentExtension,
    messages: [full.agentExtension],
    required: ["uri"],
  },
  AgentCapabilities: { schema: card.AgentCapabilities, messages: [full.agentCapabilities] },
  AgentSkill: {
    schema: card.AgentSkill,
    messages: [full.agentSkill],
    required: ["id", "name", "description", "tags"],
  },
  AgentCardSignature: {
    schema: card.AgentCardSignature,
    messages: [full.agentCardSignature],
    required: ["protected", "signature"],
  },
  AgentCard: {
    schema: card.AgentCard,
    messages: [full.agentCard],
    required: [
      "name",
      "description",
      "supportedInterfaces",
      "version",
      "capabilities",
      "defaultInputModes",
      "defaultOutputModes",
      "skills",
    ],
  },
  SecurityRequirement: { schema: card.SecurityRequirement, messages: [full.securityRequirement] },
  StringList: {
    schema: valuesOf(member(card.SecurityRequirement, "schemes")),
    messages: [full.stringList],
  },
  SecurityScheme: {
    schema: card.SecurityScheme,
    messages: Object.values(full.securitySchemes),
    oneof: "scheme",
  },
  APIKeySecurityScheme: {
    schema: member(card.SecurityScheme, "apiKeySecurityScheme"),
    messages: [full.apiKey],
    required: ["location", "name"],
  },
  HTTPAuthSecurityScheme: {
    schema: member(card.SecurityScheme, "httpAuthSecurityScheme"),
    messages: [full.httpAuth],
    required: ["scheme"],
  },
  OAuth2SecurityScheme: {
    schema: member(card.SecurityScheme, "oauth2SecurityScheme"),
    messages: Object.values(full.oauthFlows).map((flow) => ({ ...full.oauth2, flows: flow })),
    required: ["flows"],
  },
  OpenIdConnectSecurityScheme: {
    schema: member(card.SecurityScheme, "openIdConnectSecurityScheme"),
    messages: [full.openIdConnect],
    required: ["openIdConnectUrl"],
  },
  MutualTlsSecurityScheme: {
    schema: member(card.SecurityScheme, "mtlsSecurityScheme"),
    messages: [full.mtls],
  },
  OAuthFlows: { schema: flows, messages: Object.values(full.oauthFlows), oneof: "flow" },
  // `scopes` is REQUIRED in three of the flows, but may be empty, which ProtoJSON writers leave out.
  AuthorizationCodeOAuthFlow: {
    schema: member(flows, "authorizationCode"),
    messages: [full.authorizationCode],
    required: ["authorizationUrl", "tokenUrl"],
  },
  ClientCredentialsOAuthFlow: {
    schema: member(flows, "clientCredentials"),
    messages: [full.clientCredentials],
    required: ["tokenUrl"],
  },
  ImplicitOAuthFlow: { schema: member(flows, "implicit"), messages: [full.implicit] },
  PasswordOAuthFlow: { schema: member(flows, "password"), messages: [full.password] },
  DeviceCodeOAuthFlow: {
    schema: member(flows, "deviceCode"),
    messages: [full.deviceCode],
    required: ["deviceAuthorizationUrl", "tokenUrl"],
  },
};

function isCodec(value: unknown): value is Codec {
  return typeof value === "object" && value !== null && "fromJSON" in value && "toJSON" in value;
}

/** The SDK's codecs by the names of their messages; its `…Entry` codecs are the insides of maps. */
const CODECS = new Map<string, Codec>(
  Object.entries(sdk).flatMap(([name, value]) =>
    isCodec(value) && !name.endsWith("Entry") ? [[name, value] as const] : [],
  ),
);

function codecOf(name: string): Codec {
  const codec = CODECS.get(name);
  if (!codec) throw new Error(`the SDK has no ${name}`);
  return codec;
}

type Json = Record<string, unknown>;

function wire(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

function writtenBySdk(name: string, message: unknown): Json {
  return wire(codecOf(name).toJSON(message as never));
}

/** Read and written again by the SDK. */
function throughSdk(name: string, json: unknown): Json {
  return writtenBySdk(name, codecOf(name).fromJSON(json));
}

/** Read and written again by our schema. */
function throughOurs(schema: z.ZodType, json: unknown): Json {
  return wire(parse(schema, json));
}

/** Members whose value is any JSON: nothing in them is a default. */
const FREE = new Set(["metadata", "params", "header", "data"]);

/**
 * Fields without presence: for proto3 the default is the same as absent. The SDK never writes such a default,
 * we keep or write some. Fields with presence (`optional`, members of a oneof) are not here and must survive.
 */
const DEFAULTS: Json = {
  append: false,
  lastChunk: false,
  returnImmediately: false,
  required: false,
  pkceRequired: false,
  nextPageToken: "",
  pageSize: 0,
  totalSize: 0,
  status: "TASK_STATE_UNSPECIFIED",
};

const MAPS = new Set(["schemes", "scopes", "securitySchemes"]);

/** `json` without what proto3 cannot tell from absent: the defaults above, empty lists and empty maps. */
function withoutDefaults(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutDefaults);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).flatMap(([name, value]) => {
      if (FREE.has(name)) return [[name, value]];
      if (Object.hasOwn(DEFAULTS, name) && DEFAULTS[name] === value) return [];
      if (Array.isArray(value) && value.length === 0) return [];
      if (MAPS.has(name) && Object.keys(value).length === 0) return [];
      return [[name, withoutDefaults(value)]];
    }),
  );
}

const names = Object.keys(ROWS);
const rows = names.map((name): [string, Row] => [name, ROWS[name] as Row]);

describe("the SDK's messages", () => {
  test("all have a schema here, and no schema is of a message that the SDK does not know", () => {
    expect([...CODECS.keys()].sort()).toEqual([...names].sort());
  });

  test.each(rows)("%s has the same fields on both sides", (name, { schema, messages, oneof }) => {
    // The SDK writes every field of its type, unset ones too, when it reads an empty object.
    const fields = Object.keys(codecOf(name).fromJSON({}) as Json).filter((field) => field !== oneof);
    const written = new Set(messages.flatMap((one) => Object.keys(writtenBySdk(name, one))));
    expect(written, "the message written out in the fixture is not a full one").toEqual(
      new Set(oneof ? [...fields, ...written] : fields),
    );
    expect(new Set(Object.keys(objectOf(schema).shape))).toEqual(written);
  });
});

describe("what the SDK writes", () => {
  test.each(rows)("%s with every field set is read and written again", (name, row) => {
    for (const message of row.messages) {
      const written = writtenBySdk(name, message);
      expect(withoutDefaults(throughOurs(row.schema, written))).toEqual(written);
    }
  });

  test.each(rows)("%s with only what is required is read and written again", (name, row) => {
    for (const message of row.messages) {
      const written = writtenBySdk(name, message);
      const needed = row.oneof ? armsOf(written, name) : pick(written, row.required ?? []);
      const least = throughSdk(name, needed);
      expect(least).toEqual(needed);
      expect(withoutDefaults(throughOurs(row.schema, least))).toEqual(least);
    }
  });

  test.each(rows.filter(([, { required }]) => required))(
    "%s with nothing set is refused for every required field",
    (name, { schema, required }) => {
      const nothing = throughSdk(name, {});
      expect(nothing).toEqual({});
      expect(() => parse(schema, nothing)).toThrow(A2AError);
      expect(() => parse(schema, nothing)).toThrow(
        expect.objectContaining({
          fields: required?.map((field) => ({ field, description: "is required" })),
        }),
      );
    },
  );
});

describe("what we write", () => {
  test.each(rows)("%s with every field set is read and written again by the SDK", (name, row) => {
    for (const message of row.messages) {
      const ours = throughOurs(row.schema, writtenBySdk(name, message));
      expect(throughSdk(name, ours)).toEqual(withoutDefaults(ours));
    }
  });

  /**
   * Values that look like nothing and must not get lost. Not among them is `data: null`, which is a value
   * (§4.1.6) that the SDK reads as no content at all.
   */
  const falsy: [name: string, json: Json][] = [
    ["Part", { text: "" }],
    ["Part", { raw: "" }],
    ["Part", { url: "" }],
    ["Part", { data: false }],
    ["Part", { data: 0 }],
    ["Part", { data: "" }],
    ["Part", { data: [] }],
    ["Part", { data: { list: [], required: false } }],
    ["SendMessageConfiguration", { historyLength: 0 }],
    ["GetTaskRequest", { id: "t", historyLength: 0 }],
    ["ListTasksRequest", { historyLength: 0, includeArtifacts: false }],
    ["AgentCapabilities", { streaming: false, pushNotifications: false, extendedAgentCard: false }],
    ["CancelTaskRequest", { id: "t", metadata: {} }],
    ["SecurityScheme", { mtlsSecurityScheme: {} }],
    ["OAuthFlows", { implicit: {} }],
    ["OAuthFlows", { password: { scopes: { read: "" } } }],
  ];
  test.each(falsy)("%s %j stays as it is on both sides", (name, json) => {
    const ours = throughOurs((ROWS[name] as Row).schema, json);
    expect(ours).toEqual(json);
    expect(throughSdk(name, ours)).toEqual(json);
  });

  const defaults: [name: string, json: Json][] = [
    ["TaskArtifactUpdateEvent", { append: false, lastChunk: false }],
    ["SendMessageConfiguration", { returnImmediately: false, acceptedOutputModes: [] }],
    ["ListTasksResponse", { tasks: [], nextPageToken: "", pageSize: 0, totalSize: 0 }],
    ["ListTasksRequest", { status: "TASK_STATE_UNSPECIFIED" }],
    ["Task", { artifacts: [], history: [] }],
  ];
  test.each(defaults)("%s %j are defaults: the SDK leaves them out, we keep them", (name, json) => {
    const row = ROWS[name] as Row;
    const needed = pick(writtenBySdk(name, row.messages[0]), row.required ?? []);
    const ours = throughOurs(row.schema, { ...needed, ...json });
    expect(ours).toMatchObject(json);
    expect(throughSdk(name, ours)).toEqual(withoutDefaults(ours));
  });

  test("an optional string of the card that is set and empty stays set (§5.7)", () => {
    const row = ROWS.AgentCard as Row;
    const needed = pick(writtenBySdk("AgentCard", full.agentCard), row.required ?? []);
    const unsaid = { ...needed, documentationUrl: "", iconUrl: "" };
    const ours = throughOurs(row.schema, unsaid);
    expect(withoutDefaults(ours)).toEqual(unsaid);
    expect(throughSdk("AgentCard", ours)).toEqual(unsaid);
  });
});

describe("enums", () => {
  const numbered = (names: object) =>
    Object.entries(names).filter(([name, number]) => Number(number) >= 0 && name !== String(number));

  test.each(numbered(sdk.TaskState))("%s has the SDK's number", (name, number) => {
    expect(throughOurs(requests.ListTasksRequest, { status: number })).toEqual({ status: name });
    expect(throughOurs(requests.ListTasksRequest, { status: name })).toEqual({ status: name });
  });

  test.each(numbered(sdk.Role).filter(([name]) => name !== "ROLE_UNSPECIFIED"))(
    "%s has the SDK's number",
    (name, number) => {
      const message = { messageId: "m", role: number, parts: [{ text: "" }] };
      expect(throughOurs(Message, message)).toMatchObject({ role: name });
    },
  );
});

function pick(json: Json, fields: readonly string[]): Json {
  return Object.fromEntries(Object.entries(json).filter(([name]) => fields.includes(name)));
}

/** A oneof with nothing beside its arm. */
function armsOf(json: Json, name: string): Json {
  const beside = Object.keys(codecOf(name).fromJSON({}) as Json);
  return Object.fromEntries(Object.entries(json).filter(([field]) => !beside.includes(field)));
}
