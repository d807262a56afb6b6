import * as z from "zod";
import type { AuthScheme } from "../../agent/auth-scheme.ts";
import { SecurityScheme } from "../../protocol/card.ts";
import { message } from "../../protocol/proto-json.ts";
import { type KeyOptions, keyOptions, keysOf } from "./keys.ts";
import { checkOptions, secureUrl } from "./options.ts";
import { type TokenOptions, tokenOptions, tokenScheme } from "./token.ts";

/** One way to a token (§4.5.7); an agent with more than one has several schemes, of which any lets in. */
export type OAuth2Flow =
  | {
      /** The code must come with PKCE, unless `pkceRequired` is false. */
      authorizationCode: {
        authorizationUrl: string;
        tokenUrl: string;
        refreshUrl?: string;
        /** What each scope is for. */
        scopes: Record<string, string>;
        pkceRequired?: boolean;
      };
    }
  | {
      clientCredentials: { tokenUrl: string; refreshUrl?: string; scopes: Record<string, string> };
    }
  | {
      deviceCode: {
        deviceAuthorizationUrl: string;
        tokenUrl: string;
        refreshUrl?: string;
        scopes: Record<string, string>;
      };
    };

/** The name of the scheme in the card is `oauth2` unless it is given. */
export type OAuth2Options = TokenOptions &
  KeyOptions & {
    /** How a client comes to a token; shown in the card. */
    flow: OAuth2Flow;
    /** Where the authorization server describes itself (RFC 8414); shown in the card. */
    metadataUrl?: string;
  };

const scopes = z.record(z.string(), z.string());
const common = { tokenUrl: secureUrl, refreshUrl: secureUrl.optional(), scopes };
const flows = {
  authorizationCode: z.strictObject({
    authorizationUrl: secureUrl,
    ...common,
    pkceRequired: z.boolean().default(true),
  }),
  clientCredentials: z.strictObject(common),
  deviceCode: z.strictObject({ deviceAuthorizationUrl: secureUrl, ...common }),
};
const Options = message({
  ...tokenOptions,
  ...keyOptions,
  metadataUrl: secureUrl.optional(),
  flow: z.union(
    [
      z.strictObject({ authorizationCode: flows.authorizationCode }),
      z.strictObject({ clientCredentials: flows.clientCredentials }),
      z.strictObject({ deviceCode: flows.deviceCode }),
    ],
    "must be one of authorizationCode, clientCredentials and deviceCode, with https URLs and scopes",
  ),
});

/**
 * Callers get a token from an authorization server as the card tells them (§4.5.4), and send it as a bearer token. It
 * is checked as `bearerJwt` checks one; the flows themselves are between the client and that server.
 *
 * @example
 * oauth2({
 *   issuer: "https://login.example.com",
 *   audience: "https://agents.example.com",
 *   jwksUrl: "https://login.example.com/jwks.json",
 *   algorithms: ["RS256"],
 *   flow: { clientCredentials: { tokenUrl: "https://login.example.com/token", scopes: { a2a: "Call the agent" } } },
 *   scopes: ["a2a"],
 * })
 */
export function oauth2(options: OAuth2Options): AuthScheme {
  const checked = checkOptions("oauth2", Options, options);
  const { description, flow, metadataUrl } = checked;
  const entry = SecurityScheme.parse({
    oauth2SecurityScheme: {
      flows: flow,
      ...(metadataUrl && { oauth2MetadataUrl: metadataUrl }),
      ...(description && { description }),
    },
  });
  return tokenScheme(checked.scheme ?? "oauth2", entry, checked, keysOf("oauth2", checked));
}
