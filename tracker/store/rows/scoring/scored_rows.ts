import { type AnswersScored, ScoreRow, VerdictRow } from "../../../../core/mod.ts";
import { adds, type Change, moment } from "../change.ts";
import { keptInStore, readKept } from "../kept_file.ts";

/** What is gone where the answers themselves are replaced. */
export const SCORED_TABLES = ["scorings", "scores", "verdicts"] as const;

/** The figures of a scorer, a row for each metric and slice. */
export function scoredRows(record: AnswersScored, position: number): Change[] {
  const { study_id, trial_id, fidelity, task, scorer, scorer_version, protocol } = record;
  const own = { study_id, trial_id, fidelity, task, scorer, scorer_version, protocol, position };
  const params = JSON.stringify(record.params);
  return adds(
    "scorings",
    record.measurements.map((row) => ({
      ...own,
      params,
      scored_at: moment(record.at),
      metric: row.metric,
      slice: row.slice,
      value: row.value,
      unit: row.unit,
      direction: row.direction,
      n: row.n,
      standard_error: row.standard_error,
      method: row.method,
    })),
  );
}

/** The rows of a scorer's files, and what of them could not be read. */
export async function scoredFiles(
  root: string,
  { study_id, trial_id, fidelity, scores, verdicts }: AnswersScored,
  position: number,
): Promise<{ changes: Change[]; problems: string[] }> {
  const own = { study_id, trial_id, fidelity, position };
  const changes: Change[] = [];
  const problems: string[] = [];
  const files = [
    { table: "scores", file: scores, shape: ScoreRow, what: "score" },
    { table: "verdicts", file: verdicts, shape: VerdictRow, what: "verdict" },
  ] as const;
  for (const { table, file, shape, what } of files) {
    if (file === null) continue;
    const read = await keptInStore<(ScoreRow | VerdictRow)[]>(
      root,
      file,
      `file of ${table}`,
      (path, sha256) => readKept<ScoreRow | VerdictRow>(path, sha256, shape, what),
    );
    if ("problem" in read) problems.push(read.problem);
    else changes.push(...adds(table, read.value.map((row) => ({ ...own, ...row }))));
  }
  return { changes, problems };
}
