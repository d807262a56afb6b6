/** Keys and cards for the tests of signatures. */
import { exportJWK, exportPKCS8, generateKeyPair, type JWK } from "jose";
import type { AgentCard } from "../../src/protocol/card.ts";
import type { SignatureAlgorithm } from "../../src/signature/algorithm.ts";

export interface TestKey {
  kid: string;
  alg: SignatureAlgorithm;
  privateKey: CryptoKey;
  /** The private key as it may be in a secret. */
  jwk: string;
  pem: string;
  /** The public key, as a verifier has it. */
  publicJwk: JWK;
}

export async function makeKey(kid: string, alg: SignatureAlgorithm): Promise<TestKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return {
    kid,
    alg,
    privateKey,
    jwk: JSON.stringify(await exportJWK(privateKey)),
    pem: await exportPKCS8(privateKey),
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
  };
}

/** With members of every presence that are set to their defaults, as a definition with keys makes them (C-13). */
export const CARD: AgentCard = {
  name: "Grüße 😀",
  description: "Greets",
  supportedInterfaces: [
    { url: "https://agents.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
  ],
  version: "1.0.0",
  capabilities: {
    streaming: false,
    pushNotifications: false,
    extensions: [{ uri: "https://example.com/e", required: false, params: { n: [1e21, 0.1, -0] } }],
    extendedAgentCard: false,
  },
  securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } } },
  securityRequirements: [{ schemes: { key: { list: [] } } }],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "s", name: "S", description: "The skill", tags: ["t"], examples: [] }],
};
