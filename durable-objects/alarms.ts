type AlarmClock = Pick<DurableObjectStorage, "setAlarm" | "deleteAlarm">;

/**
 * Owns the one alarm of an object. Its parts say when they must be woken; the alarm is set for the nearest
 * time. What is due is not stored: each part knows it again from the log when the object wakes.
 *
 * A set alarm costs a written row, so one that fires too early is left as it is, and set anew when it fires.
 */
export class Alarms {
  readonly #storage: AlarmClock;
  readonly #due = new Map<string, number>();
  /** Time of the alarm that is set; undefined when not known, after waking. */
  #armed: number | null | undefined;

  #clearing: ReturnType<typeof setTimeout> | undefined;

  constructor(storage: AlarmClock) {
    this.#storage = storage;
  }

  /** Wakes the object at `time` (ms) for `part`, or no longer. */
  set(part: string, time: number | undefined): void {
    if (time === undefined) this.#due.delete(part);
    else this.#due.set(part, time);
    const nearest = Math.min(...this.#due.values());
    if (nearest === Number.POSITIVE_INFINITY) {
      // Later: the answer that is ready now would wait for the write.
      this.#clearing ??= setTimeout(() => this.#clear(), 0);
    } else if (typeof this.#armed !== "number" || this.#armed > nearest) {
      this.#armed = nearest;
      void this.#storage.setAlarm(nearest);
    }
  }

  /** The alarm went off: it is gone until something is set again. */
  fired(): void {
    this.#armed = null;
  }

  #clear(): void {
    this.#clearing = undefined;
    if (this.#due.size > 0) return;
    if (typeof this.#armed === "number") void this.#storage.deleteAlarm();
    this.#armed = null;
  }
}
