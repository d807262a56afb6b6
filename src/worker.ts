/** The Worker of one or more agents: the one file that knows both the edge and the objects. */
import type { Agent } from "./agent/define-agent.ts";
import { byId } from "./agent/define-agent.ts";
import { type PortsOf, workerApp } from "./edge/app.ts";
import {
  type Bindings,
  checkBindings,
  checkPush,
  missingNeeds,
  rateLimiter,
  taskDirectory,
  taskIndex,
} from "./env.ts";
import { withNeeds } from "./needs.ts";
import { consume } from "./push/consumer.ts";
import { pushKeys } from "./push/sign.ts";

const portsOf: PortsOf = (agent, path, request, env) => {
  const bindings = checkBindings(env);
  checkPush(bindings, agent, () => publicUrl(bindings, request));
  warnOnce(bindings, agent);
  return {
    agent,
    env,
    // Asked for by the card alone.
    get url() {
      return publicUrl(bindings, request) + path;
    },
    get address() {
      // Set by Cloudflare; what a client sends under this name does not arrive.
      return request.headers.get("CF-Connecting-IP") ?? "";
    },
    signed: async (card) => agent.definition.signing?.sign(card, env) ?? card,
    publicKeys: async () => pushKeys(env)?.published() ?? { keys: [] },
    tasks: taskDirectory(bindings),
    index: (owner) => taskIndex(bindings, owner),
    limiter: (binding) => rateLimiter(bindings, binding),
  };
};

/** The agents whose warnings were given, by environment. */
const warned = new WeakMap<Bindings, Set<Agent>>();

/** Says what the environment lacks. A signing key that cannot be used stops the agent, every time. */
function warnOnce(bindings: Bindings, agent: Agent): void {
  const before = warned.get(bindings) ?? new Set();
  if (before.has(agent)) return;
  const unsigned = agent.push && !pushKeys(bindings);
  for (const warning of missingNeeds(bindings, agent)) console.warn(warning);
  if (unsigned) {
    console.warn(
      "Webhooks are not signed: set the secret PUSH_SIGNING_KEY (docs/webhooks-receiving.md)",
    );
  }
  warned.set(bindings, before.add(agent));
}

/** Where the Worker is reached, without a trailing slash. Forwarded headers are not trusted: anyone can send them. */
function publicUrl({ PUBLIC_URL }: Bindings, request: Request): string {
  return (PUBLIC_URL || new URL(request.url).origin).replace(/\/+$/, "");
}

/**
 * The Worker that serves the agents: each under `/agents/<id>`, the first also at the root. Behind a PUBLIC_URL with
 * a path, requests are served with that path and without it (a proxy may have taken it off).
 *
 * @example
 * export default worker(agent);
 */
export function worker(...agents: [Agent, ...Agent[]]): {
  fetch(request: Request, env: unknown, context: ExecutionContext): Promise<Response>;
  queue(batch: MessageBatch<unknown>, env: unknown, context: ExecutionContext): Promise<void>;
} {
  const known = byId(agents);
  const app = workerApp(agents, portsOf);
  const handlers: ReturnType<typeof worker> = {
    async fetch(request, env, context) {
      return app.fetch(withoutPublicPath(request, env as Partial<Bindings>), env as object, context);
    },
    async queue(batch, env, context) {
      const tasks = taskDirectory(checkBindings(env));
      const rules = (agentId: string) => known.get(agentId)?.push;
      await consume(batch, { tasks, rules, sign: async (what) => pushKeys(env)?.sign(what) }, context);
    },
  };
  return withNeeds(handlers, agents);
}

function withoutPublicPath(request: Request, { PUBLIC_URL }: Partial<Bindings>): Request {
  // Parsing URLs is a good part of what a request costs here; most Workers have no path to take off.
  if (!PUBLIC_URL) return request;
  const path = URL.parse(PUBLIC_URL)?.pathname.replace(/\/+$/, "") ?? "";
  if (path === "") return request;
  const url = new URL(request.url);
  if (!(url.pathname === path || url.pathname.startsWith(`${path}/`))) return request;
  url.pathname = url.pathname.slice(path.length);
  return new Request(url, request);
}
