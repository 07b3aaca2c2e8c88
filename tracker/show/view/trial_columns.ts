import {
  atContext,
  isQualityMetric,
  isShare,
  knownMetric,
  type Metric,
  metricOf,
  METRICS,
  qualityMetric,
  type Spec,
  trialName,
} from "../../../core/mod.ts";
import { differenceText } from "./difference_text.ts";
import { bytes, duration, number, parameterCount, percent, withError } from "./number_text.ts";
import type { StudyView } from "./study_view.ts";
import {
  latencyText,
  parametersDiffer,
  ratioText,
  rungText,
  standing,
  type TrialRow,
} from "./trial_rows.ts";

/** A column of a table of trials. */
export interface TrialColumn {
  /** A metric's name, or that of a column below. */
  readonly metric: string;
  readonly heading: string;
  readonly cell: (row: TrialRow) => string;
  /** What a row is sorted by; null: it has no such figure. */
  readonly sort: (row: TrialRow) => string | number | null;
}

/** What every table shows of a trial, whatever the front is of. */
const ALWAYS = ["latency_ms", "size_bytes", "memory_bytes"];
/** The same of a study that asks for a context. */
const AT_CONTEXT = ["kv_bytes_at_context", "memory_bytes_at_context"];

/** The same where trials were run and none was measured in a runtime: those columns would be empty. */
function always(rows: readonly TrialRow[]): string[] {
  const counted = AT_CONTEXT.filter((name) => rows.some(({ figures }) => name in figures));
  const finished = rows.filter(({ state, baseline }) => state === "completed" && !baseline);
  const timed = finished.length === 0 ||
    rows.some(({ figures }) =>
      Object.keys(figures).some((name) => metricOf(name)?.in_runtime === true)
    );
  const shown = timed ? ALWAYS : ALWAYS.filter((name) => metricOf(name)?.in_runtime !== true);
  return [...shown, ...counted];
}

/** What is measured of some trials alone and no front is of: shown where one has it. */
function seldom(rows: readonly TrialRow[]): string[] {
  return METRICS.filter(({ column, objective }) => column && !objective)
    .map(({ name }) => name).filter((name) => rows.some(({ figures }) => name in figures));
}

/** A metric's figure as a table shows it: by its unit and scale. */
function shown({ name, unit }: Metric, row: TrialRow): string {
  if (name === "latency_ms") return latencyText(row);
  const figure = row.figures[name] ?? null;
  if (unit === "bytes") return bytes(figure?.value);
  return isShare(name) ? withError(figure) : number(figure?.value);
}

/** What the quality of a study is called: its tasks' metric where all report the same. */
function qualityHeading({ tasks, objectives }: Pick<Spec, "tasks" | "objectives">): string {
  const { name, heading } = knownMetric(qualityMetric({ objectives }), "metric");
  const reported = new Set(
    tasks.filter(({ primary }) => primary).map(({ metric }) => metric ?? name),
  );
  const [only] = reported;
  return reported.size > 1 ? "mean score" : metricOf(only ?? name)?.heading ?? heading;
}

/**
 * The figures of a table of trials: quality, what everybody asks for, parameters where they differ,
 * what else the front is of, and what only some trials have.
 */
function figureColumns({ rows, spec }: Shown): TrialColumn[] {
  const quality = qualityMetric(spec);
  const costs = spec.objectives.map(({ metric }) => metric)
    .filter((metric) => !isQualityMetric(metric) && ![...ALWAYS, ...AT_CONTEXT].includes(metric));
  const columns: TrialColumn[] = [{
    metric: quality,
    heading: `${qualityHeading(spec)} ± SE`,
    cell: (row) => withError(row[quality], isShare(quality) ? 3 : 2),
    sort: (row) => row[quality]?.value ?? null,
  }];
  if (quality !== "perplexity") {
    const { heading } = knownMetric("perplexity", "metric");
    columns.push({
      metric: "perplexity",
      heading,
      cell: (row) => number(row.perplexity?.value, 4),
      sort: (row) => row.perplexity?.value ?? null,
    });
  }
  for (const name of [...always(rows), ...costs, ...seldom(rows)]) {
    const metric = knownMetric(name, "metric");
    if (name === "size_bytes" && parametersDiffer(rows)) {
      columns.push({
        ...{ metric: "parameters", heading: "parameters" },
        cell: ({ parameters }) => parameterCount(parameters),
        sort: ({ parameters }) => parameters,
      });
    }
    columns.push({
      ...{ metric: name, heading: atContext(metric.heading, spec.context_tokens) },
      cell: (row) => shown(metric, row),
      sort: (row) => row.figures[name]?.value ?? null,
    });
    if (name === "latency_ms") {
      columns.push({
        ...{ metric: "latency_ratio", heading: "× baseline", cell: ratioText },
        sort: (row) => row.latency_ratio?.value ?? null,
      });
    }
  }
  return columns;
}

/** What a table of trials is of. */
type Shown = Pick<StudyView, "rows" | "spec" | "recommended">;

const heading = (name: string) => knownMetric(name, "metric").heading;

/** Columns that no table of metrics declares, by name; `trialColumns` has those that it does. */
const OWN = {
  trial: (): TrialColumn => ({
    ...{ metric: "trial", heading: "trial" },
    cell: ({ number }) => trialName(number),
    sort: ({ number }) => number,
  }),
  recipe: (): TrialColumn => ({
    ...{ metric: "recipe", heading: "recipe" },
    cell: ({ recipe }) => recipe,
    sort: ({ recipe }) => recipe,
  }),
  difference: (): TrialColumn => ({
    ...{ metric: "difference", heading: "difference [95 %]" },
    cell: ({ difference, baseline }) =>
      difference === null || baseline ? "–" : differenceText(difference),
    sort: ({ difference }) => difference?.value ?? null,
  }),
  energy: (): TrialColumn => ({
    metric: "energy_j_per_1k_tokens",
    heading: heading("energy_j_per_1k_tokens"),
    cell: ({ energy }) => number(energy?.value),
    sort: ({ energy }) => energy?.value ?? null,
  }),
  reward: (): TrialColumn => ({
    ...{ metric: "reward", heading: "reward" },
    cell: ({ reward }) => number(reward),
    sort: ({ reward }) => reward,
  }),
  fidelity: (): TrialColumn => ({
    ...{ metric: "fidelity", heading: "fidelity", cell: rungText },
    sort: ({ fidelity }) => fidelity,
  }),
  front_probability: (): TrialColumn => ({
    ...{ metric: "front_probability", heading: "P(front)" },
    cell: ({ front_probability }) => percent(front_probability),
    sort: ({ front_probability }) => front_probability,
  }),
  seconds: (): TrialColumn => ({
    ...{ metric: "seconds", heading: "took" },
    cell: ({ seconds }) => duration(seconds),
    sort: ({ seconds }) => seconds,
  }),
  standing: ({ recommended }: Shown): TrialColumn => ({
    ...{ metric: "standing", heading: "standing" },
    cell: (row) => standing(row, recommended),
    sort: (row) => standing(row, recommended),
  }),
} as const;

/**
 * The columns of a table of trials, as its surface picks them by name; `figures` stands for all that the
 * table of metrics has, and one that it has already does not come twice.
 */
export function trialColumns(
  view: Shown,
  names: readonly (keyof typeof OWN | "figures")[] = ["figures"],
): TrialColumn[] {
  const all = names.flatMap((name) => name === "figures" ? figureColumns(view) : OWN[name](view));
  return all.filter(({ metric }, i) => all.findIndex((one) => one.metric === metric) === i);
}
