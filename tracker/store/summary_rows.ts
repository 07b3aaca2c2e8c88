import { type DuckDBConnection, LIST, listValue, VARCHAR } from "@duckdb/node-api";

/** What a trial's summary is made of; `which` says of which trials t. */
function insertSql(which: string): string {
  return `INSERT INTO trial_summaries BY NAME
    WITH bases AS (
      SELECT fidelity, any_value(accuracy) AS accuracy FROM baselines
      WHERE study_id = $study_id GROUP BY fidelity
    ),
    speeds AS (SELECT any_value(latency_ms) AS latency_ms FROM baselines WHERE study_id = $study_id)
    SELECT t.study_id, t.trial_id, t.number, t.readable_id, t.methods, t.state, t.fidelity, t.reward,
      f.* EXCLUDE (study_id, trial_id),
      base.accuracy - f.accuracy AS accuracy_drop, speeds.latency_ms / f.latency_ms AS speedup,
      s.fp16_bytes / f.size_bytes AS compression_ratio,
      coalesce(t.violated, []) AS violated, coalesce(t.undecided, []) AS undecided,
      p.rank AS front_rank, p.contribution, s.runtime, t.seconds, t.failure_kind, t.failure_message,
      t.strategy_id, t.sampler, t.mode, t.artifact_id, t.started_at, t.finished_at, t.seed,
      coalesce(t.command, s.command) AS command,
      coalesce(t.code_commit, s.code_commit) AS code_commit,
      coalesce(t.model_revision, s.model_revision) AS model_revision, t.environment_lock
    FROM trials t
    JOIN studies s USING (study_id)
    CROSS JOIN speeds
    LEFT JOIN trial_figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
    LEFT JOIN bases base ON base.fidelity = t.fidelity
    LEFT JOIN front_points p ON p.study_id = t.study_id AND p.trial_id = t.trial_id
    WHERE ${which}`;
}

/** Whether one of the trials is what the others of the study are compared with. */
async function haveBaseline(
  connection: DuckDBConnection,
  values: Parameters<DuckDBConnection["run"]>[1],
  types: Parameters<DuckDBConnection["run"]>[2],
): Promise<boolean> {
  const found = await connection.runAndReadAll(
    `SELECT count(*) FROM trials WHERE study_id = $study_id AND strategy_id IS NULL
      AND trial_id IN (SELECT unnest($trials))`,
    values,
    types,
  );
  return Number(found.getRows()[0]?.[0]) > 0;
}

/**
 * Writes the summaries of a study's trials anew, all of them where `trial_ids` is null; their
 * figures are written before. The caller holds the transaction.
 */
export async function refreshSummaries(
  connection: DuckDBConnection,
  study_id: string,
  trial_ids: readonly string[] | null,
): Promise<void> {
  const values = { study_id, trials: listValue([...trial_ids ?? []]) };
  const types = { trials: LIST(VARCHAR) };
  if (trial_ids === null || await haveBaseline(connection, values, types)) {
    const where = "study_id = $study_id";
    await connection.run(`DELETE FROM trial_summaries WHERE ${where}`, { study_id });
    await connection.run(insertSql(`t.${where}`), { study_id });
    return;
  }
  const some = "study_id = $study_id AND trial_id IN (SELECT unnest($trials))";
  await connection.run(`DELETE FROM trial_summaries WHERE ${some}`, values, types);
  await connection.run(insertSql(`t.${some.replace("trial_id", "t.trial_id")}`), values, types);
}

/** Takes over where the trials of a study stand now. */
export async function refreshStandings(
  connection: DuckDBConnection,
  study_id: string,
): Promise<void> {
  await connection.run(
    `UPDATE trial_summaries AS t SET front_rank = now.rank, contribution = now.contribution
     FROM (
       SELECT trial_id, p.rank, p.contribution
       FROM trial_summaries s LEFT JOIN front_points p USING (study_id, trial_id)
       WHERE s.study_id = $study_id AND (s.front_rank IS DISTINCT FROM p.rank
         OR s.contribution IS DISTINCT FROM p.contribution)
     ) now
     WHERE t.study_id = $study_id AND t.trial_id = now.trial_id`,
    { study_id },
  );
}
