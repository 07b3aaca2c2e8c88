import type { Store } from "../../store/store.ts";
import type { Row } from "./studies.ts";

/** Points of a curve at most: a sparkline has as many pixels. */
const MOST_POINTS = 120;

/** The mean of as many points, in order, where there are more than can be drawn. */
const CURVES = `
SELECT metric, action_index, sum(n)::BIGINT AS count, list({step: step, value: value} ORDER BY step) AS points,
  min(begin) AS first_step, arg_min(first, begin) AS first, max(step) AS last_step,
  arg_max(last, step) AS last, min(least) AS least
FROM (
  SELECT metric, action_index, part, count(*) AS n, min(step) AS begin, max(step) AS step,
    avg(value) AS value, arg_min(value, step) AS first, arg_max(value, step) AS last,
    min(value) AS least
  FROM (
    SELECT metric, action_index, step, value,
      ntile($most) OVER (PARTITION BY metric, action_index ORDER BY step, position) AS part
    FROM metric_points
    WHERE study_id = $study AND trial_id = $trial AND isfinite(value)
      AND metric IN ('loss', 'held_out_loss', 'learning_rate')
  ) GROUP BY ALL
) GROUP BY metric, action_index ORDER BY action_index NULLS LAST, metric`;

/** What a trial's trainings logged as they went, thinned; empty: nothing was trained. */
export async function readCurves(store: Store, study_id: string, trial_id: string): Promise<Row[]> {
  const params = { study: study_id, trial: trial_id, most: MOST_POINTS };
  return await store.ask(CURVES, { params });
}
