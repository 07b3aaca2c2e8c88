import type { DuckDBConnection } from "@duckdb/node-api";
import { type ChangedTrials, listOf, someTrials } from "./changed_trials.ts";

/** What a trial's summary is made of; `which` says of which trials t. */
function insertSql(which: string): string {
  return `INSERT INTO trial_summaries BY NAME
    WITH bases AS (
      SELECT study_id, fidelity, any_value(accuracy) AS accuracy FROM baselines GROUP BY ALL
    )
    SELECT t.study_id, t.trial_id, t.number, t.readable_id, t.methods, t.state, t.fidelity, t.reward,
      f.* EXCLUDE (study_id, trial_id),
      base.accuracy - f.accuracy AS accuracy_drop,
      s.fp16_bytes / f.size_bytes AS compression_ratio,
      coalesce(t.violated, []) AS violated, coalesce(t.undecided, []) AS undecided,
      p.rank AS front_rank, p.contribution, s.runtime, t.seconds, t.failure_kind, t.failure_message,
      t.strategy_id, t.sampler, t.mode, t.artifact_id, t.started_at, t.finished_at, t.seed,
      coalesce(t.command, s.command) AS command,
      coalesce(t.code_commit, s.code_commit) AS code_commit,
      coalesce(t.model_revision, s.model_revision) AS model_revision, t.environment_lock
    FROM trials t
    JOIN studies s USING (study_id)
    LEFT JOIN trial_figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
    LEFT JOIN bases base ON base.study_id = t.study_id AND base.fidelity = t.fidelity
    LEFT JOIN front_points p ON p.study_id = t.study_id AND p.trial_id = t.trial_id
    WHERE ${which}`;
}

/** With every trial of a study whose baseline is among the changed: all are compared with it. */
async function withCompared(
  connection: DuckDBConnection,
  { studies, trials }: ChangedTrials,
): Promise<ChangedTrials> {
  const found = await connection.runAndReadAll(
    `SELECT DISTINCT study_id FROM trials
     WHERE strategy_id IS NULL AND trial_id IN (SELECT unnest($trials))`,
    { trials: listOf(trials).value },
    { trials: listOf(trials).type },
  );
  return { studies: [...studies, ...found.getRows().map(([id]) => String(id))], trials };
}

/** Writes the summaries of trials anew, behind their figures; the caller holds the transaction. */
export async function refreshSummaries(
  connection: DuckDBConnection,
  changed: ChangedTrials,
): Promise<void> {
  const { where, values, types } = someTrials(await withCompared(connection, changed));
  await connection.run(`DELETE FROM trial_summaries AS t WHERE ${where("t")}`, values, types);
  await connection.run(insertSql(where("t")), values, types);
}

/** Columns that say how a trial compares, and what each is taken from. */
const COMPARED = {
  front_rank: "p.rank",
  contribution: "p.contribution",
  latency_ms: "c.latency_ms",
  latency_ratio: "c.latency_ratio",
  latency_ratio_low: "c.latency_ratio_low",
  latency_ratio_high: "c.latency_ratio_high",
  speedup: "1 / c.latency_ratio",
  // A trial that runs is not compared yet.
  reward: "CASE WHEN c.trial_id IS NULL THEN t.reward ELSE c.reward END",
  violated: "coalesce(c.violated, t.violated, [])",
  undecided: "coalesce(c.undecided, t.undecided, [])",
} as const;

/** Takes over how the trials of studies compare and where they stand now. */
export async function refreshStandings(
  connection: DuckDBConnection,
  studies: readonly string[],
): Promise<void> {
  const columns = Object.entries(COMPARED);
  const set = columns.map(([column]) => `${column} = now.${column}`).join(", ");
  const found = columns.map(([column, from]) => `${from} AS ${column}`).join(", ");
  const differs = columns.map(([column, from]) => `s.${column} IS DISTINCT FROM ${from}`);
  await connection.run(
    `UPDATE trial_summaries AS old SET ${set}
     FROM (
       SELECT s.study_id, s.trial_id, ${found}
       FROM trial_summaries s
       JOIN trials t ON t.study_id = s.study_id AND t.trial_id = s.trial_id
       LEFT JOIN front_points p ON p.study_id = s.study_id AND p.trial_id = s.trial_id
       LEFT JOIN compared_trials c ON c.study_id = s.study_id AND c.trial_id = s.trial_id
       WHERE s.study_id IN (SELECT unnest($studies)) AND (${differs.join(" OR ")})
     ) now
     WHERE old.study_id = now.study_id AND old.trial_id = now.trial_id`,
    { studies: listOf(studies).value },
    { studies: listOf(studies).type },
  );
}
