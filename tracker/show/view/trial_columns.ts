import {
  isQualityMetric,
  isShare,
  knownMetric,
  type Metric,
  metricOf,
  METRICS,
  qualityMetric,
  type Spec,
} from "../../../core/mod.ts";
import { bytes, number, parameterCount, withError } from "./number_text.ts";
import type { StudyView } from "./study_view.ts";
import { latencyText, parametersDiffer, ratioText, type TrialRow } from "./trial_rows.ts";

/** A figure's column in a table of trials. */
export interface TrialColumn {
  readonly metric: string;
  readonly heading: string;
  readonly cell: (row: TrialRow) => string;
}

/** What every table shows of a trial, whatever the front is of. */
const ALWAYS = ["latency_ms", "size_bytes", "memory_bytes"];

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
export function trialColumns(
  { rows, spec }: Pick<StudyView, "rows" | "spec">,
): TrialColumn[] {
  const quality = qualityMetric(spec);
  const costs = spec.objectives.map(({ metric }) => metric)
    .filter((metric) => !isQualityMetric(metric) && !ALWAYS.includes(metric));
  const columns: TrialColumn[] = [{
    metric: quality,
    heading: `${qualityHeading(spec)} ± SE`,
    cell: (row) => withError(row[quality], isShare(quality) ? 3 : 2),
  }];
  if (quality !== "perplexity") {
    const { heading } = knownMetric("perplexity", "metric");
    columns.push({
      metric: "perplexity",
      heading,
      cell: (row) => number(row.perplexity?.value, 4),
    });
  }
  for (const name of [...ALWAYS, ...costs, ...seldom(rows)]) {
    const metric = knownMetric(name, "metric");
    if (name === "size_bytes" && parametersDiffer(rows)) {
      const cell = ({ parameters }: TrialRow) => parameterCount(parameters);
      columns.push({ metric: "parameters", heading: "parameters", cell });
    }
    columns.push({ metric: name, heading: metric.heading, cell: (row) => shown(metric, row) });
    if (name === "latency_ms") {
      columns.push({ metric: "latency_ratio", heading: "× baseline", cell: ratioText });
    }
  }
  return columns;
}
