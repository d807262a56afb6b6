/** Which notifications have come. */

/** Where that is remembered. Give one that all your instances share, such as a table with a unique key. */
export interface SeenStore {
  /** Remembers the id until the time (ms) or longer, in one step; false when it was there already. */
  add(id: string, until: number): boolean | Promise<boolean>;
  /** Forgets it. */
  delete(id: string): void | Promise<void>;
}

/** Most ids that are remembered; the oldest go first. */
const MOST = 10_000;

/** In the memory of this process. */
export class MemorySeen implements SeenStore {
  readonly #until = new Map<string, number>();

  add(id: string, until: number): boolean {
    if ((this.#until.get(id) ?? 0) > Date.now()) return false;
    // Behind all others.
    this.#until.delete(id);
    this.#until.set(id, until);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST && oldest !== undefined) this.#until.delete(oldest);
    return true;
  }

  delete(id: string): void {
    this.#until.delete(id);
  }
}
