/** The bytes that a card's signatures are over: RFC 8785 of the members that count (§8.4.1). */
import canonicalize from "canonicalize";
import { isStruct } from "../protocol/struct.ts";
import { signedMembers } from "./card-members.ts";

/**
 * The canonical texts of a card, of which a signature covers one: that of §8.4.1 first. A second one where the official
 * SDKs differ: for JavaScript and Python they leave out all that is empty, REQUIRED or not, such as the requirement of a
 * scheme without scopes (a2a-js issue 627). Throws an error that names the member when it is no card.
 */
export function canonicalTexts(card: unknown): string[] {
  const members = signedMembers(card);
  return [...new Set([canonicalText(members), canonicalText(withoutEmpties(members) ?? {})])];
}

function canonicalText(members: unknown): string {
  const text = canonicalize(members);
  if (text === undefined) throw new TypeError("card must be an object");
  return text;
}

function withoutEmpties(value: unknown): unknown {
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpties).filter((element) => element !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (isStruct(value)) {
    const kept = Object.entries(value)
      .map(([key, member]) => [key, withoutEmpties(member)] as const)
      .filter(([, member]) => member !== undefined);
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
  }
  return value === "" || value === null ? undefined : value;
}
