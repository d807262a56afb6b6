declare namespace Cloudflare {
  interface GlobalProps {
    mainModule: typeof import("./worker.ts");
    durableNamespaces: "TaskObject" | "TaskIndex";
  }
  interface Env {
    TASK_OBJECT: DurableObjectNamespace;
    TASK_INDEX: DurableObjectNamespace;
    API_KEYS: string;
  }
}
