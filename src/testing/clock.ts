/** Moves the time that the Worker and its objects see. They share this isolate with the tests. */
import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";

const RealDate = Date;
/** How far the clock is ahead (ms). */
let ahead = 0;

class MovedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(MovedDate.now());
    else super(...(given as [string]));
  }

  static override now(): number {
    return RealDate.now() + ahead;
  }
}

/** Sets the clock right again. */
export function resetClock(): void {
  ahead = 0;
  globalThis.Date = RealDate;
}

/**
 * Lets `ms` pass. The alarms that become due meanwhile go off in the order of their times, each at its time, and those
 * that they set in turn.
 */
export async function advance(
  namespaces: readonly DurableObjectNamespace[],
  ms: number,
): Promise<void> {
  globalThis.Date = MovedDate as DateConstructor;
  const end = Date.now() + ms;
  for (;;) {
    const next = await nextAlarm(namespaces);
    if (!next || next.time > end) break;
    ahead += Math.max(0, next.time - Date.now());
    await runDurableObjectAlarm(next.stub);
  }
  ahead += Math.max(0, end - Date.now());
}

interface Alarm {
  time: number;
  stub: DurableObjectStub;
}

async function nextAlarm(namespaces: readonly DurableObjectNamespace[]): Promise<Alarm | undefined> {
  let next: Alarm | undefined;
  for (const namespace of namespaces) {
    for (const id of await listDurableObjectIds(namespace)) {
      const stub = namespace.get(id);
      const time = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
      if (time !== null && time < (next?.time ?? Number.POSITIVE_INFINITY)) next = { time, stub };
    }
  }
  return next;
}
