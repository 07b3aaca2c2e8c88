import type { JournalRecord } from "../../../core/mod.ts";
import { number } from "../view/number_text.ts";

/** What a judge was found to be, where it was held against labels. */
export interface FoundJudge {
  readonly labels: number;
  readonly kappa: number | null;
  readonly corrected: readonly [score: number, low: number, high: number] | null;
}

/** Figures that a judge made, and its last check; null: it was not held against labels here. */
export interface JudgedFigure {
  readonly task: string;
  readonly scorer: string;
  readonly judges: string;
  readonly rubric: string | null;
  readonly found: FoundJudge | null;
}

/** What a reader must know of figures that judges made: a sentence a task, scorer and judge. */
export function judgeNotes(figures: readonly JudgedFigure[]): string[] {
  return figures.map(({ task, scorer, judges, rubric, found }) => {
    const by =
      `${task}: the scores of ${scorer}${rubric === null ? "" : ` (${rubric})`} are by the ` +
      `judge ${judges}`;
    if (found === null) {
      return `${by}, which was never checked against labels here ` +
        "(`pare judge check --gold labels.csv`).";
    }
    const { labels, kappa, corrected } = found;
    const agrees = kappa === null ? "" : `, kappa ${number(kappa)}`;
    const score = corrected === null
      ? ""
      : `; corrected: ${number(corrected[0])} (${number(corrected[1])} to ${number(corrected[2])})`;
    return `${by}, checked against ${labels} labels${agrees}${score}.`;
  });
}

/** The figures of a study that judges made. `records`: its journal. */
export function judgedFigures(records: readonly JournalRecord[]): JudgedFigure[] {
  const found = new Map<string, JudgedFigure>();
  for (const record of records) {
    if (record.type !== "scored" || record.judged == null) continue;
    const { task, scorer, judged: { judges, rubric, rubric_version } } = record;
    const check = records.findLast((one) =>
      one.type === "judge_checked" && one.labels > 0 && one.task === task &&
      one.scorer === scorer && one.rubric_version === rubric_version &&
      one.judges.toSorted().join() === judges.toSorted().join()
    );
    const known = check?.type === "judge_checked" ? check : null;
    const agreed = known?.agreement.find(({ against }) => against === "labels");
    const corrected = known?.corrected ?? null;
    const named = judges.join(", ");
    found.set(`${task} ${scorer} ${named} ${rubric_version}`, {
      ...{ task, scorer, judges: named, rubric },
      found: known === null ? null : {
        labels: known.labels,
        kappa: agreed?.kappa?.value ?? null,
        corrected: corrected === null ? null : [corrected.score, ...corrected.interval],
      },
    });
  }
  return [...found.values()];
}
