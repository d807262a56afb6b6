/** What the turn in memory waits for, and whether its object must stay in memory for it. */
import type { Waiting } from "../src/agent/turn-port.ts";
import type { Outcome } from "../src/task/journal.ts";

/** A shorter wait is not worth putting the object away: the platform keeps an idle one about as long. */
export const SHORT_MS = 10_000;

interface Sleeper {
  readonly end: number;
  readonly wake: () => void;
}

export class Waits implements Waiting {
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;
  readonly #sleepers = new Set<Sleeper>();
  #answer: ((outcome: Outcome) => void) | undefined;
  #busy = 0;
  /** Whether the code of the turn stands still, as far as can be told: nothing has ended since it began to wait. */
  #still = false;

  /** `onChange` is called when `parked` or `ends` may have changed. */
  constructor(signal: AbortSignal, onChange: () => void) {
    this.#signal = signal;
    this.#onChange = onChange;
  }

  async busy<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    this.#move(false);
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      this.#move(false);
    }
  }

  async until(end: number): Promise<void> {
    const ms = end - Date.now();
    if (ms <= 0) return;
    if (ms < SHORT_MS) return this.busy(() => this.#timer(ms));
    let sleeper: Sleeper | undefined;
    try {
      await this.#pending<void>((wake) => {
        sleeper = { end, wake };
        this.#sleepers.add(sleeper);
        this.#move(true);
      });
    } finally {
      if (sleeper) this.#sleepers.delete(sleeper);
      this.#move(false);
    }
  }

  async answer(): Promise<Outcome> {
    try {
      return await this.#pending<Outcome>((give) => {
        this.#answer = give;
        this.#move(true);
      });
    } finally {
      this.#answer = undefined;
      this.#move(false);
    }
  }

  get ends(): number[] {
    return [...this.#sleepers].map(({ end }) => end);
  }

  /** Whether the object may be put away until something comes. */
  get parked(): boolean {
    return this.#still && this.#busy === 0 && (this.#sleepers.size > 0 || this.#answer !== undefined);
  }

  /** The object has been held for a while, and nothing has moved: code that goes on beside a wait is not held for ever. */
  settle(): void {
    this.#still = this.#busy === 0;
  }

  /** Ends the waits that are over at `now`. */
  wake(now: number): void {
    for (const { end, wake } of this.#sleepers) if (end <= now) wake();
  }

  /** Ends the open question. */
  give(outcome: Outcome): void {
    this.#answer?.(outcome);
  }

  #move(still: boolean): void {
    this.#still = still && this.#busy === 0;
    this.#onChange();
  }

  #timer(ms: number): Promise<void> {
    return this.#pending((resolve) => setTimeout(resolve, ms));
  }

  /** A promise that rejects when the turn is aborted. */
  #pending<T>(begin: (resolve: (value: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#signal.throwIfAborted();
      this.#signal.addEventListener("abort", () => reject(this.#signal.reason), { once: true });
      begin(resolve);
    });
  }
}
