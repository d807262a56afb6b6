/** Signing agent cards (§8.4.2). A value in the definition, so that only agents that sign carry this code. */
import { FlattenedSign } from "jose";
import type { AgentCard } from "../protocol/card.ts";
import { isSignatureAlgorithm, SIGNATURE_ALGORITHMS, type SignatureAlgorithm } from "./algorithm.ts";
import { canonicalTexts } from "./canonical.ts";
import { isKeySetUrl } from "./key-set.ts";
import { readPrivateKey } from "./private-key.ts";

/** A key that cards are signed with. */
export interface CardKey {
  /** Names the key to those who verify. A new key takes a new `kid`: clients keep cards, and keys, by it. */
  kid: string;
  alg: SignatureAlgorithm;
  /** Name of the secret (a binding) with the private key, as a JWK in JSON or a PEM in PKCS #8. */
  secret: string;
  /** Where the public key is, in a JWK set: an `https:` URL. Verifiers follow it only where they trust it. */
  jku?: string;
}

/** How an agent's cards are signed; `signWith` makes one. */
export interface CardSigning {
  /** Names of the secrets (bindings) that it reads; without one of them no card is served. */
  readonly secrets?: readonly string[];
  /** The card with its signatures. Throws an error that names the secret when one of the keys cannot be used. */
  sign(card: AgentCard, env: unknown): Promise<AgentCard>;
}

type Signature = NonNullable<AgentCard["signatures"]>[number];

/** Most cards whose signatures are remembered, for each environment. */
const MOST_REMEMBERED = 100;

/**
 * Signs the public and the extended cards, with each of the keys: two keys for a while let verifiers change from one to
 * the other (§8.4). A key that is missing or wrong is an error whenever a card is asked for; none goes out unsigned.
 * Throws when a key is described wrongly.
 *
 * A card that the official SDKs read otherwise than §8.4.1 is signed in both readings, twice with each key.
 *
 * @example
 * defineAgent({ …, signing: signWith({ kid: "2026-11", alg: "ES256", secret: "CARD_KEY" }) })
 */
export function signWith(...keys: [CardKey, ...CardKey[]]): CardSigning {
  if (keys.length === 0) throw new Error("signWith: name a key");
  for (const key of keys) check(key);
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) {
    throw new Error("signWith: two keys have the same `kid`");
  }
  // ES256 signs the same card differently each time; one that is remembered is the same to all who ask this isolate.
  const remembered = new WeakMap<object, Map<string, Signature[]>>();
  return {
    secrets: keys.map(({ secret }) => secret),
    async sign(card, env) {
      // As the client will read it: a definition may hold what JSON writes otherwise.
      const sent = JSON.parse(JSON.stringify(card)) as AgentCard;
      const texts = canonicalTexts(sent);
      const [text = ""] = texts;
      const known = remembered.get(env as object) ?? new Map<string, Signature[]>();
      remembered.set(env as object, known);
      let signatures = known.get(text);
      if (!signatures) {
        // The promise is not kept: one that began in a request that was canceled may never settle.
        signatures = await signAll(keys, texts, env);
        if (known.size >= MOST_REMEMBERED) known.clear();
        known.set(text, signatures);
      }
      return { ...sent, signatures };
    },
  };
}

function check({ kid, alg, secret, jku }: CardKey): void {
  if (!kid) throw new Error("signWith: a key needs a `kid`");
  if (!isSignatureAlgorithm(alg)) {
    throw new Error(
      `signWith: the \`alg\` of "${kid}" must be one of ${SIGNATURE_ALGORITHMS.join(", ")}`,
    );
  }
  if (!secret) throw new Error(`signWith: "${kid}" needs the name of a \`secret\``);
  if (jku !== undefined && !isKeySetUrl(jku)) {
    throw new Error(`signWith: the \`jku\` of "${kid}" must be an https URL`);
  }
}

/** In the order of the texts, so that a verifier meets the reading of §8.4.1 first. */
async function signAll(keys: CardKey[], texts: string[], env: unknown): Promise<Signature[]> {
  const signers = await Promise.all(
    keys.map(async (key) => ({ ...key, privateKey: await readPrivateKey(key, env) })),
  );
  return Promise.all(
    texts.flatMap((text) =>
      signers.map(async ({ kid, alg, jku, privateKey }): Promise<Signature> => {
        const jws = await new FlattenedSign(new TextEncoder().encode(text))
          .setProtectedHeader({ alg, typ: "JOSE", kid, ...(jku && { jku }) })
          .sign(privateKey);
        return { protected: jws.protected ?? "", signature: jws.signature };
      }),
    ),
  );
}
