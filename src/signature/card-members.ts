/**
 * The members of an agent card and their presence, as `a2a.proto` has them (§4.4, §5.7).
 *
 * The schemas of `protocol/card.ts` refuse what may not be served, an empty description for one; a signature over such a
 * card is to be verified all the same. Their types hold this table to their members.
 */
import type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
} from "../protocol/card.ts";
import { flag, list, map, message, struct, text } from "./presence.ts";

type Schemes = Required<SecurityScheme>;
type Flows = Required<NonNullable<Schemes["oauth2SecurityScheme"]>["flows"]>;
type Schema<T, K extends keyof T> = NonNullable<T[K]>;

const requirement = message<SecurityRequirement>({
  schemes: [
    "implied",
    map(message<SecurityRequirement["schemes"][string]>({ list: ["implied", list(text)] })),
  ],
});

const flows = message<Flows>({
  authorizationCode: [
    "optional",
    message<Schema<Flows, "authorizationCode">>({
      authorizationUrl: ["required", text],
      tokenUrl: ["required", text],
      refreshUrl: ["plain", text],
      scopes: ["required", map(text)],
      pkceRequired: ["plain", flag],
    }),
  ],
  clientCredentials: [
    "optional",
    message<Schema<Flows, "clientCredentials">>({
      tokenUrl: ["required", text],
      refreshUrl: ["plain", text],
      scopes: ["required", map(text)],
    }),
  ],
  implicit: [
    "optional",
    message<Schema<Flows, "implicit">>({
      authorizationUrl: ["plain", text],
      refreshUrl: ["plain", text],
      scopes: ["plain", map(text)],
    }),
  ],
  password: [
    "optional",
    message<Schema<Flows, "password">>({
      tokenUrl: ["plain", text],
      refreshUrl: ["plain", text],
      scopes: ["plain", map(text)],
    }),
  ],
  deviceCode: [
    "optional",
    message<Schema<Flows, "deviceCode">>({
      deviceAuthorizationUrl: ["required", text],
      tokenUrl: ["required", text],
      refreshUrl: ["plain", text],
      scopes: ["required", map(text)],
    }),
  ],
});

const scheme = message<Schemes>({
  apiKeySecurityScheme: [
    "optional",
    message<Schema<Schemes, "apiKeySecurityScheme">>({
      description: ["plain", text],
      location: ["required", text],
      name: ["required", text],
    }),
  ],
  httpAuthSecurityScheme: [
    "optional",
    message<Schema<Schemes, "httpAuthSecurityScheme">>({
      description: ["plain", text],
      scheme: ["required", text],
      bearerFormat: ["plain", text],
    }),
  ],
  oauth2SecurityScheme: [
    "optional",
    message<Schema<Schemes, "oauth2SecurityScheme">>({
      description: ["plain", text],
      flows: ["required", flows],
      oauth2MetadataUrl: ["plain", text],
    }),
  ],
  openIdConnectSecurityScheme: [
    "optional",
    message<Schema<Schemes, "openIdConnectSecurityScheme">>({
      description: ["plain", text],
      openIdConnectUrl: ["required", text],
    }),
  ],
  mtlsSecurityScheme: [
    "optional",
    message<Schema<Schemes, "mtlsSecurityScheme">>({ description: ["plain", text] }),
  ],
});

const card = message<Omit<AgentCard, "signatures">>({
  name: ["required", text],
  description: ["required", text],
  supportedInterfaces: [
    "required",
    list(
      message<AgentInterface>({
        url: ["required", text],
        protocolBinding: ["required", text],
        tenant: ["plain", text],
        protocolVersion: ["required", text],
      }),
    ),
  ],
  provider: [
    "optional",
    message<AgentProvider>({ url: ["required", text], organization: ["required", text] }),
  ],
  version: ["required", text],
  documentationUrl: ["optional", text],
  capabilities: [
    "required",
    message<AgentCapabilities>({
      streaming: ["optional", flag],
      pushNotifications: ["optional", flag],
      extensions: [
        "plain",
        list(
          message<AgentExtension>({
            uri: ["plain", text],
            description: ["plain", text],
            required: ["plain", flag],
            params: ["optional", struct],
          }),
        ),
      ],
      extendedAgentCard: ["optional", flag],
    }),
  ],
  securitySchemes: ["plain", map(scheme)],
  securityRequirements: ["plain", list(requirement)],
  defaultInputModes: ["required", list(text)],
  defaultOutputModes: ["required", list(text)],
  skills: [
    "required",
    list(
      message<AgentSkill>({
        id: ["required", text],
        name: ["required", text],
        description: ["required", text],
        tags: ["required", list(text)],
        examples: ["plain", list(text)],
        inputModes: ["plain", list(text)],
        outputModes: ["plain", list(text)],
        securityRequirements: ["plain", list(requirement)],
      }),
    ),
  ],
  iconUrl: ["optional", text],
});

/** The members of the card that a signature covers. Throws when it is no card. */
export function signedMembers(json: unknown): unknown {
  return card.read(json, "card", "signed");
}

/** A card from the members that a signature covers. */
export function cardOf(signed: unknown): Omit<AgentCard, "signatures"> {
  return card.read(signed, "card", "shown") as Omit<AgentCard, "signatures">;
}
