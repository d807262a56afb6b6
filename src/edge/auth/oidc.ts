import { createRemoteJWKSet, type JWTVerifyGetKey } from "jose";
import type { AuthScheme } from "../../agent/auth-scheme.ts";
import { message } from "../../protocol/proto-json.ts";
import { checkOptions, isSecureUrl, secureUrl } from "./options.ts";
import {
  fromIssuer,
  issuerUnavailable,
  type TokenOptions,
  tokenOptions,
  tokenScheme,
} from "./token.ts";

/** The name of the scheme in the card is `oidc` unless it is given. */
export type OidcOptions = TokenOptions;

const Options = message({ ...tokenOptions, issuer: secureUrl });

/** How long what the issuer says of itself is believed. */
const DISCOVERY_MAX_AGE_MS = 60 * 60 * 1000;
const DISCOVERY_TIMEOUT_MS = 5_000;

/**
 * Callers send a token of an OpenID Connect issuer (§4.5.5). Where its keys are is discovered from
 * `<issuer>/.well-known/openid-configuration` when the first token comes, and once an hour; the token is checked as
 * `bearerJwt` checks one. When the issuer cannot be reached: 503.
 *
 * @example
 * oidc({ issuer: "https://login.example.com", audience: "my-agent", algorithms: ["RS256"] })
 */
export function oidc(options: OidcOptions): AuthScheme {
  const checked = checkOptions("oidc", Options, options);
  const { issuer, description } = checked;
  const openIdConnectUrl = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
  const entry = {
    openIdConnectSecurityScheme: { openIdConnectUrl, ...(description && { description }) },
  };
  const keys = fromIssuer(discoveredKeys(issuer, openIdConnectUrl));
  return tokenScheme(checked.scheme ?? "oidc", entry, checked, keys);
}

function discoveredKeys(issuer: string, url: string): JWTVerifyGetKey {
  let known: { jwksUrl: string; keys: JWTVerifyGetKey; at: number } | undefined;
  return async (header, token) => {
    if (!known || Date.now() - known.at > DISCOVERY_MAX_AGE_MS) {
      const jwksUrl = await discover(issuer, url);
      // The keys that are known stay known while they are where they were.
      const keys = known?.jwksUrl === jwksUrl ? known.keys : createRemoteJWKSet(new URL(jwksUrl));
      known = { jwksUrl, keys, at: Date.now() };
    }
    return known.keys(header, token);
  };
}

/** Where the issuer says its keys are. */
async function discover(issuer: string, url: string): Promise<string> {
  const signal = AbortSignal.timeout(DISCOVERY_TIMEOUT_MS);
  const response = await fetch(url, { signal, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw issuerUnavailable(`${url} answered ${response.status}`);
  }
  const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  // OpenID Connect Discovery §4.3: a document of another issuer says nothing of this one.
  if (document?.issuer !== issuer) throw issuerUnavailable(`${url} is of another issuer`);
  const { jwks_uri: jwksUrl } = document;
  if (typeof jwksUrl !== "string" || !isSecureUrl(jwksUrl)) {
    throw issuerUnavailable(`${url} names no key set at an https URL`);
  }
  return jwksUrl;
}
