/**
 * Every message of the protocol with every field set, as objects of the official SDK. `Required` makes the
 * compiler find a field that is missing here; `sdk-types.test.ts` finds it at run time too.
 */
import * as sdk from "@a2a-js/sdk";

/** Arms of a oneof, each by its name: a missing arm does not compile. */
type Arms<T, K extends keyof T> = {
  [C in NonNullable<T[K]> as C extends { $case: infer N extends string } ? N : never]: Required<T>;
};

const partMembers = {
  metadata: { source: "sensor", nested: { list: [1, null, "x"] } },
  filename: "reading.txt",
  mediaType: "text/plain",
};

export const parts: Arms<sdk.Part, "content"> = {
  text: { content: { $case: "text", value: "12 °C" }, ...partMembers },
  raw: { content: { $case: "raw", value: Buffer.from([0, 255, 62, 63]) }, ...partMembers },
  url: { content: { $case: "url", value: "https://files.example/1" }, ...partMembers },
  data: { content: { $case: "data", value: { celsius: 12, at: [null, false] } }, ...partMembers },
};

export const message: Required<sdk.Message> = {
  messageId: "m1",
  contextId: "c1",
  taskId: "t1",
  role: sdk.Role.ROLE_AGENT,
  parts: Object.values(parts),
  metadata: { trace: "1" },
  extensions: ["https://ext.example/v1"],
  referenceTaskIds: ["t0"],
};

export const artifact: Required<sdk.Artifact> = {
  artifactId: "a1",
  name: "Reading",
  description: "What the sensor said",
  parts: Object.values(parts),
  metadata: { unit: "celsius" },
  extensions: ["https://ext.example/v1"],
};

export const taskStatus: Required<sdk.TaskStatus> = {
  state: sdk.TaskState.TASK_STATE_INPUT_REQUIRED,
  message,
  timestamp: "2026-01-31T12:00:00.123Z",
};

export const task: Required<sdk.Task> = {
  id: "t1",
  contextId: "c1",
  status: taskStatus,
  artifacts: [artifact],
  history: [message],
  metadata: { priority: 1 },
};

export const statusUpdate: Required<sdk.TaskStatusUpdateEvent> = {
  taskId: "t1",
  contextId: "c1",
  status: taskStatus,
  metadata: { a: 1 },
};

export const artifactUpdate: Required<sdk.TaskArtifactUpdateEvent> = {
  taskId: "t1",
  contextId: "c1",
  artifact,
  append: true,
  lastChunk: true,
  metadata: { a: 1 },
};

export const streamResponses: Arms<sdk.StreamResponse, "payload"> = {
  task: { payload: { $case: "task", value: task } },
  message: { payload: { $case: "message", value: message } },
  statusUpdate: { payload: { $case: "statusUpdate", value: statusUpdate } },
  artifactUpdate: { payload: { $case: "artifactUpdate", value: artifactUpdate } },
};

export const sendMessageResponses: Arms<sdk.SendMessageResponse, "payload"> = {
  task: { payload: { $case: "task", value: task } },
  message: { payload: { $case: "message", value: message } },
};

export const authenticationInfo: Required<sdk.AuthenticationInfo> = {
  scheme: "Bearer",
  credentials: "secret",
};

export const pushConfig: Required<sdk.TaskPushNotificationConfig> = {
  tenant: "acme",
  id: "p1",
  taskId: "t1",
  url: "https://hook.example",
  token: "token",
  authentication: authenticationInfo,
};

export const sendMessageConfiguration: Required<sdk.SendMessageConfiguration> = {
  acceptedOutputModes: ["text/plain"],
  taskPushNotificationConfig: pushConfig,
  historyLength: 3,
  returnImmediately: true,
};

export const sendMessageRequest: Required<sdk.SendMessageRequest> = {
  tenant: "acme",
  message,
  configuration: sendMessageConfiguration,
  metadata: { a: 1 },
};

export const getTaskRequest: Required<sdk.GetTaskRequest> = {
  tenant: "acme",
  id: "t1",
  historyLength: 3,
};

export const listTasksRequest: Required<sdk.ListTasksRequest> = {
  tenant: "acme",
  contextId: "c1",
  status: sdk.TaskState.TASK_STATE_AUTH_REQUIRED,
  pageSize: 20,
  pageToken: "next",
  historyLength: 3,
  statusTimestampAfter: "2026-01-31T12:00:00.000Z",
  includeArtifacts: true,
};

export const listTasksResponse: Required<sdk.ListTasksResponse> = {
  tasks: [task],
  nextPageToken: "next",
  pageSize: 20,
  totalSize: 41,
};

export const cancelTaskRequest: Required<sdk.CancelTaskRequest> = {
  tenant: "acme",
  id: "t1",
  metadata: { why: "late" },
};

export const subscribeToTaskRequest: Required<sdk.SubscribeToTaskRequest> = {
  tenant: "acme",
  id: "t1",
};

export const pushConfigName: Required<sdk.GetTaskPushNotificationConfigRequest> = {
  tenant: "acme",
  taskId: "t1",
  id: "p1",
};

export const listPushConfigsRequest: Required<sdk.ListTaskPushNotificationConfigsRequest> = {
  tenant: "acme",
  taskId: "t1",
  pageSize: 20,
  pageToken: "next",
};

export const listPushConfigsResponse: Required<sdk.ListTaskPushNotificationConfigsResponse> = {
  configs: [pushConfig],
  nextPageToken: "next",
};

export const getExtendedAgentCardRequest: Required<sdk.GetExtendedAgentCardRequest> = {
  tenant: "acme",
};

const tokenUrl = "https://auth.example/token";
const refreshUrl = "https://auth.example/refresh";
const authorizationUrl = "https://auth.example/authorize";
const scopes = { read: "Read readings", write: "" };

export const authorizationCode: Required<sdk.AuthorizationCodeOAuthFlow> = {
  authorizationUrl,
  tokenUrl,
  refreshUrl,
  scopes,
  pkceRequired: true,
};
export const clientCredentials: Required<sdk.ClientCredentialsOAuthFlow> = {
  tokenUrl,
  refreshUrl,
  scopes,
};
export const implicit: Required<sdk.ImplicitOAuthFlow> = { authorizationUrl, refreshUrl, scopes };
export const password: Required<sdk.PasswordOAuthFlow> = { tokenUrl, refreshUrl, scopes };
export const deviceCode: Required<sdk.DeviceCodeOAuthFlow> = {
  deviceAuthorizationUrl: "https://auth.example/device",
  tokenUrl,
  refreshUrl,
  scopes,
};

export const oauthFlows: Arms<sdk.OAuthFlows, "flow"> = {
  authorizationCode: { flow: { $case: "authorizationCode", value: authorizationCode } },
  clientCredentials: { flow: { $case: "clientCredentials", value: clientCredentials } },
  implicit: { flow: { $case: "implicit", value: implicit } },
  password: { flow: { $case: "password", value: password } },
  deviceCode: { flow: { $case: "deviceCode", value: deviceCode } },
};

const description = "How to call";

export const apiKey: Required<sdk.APIKeySecurityScheme> = {
  description,
  location: "header",
  name: "X-API-Key",
};
export const httpAuth: Required<sdk.HTTPAuthSecurityScheme> = {
  description,
  scheme: "Bearer",
  bearerFormat: "JWT",
};
export const oauth2: Required<sdk.OAuth2SecurityScheme> = {
  description,
  flows: oauthFlows.authorizationCode,
  oauth2MetadataUrl: "https://auth.example/.well-known/oauth-authorization-server",
};
export const openIdConnect: Required<sdk.OpenIdConnectSecurityScheme> = {
  description,
  openIdConnectUrl: "https://auth.example/.well-known/openid-configuration",
};
export const mtls: Required<sdk.MutualTlsSecurityScheme> = { description };

export const securitySchemes: Arms<sdk.SecurityScheme, "scheme"> = {
  apiKeySecurityScheme: { scheme: { $case: "apiKeySecurityScheme", value: apiKey } },
  httpAuthSecurityScheme: { scheme: { $case: "httpAuthSecurityScheme", value: httpAuth } },
  oauth2SecurityScheme: { scheme: { $case: "oauth2SecurityScheme", value: oauth2 } },
  openIdConnectSecurityScheme: {
    scheme: { $case: "openIdConnectSecurityScheme", value: openIdConnect },
  },
  mtlsSecurityScheme: { scheme: { $case: "mtlsSecurityScheme", value: mtls } },
};

export const stringList: Required<sdk.StringList> = { list: ["read", "write"] };

export const securityRequirement: Required<sdk.SecurityRequirement> = {
  schemes: { oauth2SecurityScheme: stringList, apiKeySecurityScheme: { list: [] } },
};

export const agentInterface: Required<sdk.AgentInterface> = {
  url: "https://agent.example/",
  protocolBinding: "JSONRPC",
  tenant: "acme",
  protocolVersion: "1.0",
};

export const agentProvider: Required<sdk.AgentProvider> = {
  url: "https://acme.example",
  organization: "Acme",
};

export const agentExtension: Required<sdk.AgentExtension> = {
  uri: "https://ext.example/v1",
  description: "Adds units",
  required: true,
  params: { units: ["celsius"] },
};

export const agentCapabilities: Required<sdk.AgentCapabilities> = {
  streaming: true,
  pushNotifications: true,
  extensions: [agentExtension],
  extendedAgentCard: true,
};

export const agentSkill: Required<sdk.AgentSkill> = {
  id: "read",
  name: "Read",
  description: "Reads the sensor",
  tags: ["sensor"],
  examples: ["How warm is it?"],
  inputModes: ["text/plain"],
  outputModes: ["application/json"],
  securityRequirements: [securityRequirement],
};

export const agentCardSignature: Required<sdk.AgentCardSignature> = {
  protected: "eyJhbGciOiJFUzI1NiJ9",
  signature: "c2lnbmF0dXJl",
  header: { kid: "k1" },
};

export const agentCard: Required<sdk.AgentCard> = {
  name: "Thermometer",
  description: "Tells how warm it is",
  supportedInterfaces: [agentInterface],
  provider: agentProvider,
  version: "1.0.0",
  documentationUrl: "https://docs.example",
  capabilities: agentCapabilities,
  securitySchemes: { ...securitySchemes },
  securityRequirements: [securityRequirement],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["application/json"],
  skills: [agentSkill],
  signatures: [agentCardSignature],
  iconUrl: "https://acme.example/icon.png",
};
