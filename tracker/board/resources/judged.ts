import type { Store } from "../../store/store.ts";
import type { JudgedFigure } from "../../show/judging/judged_figures.ts";

/** Figures of a study that judges made, each with the newest check of its judge against labels. */
const JUDGED = `
WITH judged AS (
  SELECT DISTINCT task, scorer, judges, rubric, rubric_version FROM (
    SELECT task, scorer, rubric_version, position,
      string_agg(DISTINCT judge, ', ' ORDER BY judge) AS judges,
      CASE WHEN rubric_version IS NOT NULL THEN any_value(split_part(question, ',', 1)) END AS rubric
    FROM verdicts WHERE study_id = $study GROUP BY task, scorer, rubric_version, position, trial_id)
), checked AS (
  SELECT c.*, a.kappa FROM judge_checks c
  LEFT JOIN judge_agreement a ON a.study_id = c.study_id AND a.position = c.position
    AND a.against = 'labels'
  WHERE c.study_id = $study AND c.labels > 0
  QUALIFY row_number() OVER (
    PARTITION BY c.task, c.scorer, c.judges, c.rubric_version ORDER BY c.position DESC) = 1
)
SELECT j.task, j.scorer, j.judges, j.rubric, c.labels::INTEGER AS labels, c.kappa,
  c.corrected_score, c.corrected_low, c.corrected_high
FROM judged j LEFT JOIN checked c ON c.task = j.task AND c.scorer = j.scorer
  AND c.judges = j.judges AND c.rubric_version IS NOT DISTINCT FROM j.rubric_version
ORDER BY j.task, j.scorer, j.rubric`;

/** A row of the question, as its columns are. */
interface JudgedRow {
  readonly task: string;
  readonly scorer: string;
  readonly judges: string;
  readonly rubric: string | null;
  readonly labels: number | null;
  readonly kappa: number | null;
  readonly corrected_score: number | null;
  readonly corrected_low: number | null;
  readonly corrected_high: number | null;
}

/** Figures of a study that judges made. */
export async function judgedOf(store: Store, study_id: string): Promise<JudgedFigure[]> {
  const { rows } = await store.query(JUDGED, { params: { study: study_id } });
  return (rows as unknown as JudgedRow[]).map(({ task, scorer, judges, rubric, ...row }) => {
    const { labels, kappa, corrected_score, corrected_low, corrected_high } = row;
    const found = labels === null ? null : {
      ...{ labels, kappa },
      corrected: corrected_score === null
        ? null
        : [corrected_score, corrected_low!, corrected_high!] as const, // of one row all three
    };
    return { task, scorer, judges, rubric, found };
  });
}
