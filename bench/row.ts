/**
 * One row of the table: contestants that do the same, each on a fresh server, measured in turn again and again, so
 * that whatever else the machine does hits all of them alike. What counts is the ratio within a round.
 */
export type Unit = "requests/s" | "events/s" | "ms";

/** A contestant that is ready: warmed up, its server running. */
export interface Ready {
  measure(): Promise<number>;
  /** Stops its server; gives the number of objects that were made. */
  close(): Promise<number>;
}

export interface Comparison {
  of: string;
  to: string;
  /** Least ratio to reach; none where a comparison only informs. */
  aim?: number;
}

export interface Row {
  title: string;
  unit: Unit;
  rounds: number;
  contestants: Record<string, () => Promise<Ready>>;
  comparisons: Comparison[];
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export interface Ratio extends Comparison, Spread {
  row: string;
}

export interface Figure extends Spread {
  row: string;
  unit: Unit;
  contestant: string;
}

export interface Result {
  ratios: Ratio[];
  figures: Figure[];
  rounds: number;
  objects: number;
}

/** Rounds are added, up to twice as many, while the middle half of a ratio's values lies farther apart than this. */
const MAX_SPREAD = 0.35;

/** `deadline`: no more rounds from then on, when there are three. */
export async function run(row: Row, deadline: number): Promise<Result> {
  const names = Object.keys(row.contestants);
  const ready = new Map<string, Ready>();
  let objects = 0;
  const values: Map<string, number>[] = [];
  try {
    for (const [name, prepare] of Object.entries(row.contestants)) ready.set(name, await prepare());
    while (values.length < row.rounds || (values.length < 2 * row.rounds && isWide(row, values))) {
      if (values.length >= 3 && Date.now() > deadline) break;
      values.push(await round(names, values.length, ready));
    }
  } finally {
    for (const each of ready.values()) objects += await each.close();
  }
  return {
    ratios: row.comparisons.map((each) => ({
      ...each,
      row: row.title,
      ...spread(ratiosOf(row, each, values)),
    })),
    figures: names.map((contestant) => ({
      row: row.title,
      unit: row.unit,
      contestant,
      ...spread(values.map((each) => each.get(contestant) ?? Number.NaN)),
    })),
    rounds: values.length,
    objects,
  };
}

/** Measures each once; who is first changes from round to round. */
async function round(
  names: string[],
  index: number,
  ready: ReadonlyMap<string, Ready>,
): Promise<Map<string, number>> {
  const first = index % names.length;
  const values = new Map<string, number>();
  for (const name of [...names.slice(first), ...names.slice(0, first)]) {
    try {
      values.set(name, (await ready.get(name)?.measure()) ?? Number.NaN);
    } catch (error) {
      throw new Error(`${name} failed`, { cause: error });
    }
  }
  return values;
}

/** How fast one is, as a multiple of the other: above 1 is faster, whatever the unit. */
function ratiosOf(
  { unit }: Row,
  { of, to }: Comparison,
  values: readonly Map<string, number>[],
): number[] {
  return values.map((each) => {
    const ratio = (each.get(of) ?? Number.NaN) / (each.get(to) ?? Number.NaN);
    return unit === "ms" ? 1 / ratio : ratio;
  });
}

function isWide(row: Row, values: readonly Map<string, number>[]): boolean {
  return row.comparisons.some(({ aim, ...comparison }) => {
    if (aim === undefined) return false;
    const sorted = ratiosOf(row, comparison, values).sort((a, b) => a - b);
    return (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / quantile(sorted, 0.5) > MAX_SPREAD;
  });
}

function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: quantile(sorted, 0), max: quantile(sorted, 1) };
}

/** Of sorted values; between two of them in proportion. */
function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}
