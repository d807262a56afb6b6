/**
 * Knows the step whose `fn` makes a call. Where the runtime has async contexts (Node.js compatibility, the default) it
 * knows at any time; elsewhere until the first `await` of the `fn`.
 */
interface AsyncContext<T> {
  run<R>(value: T, work: () => R): R;
  getStore(): T | undefined;
}

type Modules = { AsyncLocalStorage: new <T>() => AsyncContext<T> } | undefined;
type Process = { getBuiltinModule?: (name: string) => Modules } | undefined;

const { process } = globalThis as { process?: Process };
const modules = process?.getBuiltinModule?.("node:async_hooks");
const scope: AsyncContext<string> = modules ? new modules.AsyncLocalStorage() : synchronousContext();

/** Runs the `fn` of the step `name`. */
export function insideStep<R>(name: string, fn: () => R): R {
  return scope.run(name, fn);
}

/** Name of the step whose `fn` is running, when this is called from there. */
export function currentStep(): string | undefined {
  return scope.getStore();
}

function synchronousContext(): AsyncContext<string> {
  let current: string | undefined;
  return {
    run(value, work) {
      const outer = current;
      current = value;
      try {
        return work();
      } finally {
        current = outer;
      }
    },
    getStore: () => current,
  };
}
