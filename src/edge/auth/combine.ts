/** Several schemes as one: any of them, or all of them (`securityRequirements`, §4.4.1). */
import type { AuthScheme, Principal } from "../../agent/auth-scheme.ts";
import type { SecurityRequirement } from "../../protocol/card.ts";

type Schemes = [AuthScheme, AuthScheme, ...AuthScheme[]];

/**
 * A caller satisfies one of the schemes: the first, in this order, whose credentials it shows. It owns its tasks under
 * that scheme.
 *
 * @example
 * anyOf(apiKey(), bearerJwt({ … }))
 */
export function anyOf(...schemes: Schemes): AuthScheme {
  return {
    ...combined("anyOf", schemes),
    requirements: schemes.flatMap(({ requirements }) => requirements),
    async authenticate(request, env) {
      const refusals: unknown[] = [];
      for (const scheme of schemes) {
        try {
          const principal = await scheme.authenticate(request, env);
          if (principal) return principal;
        } catch (error) {
          // Another scheme may still let the caller in.
          refusals.push(error);
        }
      }
      if (refusals.length > 0) throw refusals[0];
      return undefined;
    },
  };
}

/**
 * A caller satisfies every one of the schemes, and owns its tasks under all of them together: with another one of any
 * of the credentials it is another caller. Its principal is the JSON list of theirs.
 *
 * @example
 * allOf(mtls({ by: "subject" }), oidc({ … }))
 */
export function allOf(...schemes: Schemes): AuthScheme {
  return {
    ...combined("allOf", schemes),
    requirements: schemes
      .map(({ requirements }) => requirements)
      .reduce((groups, next) => groups.flatMap((group) => next.map((one) => both(group, one)))),
    async authenticate(request, env) {
      const principals: Principal[] = [];
      for (const scheme of schemes) {
        const principal = await scheme.authenticate(request, env);
        if (!principal) return undefined;
        principals.push(principal);
      }
      return together(principals);
    },
  };
}

function combined(maker: string, schemes: Schemes): Omit<AuthScheme, "requirements" | "authenticate"> {
  const names = schemes.flatMap((scheme) => Object.keys(scheme.schemes));
  if (schemes.some(({ requirements }) => requirements.length === 0)) {
    throw new Error(`${maker}: open() lets anyone in, and cannot be combined`);
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new Error(`${maker}: two schemes are named "${twice}"; give one of them another \`scheme\``);
  }
  return {
    schemes: Object.assign({}, ...schemes.map((scheme) => scheme.schemes)) as AuthScheme["schemes"],
    headers: schemes.flatMap(({ headers }) => headers),
    secrets: schemes.flatMap(({ secrets = [] }) => secrets),
    listsTasks: schemes.every(({ listsTasks }) => listsTasks),
    challenges: (request, missing) => schemes.flatMap((scheme) => scheme.challenges(request, missing)),
  };
}

function both(a: SecurityRequirement, b: SecurityRequirement): SecurityRequirement {
  return { schemes: { ...a.schemes, ...b.schemes } };
}

function together(principals: readonly Principal[]): Principal {
  const issuers = principals.map(({ issuer }) => issuer ?? "");
  const claims = Object.assign({}, ...principals.map((principal) => principal.claims)) as object;
  return {
    scheme: principals.map(({ scheme }) => scheme).join("+"),
    ...(issuers.some((issuer) => issuer !== "") && { issuer: JSON.stringify(issuers) }),
    subject: JSON.stringify(principals.map(({ subject }) => subject)),
    scopes: [...new Set(principals.flatMap(({ scopes }) => scopes))],
    ...(Object.keys(claims).length > 0 && { claims: { ...claims } }),
  };
}
