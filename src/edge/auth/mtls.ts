import * as z from "zod";
import type { AuthScheme } from "../../agent/auth-scheme.ts";
import { message } from "../../protocol/proto-json.ts";
import { type NamedCaller, type NamedCallers, namedCallers } from "./named-callers.ts";
import { checkOptions, schemeName } from "./options.ts";

export interface MtlsOptions {
  /**
   * What of a certificate says who the caller is: its SHA-256 fingerprint, which a renewed certificate changes, or its
   * subject (as RFC 2253 writes it) together with its issuer. Default: fingerprint.
   */
  by?: "fingerprint" | "subject";
  /**
   * The clients that are let in, by name: `{ alice: "<fingerprint or subject>" }`, a list of them, or
   * `{ alice: { hash: "…", scopes: ["write"] } }`. Unset: every client whose certificate Cloudflare verified against
   * the certificate authorities of the zone, under its fingerprint or subject.
   */
  clients?: NamedCallers;
  description?: string;
  /** Key of the scheme in the card, and part of who owns a task. Default: mtls. */
  scheme?: string;
}

const Options = message({
  by: z.enum(["fingerprint", "subject"]).default("fingerprint"),
  clients: z
    .custom<NamedCallers>((value) => namedCallers(value) !== undefined, "must name clients")
    .optional(),
  description: z.string().optional(),
  scheme: schemeName.default("mtls"),
});

/**
 * Callers show a client certificate, which Cloudflare has verified before the Worker runs (`request.cf.tlsClientAuth`);
 * one that is revoked, expired or of an unknown authority lets nobody in (§4.5.6).
 */
export function mtls(options: MtlsOptions = {}): AuthScheme {
  const { by, clients, description, scheme } = checkOptions("mtls", Options, options);
  const known = clients && knownClients(clients, by);
  return {
    schemes: { [scheme]: { mtlsSecurityScheme: { ...(description && { description }) } } },
    requirements: [{ schemes: { [scheme]: { list: [] } } }],
    headers: [],
    listsTasks: true,
    challenges: (_, missing) => (missing ? [] : ['MutualTLS realm="a2a"']),
    async authenticate({ cf }) {
      const tls = cf?.tlsClientAuth as IncomingRequestCfPropertiesTLSClientAuth | undefined;
      if (tls?.certPresented !== "1" || tls.certVerified !== "SUCCESS" || tls.certRevoked !== "0") {
        return undefined;
      }
      const proof =
        by === "subject" ? tls.certSubjectDNRFC2253 : fingerprint(tls.certFingerprintSHA256);
      const issuer = by === "subject" ? { issuer: tls.certIssuerDNRFC2253 } : {};
      if (!proof) return undefined;
      if (!known) return { scheme, ...issuer, subject: proof, scopes: [] };
      const client = known.find((each) => each.proof === proof);
      return client && { scheme, ...issuer, subject: client.name, scopes: client.scopes };
    },
  };
}

function knownClients(clients: NamedCallers, by: "fingerprint" | "subject"): NamedCaller[] {
  const known = namedCallers(clients) ?? [];
  if (by === "subject") return known;
  return known.map(({ name, proof, scopes }) => {
    if (!/^([0-9a-f]{2}:?){32}$/i.test(proof)) {
      throw new Error(`mtls: clients.${name}: must be a SHA-256 fingerprint in hex`);
    }
    return { name, proof: fingerprint(proof), scopes };
  });
}

/** Tools write fingerprints in upper case with colons, Cloudflare in lower case without. */
function fingerprint(text: string): string {
  return text.replaceAll(":", "").toLowerCase();
}
