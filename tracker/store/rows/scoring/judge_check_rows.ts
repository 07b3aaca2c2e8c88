import type { JournalRecord } from "../../../../core/mod.ts";
import { adds, type Change, moment } from "../change.ts";

type Checked = Extract<JournalRecord, { type: "judge_checked" }>;

/** How good a judge was found to be: a row, and one for each thing that it was held against. */
export function judgeCheckRows(record: Checked, position: number): Change[] {
  const { study_id, trial_id, fidelity, task, scorer, scorer_version, rubric_version } = record;
  const own = { study_id, trial_id, fidelity, task, scorer, scorer_version, position };
  const { corrected, position: place, length, own: excess } = record;
  return [
    ...adds("judge_checks", [{
      ...own,
      rubric_version,
      judges: record.judges.join(", "),
      checked_at: moment(record.at),
      answers: record.answers,
      labels: record.labels,
      judged_score: corrected?.judged ?? null,
      corrected_score: corrected?.score ?? null,
      corrected_low: corrected?.interval[0] ?? null,
      corrected_high: corrected?.interval[1] ?? null,
      position_bias: place?.bias ?? null,
      consistent_pairs: place?.consistent ?? null,
      length_bias: length?.value ?? null,
      own_excess: excess?.more?.value ?? excess?.own.value ?? null,
    }]),
    ...adds(
      "judge_agreement",
      record.agreement.map(({ against, n, same, difference, kappa, alpha }) => ({
        ...own,
        ...{ against, n, same_share: same, judge_excess: difference.value },
        kappa: kappa?.value ?? null,
        kappa_low: kappa?.interval?.[0] ?? null,
        kappa_high: kappa?.interval?.[1] ?? null,
        alpha: alpha?.value ?? null,
        alpha_low: alpha?.interval?.[0] ?? null,
        alpha_high: alpha?.interval?.[1] ?? null,
      })),
    ),
  ];
}
