/** A Worker beside the one of `worker.ts`: other definitions or variables, the same objects behind it. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Agent, worker } from "durable-a2a";

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** How the Worker is called; `vars` are laid over the bindings of the tests. */
export function deploy(agents: [Agent, ...Agent[]], vars: object = {}): Fetch {
  const deployed = worker(...agents);
  // One environment for all requests, as a Worker has it.
  const bindings = { ...env, ...vars };
  return (url, init) => deployed.fetch(new Request(url, init), bindings, createExecutionContext());
}
