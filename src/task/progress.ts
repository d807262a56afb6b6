/** How far the turn in progress has come: what decides whether it waits, and whether it may run again. Pure. */
import type { DurableCall, TaskEvent } from "./event.ts";

export interface TurnProgress {
  /** Runs of this turn, from 1. */
  readonly attempt: number;
  /** Runs begun again since the turn last got anywhere, and when the first of them began. */
  readonly restarts: number;
  readonly stalledSince?: string;
  /** Whether it stood still because it waited: going on is no restart then. */
  readonly waited: boolean;
  /** Ends (ms) of the waits in it; past ones until it runs again. */
  readonly wakes: readonly number[];
  /** The question that is open; `until` (ms) is its time limit. */
  readonly asked?: Question;
  /** It is the clean-up of a task that was canceled. */
  readonly cleanup?: boolean;
}

export interface Question {
  readonly call: DurableCall;
  readonly until?: number;
}

/** A turn that has just begun. */
export const BEGUN: TurnProgress = { attempt: 1, restarts: 0, waited: false, wakes: [] };

/** The turn after an event of its task. Anything that is stored is progress, but that it runs again. */
export function progress(turn: TurnProgress, event: TaskEvent): TurnProgress {
  if (event.kind === "turn-resumed") return resumed(turn, event.time);
  const { stalledSince: _, ...rest } = turn;
  const next = { ...rest, restarts: 0, waited: false };
  if (event.kind === "wait") {
    return { ...next, waited: true, wakes: [...(event.beside ?? []), event.until] };
  }
  if (event.kind === "status" && event.asks) {
    const { call, until, beside = [] } = event.asks;
    return {
      ...next,
      waited: true,
      wakes: beside,
      asked: { call, ...(until !== undefined && { until }) },
    };
  }
  if (!settles(event, turn.asked)) return next;
  const { asked: __, ...going } = next;
  return { ...going, waited: true };
}

function resumed(turn: TurnProgress, time: string): TurnProgress {
  const now = Date.parse(time);
  const next = {
    ...turn,
    attempt: turn.attempt + 1,
    // Waits that are over have had their run; an open question is waited for on.
    wakes: turn.wakes.filter((end) => end > now),
    waited: turn.asked !== undefined,
  };
  if (turn.waited) return next;
  return { ...next, restarts: turn.restarts + 1, stalledSince: turn.stalledSince ?? time };
}

/** Whether the event is the end of the question: an answer, an authorization, or that its time is over. */
function settles(event: TaskEvent, asked: Question | undefined): boolean {
  if (!asked) return false;
  if (event.kind === "message") return event.answers !== undefined;
  return (
    event.kind === "authorized" || (event.kind === "outcome" && isSameCall(event.call, asked.call))
  );
}

export function isSameCall(one: DurableCall, other: DurableCall): boolean {
  return one.kind === other.kind && one.name === other.name && one.nth === other.nth;
}

/** Whether the turn stands still at `now` (ms): it waits for a time to come, or for an answer. */
export function isParked({ asked, wakes }: TurnProgress, now: number): boolean {
  const due = wakes.some((end) => end <= now) || (asked?.until ?? Number.POSITIVE_INFINITY) <= now;
  return !due && (asked !== undefined || wakes.length > 0);
}
