/** The way of a request through the Worker, in order. */
import { Hono } from "hono";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import type { Agent } from "../agent/define-agent.ts";
import { type Exchange, type ExchangeEnv, toA2AError } from "../bindings/exchange.ts";
import { jsonRpcError, serveJsonRpc } from "../bindings/jsonrpc.ts";
import { methodNotAllowed, restError, restRoutes } from "../bindings/rest.ts";
import type { Ports } from "../operations/ports.ts";
import { A2AError } from "../protocol/errors.ts";
import { EXTENSIONS_HEADER, PROTOCOL_VERSION, VERSION_HEADER } from "../protocol/version.ts";
import { authenticate } from "./authenticate.ts";
import { serveCard } from "./card-route.ts";
import { catalogue } from "./catalogue.ts";
import { serveKeys } from "./jwks.ts";
import { refusalHeaders } from "./refusal-headers.ts";

/** What reaches the agent's objects; `path` is where the agent hangs below the Worker's URL. */
export type PortsOf = (agent: Agent, path: string, request: Request, env: object) => Ports;

/** All agents of a Worker: each below `/agents/<id>`, the first also at the root. */
export function workerApp(agents: readonly [Agent, ...Agent[]], portsOf: PortsOf): Hono<ExchangeEnv> {
  // Not strict: JSON-RPC answers with and without a trailing slash.
  const app = new Hono<ExchangeEnv>({ strict: false });
  const urlOf = (agent: Agent, c: Exchange) => portsOf(agent, agentPath(agent), c.req.raw, c.env).url;
  app.get("/.well-known/agents.json", logLine(""), catalogue(agents, urlOf));
  for (const agent of agents) {
    const path = agentPath(agent);
    app.route(path, agentApp(agent, path, portsOf));
  }
  app.route("/", agentApp(agents[0], "", portsOf));
  // Here, once for all: Hono wraps each handler of an app that has its own.
  app.onError((error, c) => {
    const a2aError = toA2AError(c, error);
    return c.get("facts").binding === "jsonrpc" ? jsonRpcError(a2aError, null) : restError(c, a2aError);
  });
  return app;
}

/** Where an agent hangs below the Worker's URL. */
function agentPath({ id }: Agent): string {
  return `/agents/${id}`;
}

function agentApp(agent: Agent, path: string, portsOf: PortsOf): Hono<ExchangeEnv> {
  const app = new Hono<ExchangeEnv>({ strict: false });
  app.use(logLine(path));
  app.use(browserAccess(agent));
  app.use(refusalHeaders);
  app.use(async (c, next) => {
    c.set("ports", portsOf(agent, path, c.req.raw, c.env));
    await next();
  });
  app.get("/.well-known/jwks.json", serveKeys);
  app.get("/.well-known/agent-card.json", serveCard);
  if (agent.tenants) app.get("/:tenant/.well-known/agent-card.json", serveCard);
  app.get("/.well-known/agent.json", (c) => c.redirect("agent-card.json", 308));
  app.use(authenticate);
  app.use(protocolHeaders);
  app.post("/", serveJsonRpc);
  app.all("/", (c) => methodNotAllowed(c, "POST", "POST JSON-RPC calls here"));
  app.route("/", restRoutes({ tenants: agent.tenants !== undefined }));
  app.all("*", (c) => restError(c, new A2AError("METHOD_NOT_FOUND", { message: "No such path" })));
  return app;
}

/** One line for each request. Never content, never credentials. */
function logLine(path: string) {
  return createMiddleware<ExchangeEnv>(async (c, next) => {
    const start = Date.now();
    c.set("requestId", crypto.randomUUID());
    const isJsonRpc = c.req.method === "POST" && c.req.path.replace(/\/$/, "") === path;
    c.set("facts", { binding: isJsonRpc ? "jsonrpc" : "rest", operation: "-" });
    await next();
    if (c.req.method !== "OPTIONS") console.log(describe(c, Date.now() - start));
  });
}

function describe(c: Exchange, milliseconds: number): string {
  const { operation, binding, task = "-", state = "-" } = c.get("facts");
  return `${operation} ${binding} task=${task} state=${state} ${c.res.status} ${milliseconds}ms`;
}

/** Which pages of others may call, without cookies; answers are never guessed to be something else than they say. */
function browserAccess(agent: Agent) {
  const allow = cors({
    origin: agent.origins === undefined ? "*" : [...agent.origins],
    allowMethods: ["GET", "POST", "DELETE", "OPTIONS"],
    allowHeaders: [
      "a2a-version",
      "a2a-extensions",
      "authorization",
      "content-type",
      "idempotency-key",
      "last-event-id",
      ...agent.definition.auth.headers.map((name) => name.toLowerCase()),
    ],
    exposeHeaders: ["A2A-Version", "A2A-Extensions", "ETag", "Retry-After", "WWW-Authenticate"],
    maxAge: 86_400,
  });
  return createMiddleware<ExchangeEnv>(async (c, next) => {
    const isPreflight = c.req.method === "OPTIONS";
    if (!isPreflight) await next();
    // Headers are put on the answer that is there: before it is, and with `c.header` after it, Hono makes another.
    const preflight = await allow(c, async () => {});
    (preflight ?? c.res).headers.set("X-Content-Type-Options", "nosniff");
    return preflight;
  });
}

/** Says which version and which extensions were in use (§3.2.6). */
const protocolHeaders = createMiddleware<ExchangeEnv>(async (c, next) => {
  await next();
  const { headers } = c.res;
  headers.set(VERSION_HEADER, PROTOCOL_VERSION);
  // Answers are the caller's own; a stream says so itself.
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  const { extensions } = c.get("caller");
  if (extensions.length > 0) headers.set(EXTENSIONS_HEADER, extensions.join(", "));
});
