import { qualityMetric, trialName } from "../../../core/mod.ts";
import type { StudyView } from "./study_view.ts";
import type { QualityDifference, TrialRow } from "./trial_rows.ts";

/** A cell of a trial's row. */
export type TrialCell = string | number | boolean | null;

/**
 * A trial as one flat row: plain cells alone, so that a plot takes it as it is. Beside the columns
 * named here every metric that was measured stands under its own name (`memory_bytes`), with
 * `…_standard_error` where it has one; of the study's quality there is `…_difference` to the baseline
 * on the same samples, of perplexity relative, with its 95 % interval, `…_difference_low` and
 * `…_difference_high`.
 *
 * This is the one declaration of a trial's row. Two others stand beside it, for a reason each. `TrialRow` is
 * what it is made of: there a figure keeps its error and its interval together, as tables and reports write
 * them. The board's rows come from the index in SQL, as a page is cut from thousands of trials before one
 * is read; they have these names and cells, which a test holds for every name that both have.
 */
export interface TrialFigures {
  readonly study_id: string;
  readonly trial_id: string;
  /** Its name in its study, such as `t02`. */
  readonly trial: string;
  readonly number: number;
  readonly recipe: string;
  readonly methods: string;
  readonly state: string;
  /** The highest rung that it reached; null: it was not evaluated. */
  readonly fidelity: string | null;
  readonly is_baseline: boolean;
  readonly on_front: boolean;
  /** Probability that it is on the front; null where it was not computed. */
  readonly front_probability: number | null;
  readonly recommended: boolean;
  /** Why it is recommended; null: it is not. */
  readonly recommended_because: string | null;
  /** Whether it breaks a constraint. */
  readonly violated: boolean;
  readonly undecided: boolean;
  /** Over the baseline of the same minutes, with its 95 % interval. */
  readonly latency_ratio: number | null;
  readonly latency_ratio_low: number | null;
  readonly latency_ratio_high: number | null;
  readonly size_bytes: number | null;
  readonly reward: number | null;
  /** What it took. */
  readonly seconds: number;
  /** Why it ended before its end; null: it did not. */
  readonly reason: string | null;
  readonly [metric: string]: TrialCell;
}

/** Its quality less the baseline's, under the quality's own name. */
function differenceColumns(
  quality: string,
  difference: QualityDifference | null,
): Record<string, TrialCell> {
  return {
    [`${quality}_difference`]: difference?.value ?? null,
    [`${quality}_difference_low`]: difference?.interval?.[0] ?? null,
    [`${quality}_difference_high`]: difference?.interval?.[1] ?? null,
  };
}

/** What was measured of it, every metric under its own name. */
function metricColumns({ figures }: TrialRow): Record<string, TrialCell> {
  return Object.fromEntries(
    Object.entries(figures).flatMap(([name, { value, standard_error }]) => [
      [name, value],
      ...(standard_error === null ? [] : [[`${name}_standard_error`, standard_error]]),
    ]),
  );
}

/** One trial of a view as a flat row. */
export function figuresOf(view: StudyView, row: TrialRow): TrialFigures {
  const recommended = row.trial_id === view.recommended;
  // By its name, not by the front's: that may be of the distance to the original alone.
  const quality = qualityMetric(view.spec);
  return {
    study_id: view.study_id,
    trial_id: row.trial_id,
    trial: trialName(row.number),
    number: row.number,
    recipe: row.recipe,
    methods: row.methods,
    state: row.state,
    fidelity: row.fidelity,
    is_baseline: row.baseline,
    on_front: row.on_front,
    front_probability: row.front_probability,
    recommended,
    recommended_because: recommended ? view.reasons.join(" ") || null : null,
    violated: row.violated,
    undecided: row.undecided,
    ...metricColumns(row),
    ...differenceColumns(quality, row.baseline ? null : row.difference),
    latency_ratio: row.latency_ratio?.value ?? null,
    latency_ratio_low: row.latency_ratio?.interval?.[0] ?? null,
    latency_ratio_high: row.latency_ratio?.interval?.[1] ?? null,
    size_bytes: row.size_bytes,
    reward: row.reward,
    seconds: row.seconds,
    reason: row.reason,
  };
}

/** Every trial of a study as a flat row, in the order they were run. */
export function trialFigures(view: StudyView): TrialFigures[] {
  return view.rows.map((row) => figuresOf(view, row));
}

/** The members of the front as flat rows, the best first. */
export function frontFigures(view: StudyView): TrialFigures[] {
  return view.front.flatMap((id) => {
    const row = view.rows.find(({ trial_id }) => trial_id === id);
    return row === undefined ? [] : [figuresOf(view, row)];
  });
}
