import type { AuthScheme } from "../../agent/auth-scheme.ts";

/**
 * Anyone may call, without a name. All callers are one owner then, so tasks are not listed: who does not know a
 * task's id cannot see it. `list: true` lists them all to everybody, which is meant for development.
 */
export function open({ list = false }: { list?: boolean } = {}): AuthScheme {
  return {
    schemes: {},
    requirements: [],
    headers: [],
    listsTasks: list,
    challenges: () => [],
    authenticate: async () => ({ scheme: "open", subject: "", scopes: [] }),
  };
}
