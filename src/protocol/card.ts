/** The agent card and its security schemes (§4.4, §4.5). */
import * as z from "zod";
import {
  message,
  oneof,
  optionalList,
  optionalString,
  requiredList,
  requiredString,
  struct,
} from "./proto-json.ts";

export const AgentInterface = message({
  url: requiredString(),
  protocolBinding: requiredString(),
  tenant: optionalString(),
  protocolVersion: requiredString(),
});
export type AgentInterface = z.infer<typeof AgentInterface>;

export const AgentProvider = message({ url: requiredString(), organization: requiredString() });
export type AgentProvider = z.infer<typeof AgentProvider>;

export const AgentExtension = message({
  uri: requiredString(),
  description: optionalString(),
  required: z.boolean().optional(),
  params: struct.optional(),
});
export type AgentExtension = z.infer<typeof AgentExtension>;

export const AgentCapabilities = message({
  streaming: z.boolean().optional(),
  pushNotifications: z.boolean().optional(),
  extensions: optionalList(AgentExtension),
  extendedAgentCard: z.boolean().optional(),
});
export type AgentCapabilities = z.infer<typeof AgentCapabilities>;

const StringList = message({ list: z.array(z.string()).default([]) });

export const SecurityRequirement = message({ schemes: z.record(z.string(), StringList).default({}) });
export type SecurityRequirement = z.infer<typeof SecurityRequirement>;

const scopes = z.record(z.string(), z.string());

const OAuthFlows = oneof(
  {
    authorizationCode: message({
      authorizationUrl: requiredString(),
      tokenUrl: requiredString(),
      refreshUrl: optionalString(),
      scopes: scopes.default({}),
      pkceRequired: z.boolean().optional(),
    }).optional(),
    clientCredentials: message({
      tokenUrl: requiredString(),
      refreshUrl: optionalString(),
      scopes: scopes.default({}),
    }).optional(),
    implicit: message({
      authorizationUrl: optionalString(),
      refreshUrl: optionalString(),
      scopes: scopes.optional(),
    }).optional(),
    password: message({
      tokenUrl: optionalString(),
      refreshUrl: optionalString(),
      scopes: scopes.optional(),
    }).optional(),
    deviceCode: message({
      deviceAuthorizationUrl: requiredString(),
      tokenUrl: requiredString(),
      refreshUrl: optionalString(),
      scopes: scopes.default({}),
    }).optional(),
  },
  ["authorizationCode", "clientCredentials", "implicit", "password", "deviceCode"],
);

export const SecurityScheme = oneof(
  {
    apiKeySecurityScheme: message({
      description: optionalString(),
      location: z.enum(["query", "header", "cookie"]),
      name: requiredString(),
    }).optional(),
    httpAuthSecurityScheme: message({
      description: optionalString(),
      scheme: requiredString(),
      bearerFormat: optionalString(),
    }).optional(),
    oauth2SecurityScheme: message({
      description: optionalString(),
      flows: OAuthFlows,
      oauth2MetadataUrl: optionalString(),
    }).optional(),
    openIdConnectSecurityScheme: message({
      description: optionalString(),
      openIdConnectUrl: requiredString(),
    }).optional(),
    mtlsSecurityScheme: message({ description: optionalString() }).optional(),
  },
  [
    "apiKeySecurityScheme",
    "httpAuthSecurityScheme",
    "oauth2SecurityScheme",
    "openIdConnectSecurityScheme",
    "mtlsSecurityScheme",
  ],
);
export type SecurityScheme = z.infer<typeof SecurityScheme>;

export const AgentSkill = message({
  id: requiredString(),
  name: requiredString(),
  description: requiredString(),
  tags: requiredList(z.string()),
  examples: optionalList(z.string()),
  inputModes: optionalList(z.string()),
  outputModes: optionalList(z.string()),
  securityRequirements: optionalList(SecurityRequirement),
});
export type AgentSkill = z.infer<typeof AgentSkill>;

export const AgentCardSignature = message({
  protected: requiredString(),
  signature: requiredString(),
  header: struct.optional(),
});

export const AgentCard = message({
  name: requiredString(),
  description: requiredString(),
  supportedInterfaces: requiredList(AgentInterface),
  provider: AgentProvider.optional(),
  version: requiredString(),
  documentationUrl: z.string().optional(),
  capabilities: AgentCapabilities,
  securitySchemes: z.record(z.string(), SecurityScheme).optional(),
  securityRequirements: optionalList(SecurityRequirement),
  defaultInputModes: requiredList(z.string()),
  defaultOutputModes: requiredList(z.string()),
  skills: requiredList(AgentSkill),
  signatures: optionalList(AgentCardSignature),
  iconUrl: z.string().optional(),
});
export type AgentCard = z.infer<typeof AgentCard>;
