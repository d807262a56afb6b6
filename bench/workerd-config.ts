/** The configuration of `workerd` for each worker of the benchmark, in Cap'n Proto's text form. */
import type { WorkerName } from "./bundle.ts";

const COMPATIBILITY_DATE = "2026-11-02";

/** The object classes of each worker, by binding. */
const OBJECTS: Record<WorkerName, Record<string, string>> = {
  agent: { TASK_OBJECT: "TaskObject", TASK_INDEX: "TaskIndex" },
  floors: { FLOOR: "Floor", INDEX: "Index" },
  sdk: {},
};

/** The text of the config; modules are embedded from the folder it lies in. */
export function workerdConfig(
  worker: WorkerName,
  { storage, port }: { storage: string; port: number },
): string {
  const objects = Object.entries(OBJECTS[worker]);
  const bindings = objects.map(([name, className]) =>
    struct({ name: text(name), durableObjectNamespace: text(className) }),
  );
  const services = [
    service("main", "main"),
    `(name = "disk", disk = (path = ${text(storage)}, writable = true))`,
  ];
  if (worker === "sdk") {
    services.push(service("d1", "d1"));
    bindings.push(`(name = "DB", wrapped = (moduleName = "cloudflare-internal:d1-api",
      innerBindings = [(name = "fetcher", service = "d1")]))`);
  }
  const main = struct({
    modules: `[(name = "main.js", esModule = embed "main.js")]`,
    compatibilityDate: text(COMPATIBILITY_DATE),
    // The SDK's dependencies may use Node's APIs; ours must not.
    compatibilityFlags: `[${text(worker === "sdk" ? "nodejs_compat" : "no_nodejs_compat")}]`,
    bindings: list(bindings),
    ...(objects.length > 0 && namespaces(objects.map(([, className]) => className))),
  });
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = ${list(services)},
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = ${main};
${worker === "sdk" ? `const d1 :Workerd.Worker = ${d1Worker()};` : ""}
`;
}

/** A local D1 database as Miniflare has it, and so `wrangler dev`: one object, reached through its entry. */
function d1Worker(): string {
  return struct({
    modules: `[(name = "d1.js", esModule = embed "d1.js")]`,
    compatibilityDate: text("2023-07-24"),
    compatibilityFlags: list(
      ["nodejs_compat", "experimental", "enhanced_error_serialization"].map(text),
    ),
    bindings: list([
      `(name = "MINIFLARE_NAMESPACE", text = "bench")`,
      `(name = "MINIFLARE_OBJECT", durableObjectNamespace = "D1DatabaseObject")`,
      `(name = "MINIFLARE_BLOBS", service = "disk")`,
    ]),
    ...namespaces(["D1DatabaseObject"]),
  });
}

function namespaces(classNames: string[]): Record<string, string> {
  return {
    durableObjectNamespaces: list(
      classNames.map(
        (name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`,
      ),
    ),
    durableObjectStorage: `(localDisk = "disk")`,
  };
}

function service(name: string, constant: string): string {
  return `(name = ${text(name)}, worker = .${constant})`;
}

function struct(fields: Record<string, string>): string {
  return `(${Object.entries(fields)
    .map(([name, value]) => `${name} = ${value}`)
    .join(", ")})`;
}

function list(values: string[]): string {
  return `[${values.join(", ")}]`;
}

function text(value: string): string {
  return JSON.stringify(value);
}
