/** Callers by name, each with what proves to be that caller: how secrets and lists of certificates are written. */
import * as z from "zod";
import { scopeNames } from "../../agent/scopes.ts";

export interface NamedCaller {
  readonly name: string;
  readonly proof: string;
  readonly scopes: readonly string[];
}

/** One caller of the list, or all that a caller is given: proofs alone, or with scopes. */
const Entry = z.union([
  z.string(),
  z.array(z.string()),
  z.strictObject({ hash: z.union([z.string(), z.array(z.string())]), scopes: scopeNames.default([]) }),
]);
const Callers = z.record(z.string().min(1), Entry);

export type NamedCallers = z.input<typeof Callers>;

/** `{"alice":"<proof>","bob":{"hash":["<proof>"],"scopes":["write"]}}` as a list; undefined when it is none. */
export function namedCallers(value: unknown): NamedCaller[] | undefined {
  const callers = Callers.safeParse(value);
  if (!callers.success) return undefined;
  return Object.entries(callers.data).flatMap(([name, entry]) => {
    const { hash, scopes } =
      typeof entry === "string" || Array.isArray(entry) ? { hash: entry, scopes: [] } : entry;
    return [hash].flat().map((proof) => ({ name, proof, scopes }));
  });
}

/**
 * The callers in the secret of that name. Throws what is wrong with it and how it is written: a secret that cannot be
 * read lets nobody in. Never shows what is in the secret.
 */
export function callersInSecret(
  env: unknown,
  secret: string,
  { isProof, example }: { isProof: (text: string) => boolean; example: string },
): NamedCaller[] {
  const how = `Set the secret ${secret} to JSON such as {"alice":"${example}"}`;
  const text = (env as Record<string, unknown>)[secret];
  if (typeof text !== "string")
    throw new Error(`Missing secret. ${how}: wrangler secret put ${secret}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`The secret ${secret} is not JSON. ${how}`);
  }
  const callers = namedCallers(value);
  if (!callers) throw new Error(`The secret ${secret} does not name callers. ${how}`);
  const broken = callers.find(({ proof }) => !isProof(proof));
  if (broken)
    throw new Error(`The secret ${secret} has a hash for "${broken.name}" that is none. ${how}`);
  return callers;
}

/** Whether the bytes are equal, in a time that does not tell where they differ. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && crypto.subtle.timingSafeEqual(a, b);
}
