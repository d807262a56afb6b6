type AlarmClock = Pick<DurableObjectStorage, "setAlarm">;

/** An alarm that fires less than this too early is not worth the row that would set it later. */
const NEAR_MS = 60_000;

/**
 * Owns the one alarm of an object. Its parts say when they must be woken; the alarm is set for the nearest
 * time. What is due is not stored: each part knows it again from the log when the object wakes.
 *
 * A set alarm costs a written row, so one that fires too early is left as it is, and set anew when it fires; but
 * `settle` moves it when an object is left alone that should not be woken in vain.
 */
export class Alarms {
  readonly #storage: AlarmClock;
  readonly #due = new Map<string, number>();
  /** Time of the alarm that is set, as far as it is known. */
  #armed = Number.POSITIVE_INFINITY;

  constructor(storage: AlarmClock) {
    this.#storage = storage;
  }

  /** Wakes the object at `time` (ms) for `part`, or no longer. */
  set(part: string, time: number | undefined): void {
    if (time === undefined) this.#due.delete(part);
    else this.#due.set(part, time);
    if (this.#nearest < this.#armed) this.#arm();
  }

  /** Moves an alarm that would wake the object long before anything is due. */
  settle(): void {
    if (this.#nearest > this.#armed + NEAR_MS && Number.isFinite(this.#nearest)) this.#arm();
  }

  /** Nothing is due any more. */
  clear(): void {
    this.#due.clear();
  }

  /** The alarm went off: it is gone until something is set again. */
  fired(): void {
    this.#armed = Number.POSITIVE_INFINITY;
  }

  get #nearest(): number {
    return Math.min(...this.#due.values());
  }

  #arm(): void {
    this.#armed = this.#nearest;
    void this.#storage.setAlarm(this.#armed);
  }
}
