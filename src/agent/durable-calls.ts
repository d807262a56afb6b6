/**
 * The calls of a turn that outlive its run: each is remembered under its kind, name and occurrence. In a later run of
 * the turn a call that has ended gives what it gave, and one that had not goes on.
 */
import type { A2AError } from "../protocol/errors.ts";
import type { Message } from "../protocol/message.ts";
import type { DurableCall, StatusEvent } from "../task/event.ts";
import type { Outcome } from "../task/journal.ts";
import { isSameCall } from "../task/progress.ts";
import { loggedTaskId } from "./audit.ts";
import { type Duration, readDuration } from "./duration.ts";
import { fromStoredError, misuse, toJson, toStoredError } from "./remembered.ts";
import { backoffOf, runStep, type StepOptions, type StepWork } from "./step.ts";
import { currentStep } from "./step-scope.ts";
import type { TurnPort } from "./turn-port.ts";

const MAX_NAME_LENGTH = 256;

/** What `turn.authorize` gives: a value that came by `resumeTask`, or the client's next message. */
export type Authorization = { via: "resume"; value: unknown } | { via: "message"; message: Message };

export class DurableCalls {
  readonly #port: TurnPort;
  readonly #signal: AbortSignal;
  readonly #maxBytes: number;
  readonly #counts = new Map<string, number>();
  readonly #inFlight = new Set<string>();
  #misused: A2AError | undefined;

  /** `maxBytes`: the longest result of a step, in JSON. */
  constructor(port: TurnPort, signal: AbortSignal, maxBytes: number) {
    this.#port = port;
    this.#signal = signal;
    this.#maxBytes = maxBytes;
  }

  step<T>(name: string, fn: StepWork<T>, options: StepOptions): Promise<T> {
    return this.#call("step", name, async (call) => {
      const known = this.#port.journal.outcome(call);
      if (known) return fromOutcome(known) as T;
      return this.#try(call, fn, options);
    });
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#call("sleep", name, async (call) => {
      const known = this.#port.journal.wait(call);
      const until =
        known?.until ?? Date.now() + readDuration(duration, `turn.sleep("${name}"): duration`);
      if (!known) this.#wait(call, until);
      await this.#port.waits.until(until);
    });
  }

  /** Puts a question to the client, as `status`, and gives what ends it. */
  question(
    kind: "ask" | "authorize",
    name: string,
    status: () => StatusEvent,
    timeout: Duration | undefined,
  ): Promise<Outcome> {
    return this.#call(kind, name, async (call) => {
      const known = this.#port.journal.outcome(call);
      if (known) return checked(known);
      const open = this.#port.record().turn?.asked;
      const others = [...this.#inFlight].some(
        (key) => /^(ask|authorize) /.test(key) && key !== `${kind} ${name}`,
      );
      if (others) this.#refuse(`turn.${kind}("${name}"): one question is open already; ask one by one`);
      if (!open || !isSameCall(open.call, call)) {
        const ms = timeout && readDuration(timeout, `turn.${kind}("${name}"): timeout`);
        const beside = this.#port.waits.ends;
        const asks = { call, beside, ...(ms !== undefined && { until: Date.now() + ms }) };
        this.#port.append([{ ...status(), asks }]);
      }
      return checked(await this.#port.waits.answer());
    });
  }

  /** Runs `work` once and remembers that it was done; `again` gives what it left. */
  once<T>(name: string, work: () => Promise<T>, again: () => T): Promise<T> {
    return this.#call("stream", name, async (call) => {
      if (this.#port.journal.outcome(call)) return again();
      const value = await this.#port.waits.busy(work);
      this.#port.append([{ kind: "outcome", call }]);
      return value;
    });
  }

  /** Refuses what may not be done within the `fn` of a step: a later run would not do it again. */
  outsideSteps(what: string): void {
    const step = currentStep();
    if (step === undefined) return;
    this.#refuse(`${what} within the step "${step}"; do it before or after the step`);
  }

  /** Throws what the agent did wrong, also when its own code has caught that. */
  check(): void {
    if (this.#misused) throw this.#misused;
  }

  async #try<T>(call: DurableCall, fn: StepWork<T>, options: StepOptions): Promise<T> {
    const { name } = call;
    const { retries = 2, backoff: { factor = 2 } = {} } = options;
    if (!(retries >= 0)) this.#refuse(`turn.step("${name}"): retries is a number from 0 on`);
    if (!(factor >= 1)) this.#refuse(`turn.step("${name}"): backoff.factor is a number from 1 on`);
    const before = this.#port.journal.wait(call);
    let tries = before?.tries ?? 0;
    if (before) await this.#port.waits.until(before.until);
    for (;;) {
      tries += 1;
      const done = await this.#port.waits.busy(() =>
        runStep(name, fn, options, { signal: this.#signal, attempt: tries }),
      );
      // What was canceled in the meantime is not remembered.
      this.#signal.throwIfAborted();
      // Wrong code is not tried again.
      this.check();
      if ("value" in done) return this.#remember(call, done.value);
      if (done.final || tries > retries) {
        const error = toStoredError(done.error);
        this.#port.append([{ kind: "outcome", call, error }]);
        throw fromStoredError(error, done.error);
      }
      const until = Date.now() + backoffOf(tries, options);
      console.warn(
        `task ${loggedTaskId(this.#port.record().task.id, false)}: try ${tries} of step "${name}" failed`,
        done.error,
      );
      this.#wait(call, until, tries);
      await this.#port.waits.until(until);
    }
  }

  /** The value as later runs will get it. */
  #remember<T>(call: DurableCall, result: T): T {
    const json = toJson(result, `turn.step("${call.name}")`, this.#maxBytes, (problem) =>
      this.#refuse(problem),
    );
    const value = json === undefined ? undefined : JSON.parse(json);
    this.#port.append([{ kind: "outcome", call, ...(value !== undefined && { value }) }]);
    return value as T;
  }

  #wait(call: DurableCall, until: number, tries?: number): void {
    const beside = this.#port.waits.ends;
    this.#port.append([
      {
        kind: "wait",
        call,
        until,
        ...(tries !== undefined && { tries }),
        ...(beside.length > 0 && { beside }),
      },
    ]);
  }

  #call<T>(
    kind: DurableCall["kind"],
    name: string,
    work: (call: DurableCall) => Promise<T>,
  ): Promise<T> {
    const promise = this.#run(kind, name, work);
    // Who races calls leaves some alone; what becomes of those is nobody's concern.
    promise.catch(() => {});
    return promise;
  }

  async #run<T>(
    kind: DurableCall["kind"],
    name: string,
    work: (call: DurableCall) => Promise<T>,
  ): Promise<T> {
    this.check();
    this.#signal.throwIfAborted();
    const what = `turn.${kind}("${name}")`;
    if (typeof name !== "string" || name === "" || name.length > MAX_NAME_LENGTH) {
      this.#refuse(`${what}: the name must be a string of 1 to ${MAX_NAME_LENGTH} characters`);
    }
    this.outsideSteps(`${what} was called`);
    const key = `${kind} ${name}`;
    if (this.#inFlight.has(key)) {
      this.#refuse(
        `${what} is in flight already; give each of the calls that run at once its own name`,
      );
    }
    const nth = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, nth);
    const call = { kind, name, nth };
    const other = this.#port.journal.otherKind(call);
    if (other) {
      this.#refuse(
        `${what}: "${name}" was turn.${other} when this turn ran before; give the changed call a new name`,
      );
    }
    this.#inFlight.add(key);
    try {
      return await work(call);
    } finally {
      this.#inFlight.delete(key);
    }
  }

  #refuse(problem: string): never {
    this.#misused ??= misuse(problem);
    throw this.#misused;
  }
}

function checked(outcome: Outcome): Outcome {
  fromOutcome(outcome);
  return outcome;
}

/** The value of an outcome, or its error thrown. */
function fromOutcome(outcome: Outcome): unknown {
  if (!("error" in outcome) || !outcome.error) return "value" in outcome ? outcome.value : undefined;
  throw fromStoredError(outcome.error);
}
