/** Whose a task is, as one text: two callers have the same only when they are the same (§13.1). */
import { expect, test } from "vitest";
import { type Caller, ownerOf } from "../../src/protocol/caller.ts";

const alice: Caller = {
  scheme: "oidc",
  issuer: "https://login.test",
  principal: "alice",
  scopes: [],
  tenant: "acme",
  extensions: [],
  requestId: "r",
};
const { issuer: _, ...unvouched } = alice;

test("agent, tenant, scheme, issuer and subject each make another owner", () => {
  const owners = [
    ownerOf("agent", alice),
    ownerOf("other", alice),
    ownerOf("agent", { ...alice, tenant: "" }),
    ownerOf("agent", { ...alice, tenant: "globex" }),
    ownerOf("agent", { ...alice, scheme: "bearer" }),
    ownerOf("agent", { ...alice, issuer: "https://login.test/" }),
    ownerOf("agent", { ...alice, issuer: "" }),
    ownerOf("agent", unvouched),
    ownerOf("agent", { ...alice, principal: "bob" }),
    ownerOf("agent", { ...alice, principal: "" }),
    // What one part ends with is not what the next begins with.
    ownerOf("agent", { ...alice, tenant: 'acme","oidc' }),
    ownerOf("agent", { ...alice, issuer: "https://login.test alice", principal: "" }),
  ];
  expect(new Set(owners).size).toBe(owners.length);
});

test("scopes, claims, request and trace are not part of who owns", () => {
  const later = { ...alice, scopes: ["a"], claims: { a: 1 }, requestId: "s", traceId: "t" };
  expect(ownerOf("agent", later)).toBe(ownerOf("agent", alice));
});
