import type { DuckDBConnection } from "@duckdb/node-api";
import { type Standing, standingsOf, yardstickOf } from "../../core/mod.ts";

/** A trial's value of each objective, as the front's rules pick it; see `objectiveRow`. */
const POINTS = `
  SELECT t.trial_id, t.strategy_id IS NULL AS is_baseline, t.fidelity = 'full' AS is_full,
    o.rank AS objective, last(m.value ORDER BY m.position, m.rowid) AS value,
    last(m.provenance ORDER BY m.position, m.rowid) AS provenance
  FROM trials t
  JOIN studies s USING (study_id)
  JOIN objectives o USING (study_id)
  JOIN measurements m ON m.study_id = t.study_id AND m.trial_id = t.trial_id
    AND m.metric = o.metric
    AND CASE WHEN o.metric IN ('accuracy', 'perplexity')
      THEN m.fidelity = 'full' AND m.task IS NULL AND m.slice IS NULL
      ELSE m.provenance = 'measured' AND (m.runtime IS NULL OR m.runtime = s.runtime) END
  WHERE t.study_id = $study_id AND t.state = 'completed'
  GROUP BY t.trial_id, t.number, t.strategy_id, t.fidelity, o.rank
  ORDER BY t.number, o.rank`;

interface TrialPoint {
  trial_id: string;
  is_baseline: boolean;
  is_full: boolean;
  point: number[];
}

type Objectives = Parameters<typeof yardstickOf>[0];

async function objectivesOf(
  connection: DuckDBConnection,
  study_id: string,
): Promise<{ objectives: Objectives; fp16_bytes: number }> {
  const result = await connection.runAndReadAll(
    `SELECT o.metric, o.direction, s.fp16_bytes FROM objectives o JOIN studies s USING (study_id)
     WHERE study_id = $study_id ORDER BY o.rank`,
    { study_id },
  );
  const rows = result.getRowObjects();
  return {
    objectives: rows.map(({ metric, direction }) => ({
      metric: String(metric),
      direction: direction === "maximize" ? "maximize" : "minimize",
    })),
    fp16_bytes: Number(rows[0]?.["fp16_bytes"] ?? 0),
  };
}

/** Completed trials that have a measured number for every objective. */
async function pointsOf(
  connection: DuckDBConnection,
  study_id: string,
  objectives: number,
): Promise<TrialPoint[]> {
  const result = await connection.runAndReadAll(POINTS, { study_id });
  const trials = new Map<string, TrialPoint>();
  for (const row of result.getRowObjects()) {
    const trial_id = String(row["trial_id"]);
    const trial = trials.get(trial_id) ??
      {
        trial_id,
        is_baseline: row["is_baseline"] === true,
        is_full: row["is_full"] === true,
        point: [],
      };
    if (row["provenance"] === "measured") trial.point.push(Number(row["value"]));
    trials.set(trial_id, trial);
  }
  return [...trials.values()].filter(({ point }) =>
    point.length === objectives && !point.some(Number.isNaN)
  );
}

/** Where each trial that may stand on the study's front stands, by the rules of the core. */
async function standings(
  connection: DuckDBConnection,
  study_id: string,
): Promise<{ trial_id: string; rank: number; contribution: number | null }[]> {
  const { objectives, fp16_bytes } = await objectivesOf(connection, study_id);
  const trials = await pointsOf(connection, study_id, objectives.length);
  const baseline = trials.find(({ is_baseline }) => is_baseline);
  const eligible = trials.filter(({ is_full }) => is_full);
  // Without a baseline there is no yardstick: ranks alone, which no scale changes.
  const yardstick = yardstickOf(objectives, baseline?.point ?? objectives.map(() => 1), fp16_bytes);
  const found: Standing[] = standingsOf(eligible.map(({ point }) => point), yardstick);
  return eligible.map(({ trial_id }, i) => ({
    trial_id,
    rank: found[i]!.rank,
    contribution: baseline === undefined ? null : found[i]!.contribution,
  }));
}

/** Writes anew where the trials of a study stand; the caller holds the transaction. */
export async function refreshFront(connection: DuckDBConnection, study_id: string): Promise<void> {
  await connection.run("DELETE FROM front_points WHERE study_id = $study_id", { study_id });
  const rows = await standings(connection, study_id);
  const appender = await connection.createAppender("front_points");
  try {
    for (const { trial_id, rank, contribution } of rows) {
      appender.appendVarchar(study_id);
      appender.appendVarchar(trial_id);
      appender.appendBigInt(BigInt(rank));
      if (contribution === null) appender.appendNull();
      else appender.appendDouble(contribution);
      appender.endRow();
    }
  } finally {
    appender.closeSync();
  }
}
