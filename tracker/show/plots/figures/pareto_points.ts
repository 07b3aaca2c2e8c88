import { isDecisive, type Metric, metricOf, scaleOf as metricScale } from "../../../../core/mod.ts";
import { flag, numeric, readRows, text, trialNames } from "../ground/read_rows.ts";

/** A figure with its 95 % interval; equal ends: none is known. */
interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A trial as the figure draws it in every panel. */
export interface Standing {
  readonly id: string;
  readonly name: string;
  readonly methods: string;
  readonly kind: "baseline" | "front" | "dominated" | "violated";
  /** It was not evaluated on the last rung. */
  readonly partial: boolean;
  readonly recommended: boolean;
  readonly because: string | null;
  readonly quality: Interval;
  /** By metric. */
  readonly costs: Readonly<Record<string, Interval>>;
}

export const COLUMNS = {
  figure: "pareto",
  sql: "SELECT * FROM leaderboard_wide, or study.trials() in a notebook,",
  required: { trial_id: text, methods: text },
  optional: {
    state: text,
    fidelity: text,
    is_baseline: flag,
    on_front: flag,
    violated: flag,
    recommended: flag,
    recommended_because: text,
  },
};

/** Columns of a metric with the ends of its interval. */
function intervalReaders(names: readonly string[]) {
  return Object.fromEntries(
    names.flatMap((name) => [name, `${name}_low`, `${name}_high`].map((one) => [one, numeric])),
  );
}

function intervalOf(row: Readonly<Record<string, unknown>>, name: string): Interval | null {
  const value = row[name] as number | null;
  if (value === null) return null;
  const [low, high] = [row[`${name}_low`], row[`${name}_high`]] as (number | null)[];
  return { value, low: low ?? value, high: high ?? value };
}

/** Whether differences of the metric are relative, which are written in percent everywhere. */
const relativeOf = (metric: string) => metricScale(metric).relative;

function inPercent({ value, low, high }: Interval): Interval {
  return { value: 100 * value, low: 100 * low, high: 100 * high };
}

/** How the quality is drawn: paired with the baseline where rows say so, else as it was measured. */
export interface QualityColumn {
  readonly column: string;
  readonly metric: string;
  readonly paired: boolean;
}

/** The first of the quality's columns that some row has. */
export function qualityColumn(rows: readonly object[], metric: string): QualityColumn {
  const column = `${metric}_difference`;
  const paired = rows.some((row) => numeric((row as Record<string, unknown>)[column]) !== null);
  return { column: paired ? column : metric, metric, paired };
}

const BYTES = 1e6;

/** Per how much a cost is drawn: bytes in megabytes. */
export function scaleOf(metric: Metric | undefined): number {
  return metric?.unit === "bytes" ? BYTES : 1;
}

/** Rows as what is drawn; trials without a quality are left out. */
export function standings(
  rows: readonly object[],
  quality: QualityColumn,
  costs: readonly string[],
  recommended: string | null,
): Standing[] {
  const more = intervalReaders([quality.column, ...costs]);
  const all = readRows(rows, { ...COLUMNS, optional: { ...COLUMNS.optional, ...more } });
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  return all.flatMap((row): Standing[] => {
    const baseline = row.is_baseline ?? row.methods === "baseline";
    const measured = baseline && quality.paired
      ? { value: 0, low: 0, high: 0 }
      : intervalOf(row, quality.column);
    const own = measured !== null && quality.paired && relativeOf(quality.metric)
      ? inPercent(measured)
      : measured;
    if (own === null || row.trial_id === null) return [];
    if (row.state !== null && row.state !== "completed") return [];
    const found = costs.flatMap((cost) => {
      // The baseline's ratio to itself is 1, which no row says.
      const value = intervalOf(row, cost) ??
        (baseline && cost.endsWith("_ratio") ? { value: 1, low: 1, high: 1 } : null);
      const per = scaleOf(metricOf(cost));
      return value === null ? [] : [[cost, {
        value: value.value / per,
        low: value.low / per,
        high: value.high / per,
      }]];
    });
    return [{
      id: row.trial_id,
      name: baseline ? "baseline" : name(row.trial_id),
      methods: row.methods ?? "–",
      kind: baseline
        ? "baseline"
        : row.violated
        ? "violated"
        : row.on_front
        ? "front"
        : "dominated",
      partial: row.fidelity !== null && !isDecisive(row.fidelity),
      recommended: row.recommended === true || row.trial_id === recommended,
      because: row.recommended_because,
      quality: own,
      costs: Object.fromEntries(found),
    }];
  });
}
