import type { AuthScheme } from "../../agent/auth-scheme.ts";
import { message } from "../../protocol/proto-json.ts";
import { type KeyOptions, keyOptions, keysOf } from "./keys.ts";
import { checkOptions } from "./options.ts";
import { type TokenOptions, tokenOptions, tokenScheme } from "./token.ts";

/** The name of the scheme in the card is `bearer` unless it is given. */
export type BearerJwtOptions = TokenOptions & KeyOptions;

const Options = message({ ...tokenOptions, ...keyOptions });

/**
 * Callers send a JWT of an issuer as a bearer token (§4.5.3). Its subject, of this issuer, owns the tasks. Signature,
 * issuer, audience and times are checked; `exp` and `sub` must be there. When the keys cannot be fetched: 503.
 *
 * @example
 * bearerJwt({
 *   issuer: "https://login.example.com",
 *   audience: "https://agents.example.com",
 *   jwksUrl: "https://login.example.com/jwks.json",
 *   algorithms: ["RS256"],
 * })
 */
export function bearerJwt(options: BearerJwtOptions): AuthScheme {
  const checked = checkOptions("bearerJwt", Options, options);
  const { description } = checked;
  const entry = {
    httpAuthSecurityScheme: {
      scheme: "Bearer",
      bearerFormat: "JWT",
      ...(description && { description }),
    },
  };
  return tokenScheme(checked.scheme ?? "bearer", entry, checked, keysOf("bearerJwt", checked));
}
