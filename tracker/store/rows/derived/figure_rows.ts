import { FULL, METRICS, QUALITY } from "../../../../core/mod.ts";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type ChangedTrials, someTrials } from "./changed_trials.ts";
import { refreshSummaries } from "./summary_rows.ts";

/**
 * Main metrics that are columns of `trial_figures`; what a column is made of stands beside it. Latency is
 * none: there is one figure of it, the compared one in `compared_trials`.
 */
const COLUMNS = METRICS.flatMap(({ name, column }) =>
  column && name !== "latency_ms" ? [name] : []
);

const QUALITIES = QUALITY.map(({ name }) => `'${name}'`).join(", ");

const BESIDE = [
  ["accuracy_standard_error", "accuracy", "standard_error"],
  ["accuracy_n", "accuracy", "n"],
  // The method's first words are the reader's name, then how it was read.
  ["energy_reader", "energy_j_per_1k_tokens", "split_part(method, ';', 1)"],
] as const;

function best(metric: string, field: string, column: string): string {
  return `arg_max_null(${field}, place) FILTER (metric = '${metric}') AS ${column}`;
}

/**
 * The choice of the view `headline`, a column a metric. `place` puts its rules into one number, so
 * that no window is sorted over every measurement.
 */
function insertSql(which: string): string {
  const columns = [
    ...COLUMNS.map((metric) => best(metric, "value", metric)),
    ...BESIDE.map(([column, metric, field]) => best(metric, field, column)),
  ];
  return `INSERT INTO trial_figures BY NAME
    WITH placed AS (
      SELECT m.study_id, m.trial_id, m.metric, m.value, m.standard_error, m.n, m.method,
        m.rowid + (1::BIGINT << 52) * ((m.task IS NULL)::BIGINT
          + 2 * (m.provenance = 'measured')::BIGINT + 4 * (m.fidelity = '${FULL}')::BIGINT) AS place
      FROM measurements m JOIN studies s USING (study_id)
      WHERE ${which} AND m.slice IS NULL
        AND (m.runtime IS NULL OR m.metric IN (${QUALITIES}) OR m.runtime = s.runtime)
    )
    SELECT study_id, trial_id, ${columns.join(", ")}
    FROM placed GROUP BY study_id, trial_id`;
}

/** Writes the main figures of trials anew; the caller holds the transaction. */
async function refreshFigures(connection: DuckDBConnection, changed: ChangedTrials): Promise<void> {
  const { where, values, types } = someTrials(changed);
  await connection.run(`DELETE FROM trial_figures AS f WHERE ${where("f")}`, values, types);
  await connection.run(insertSql(where("m")), values, types);
}

/** Trials whose main figures have changed, by study; their summaries change with them. */
export interface FigureBatch {
  /** `trial_id` null: every trial of the study. */
  take(changed: { study_id: string; trial_id: string | null }): void;
  write(connection: DuckDBConnection): Promise<void>;
}

export function makeFigureBatch(): FigureBatch {
  const studies = new Map<string, Set<string> | null>();
  return {
    take({ study_id, trial_id }) {
      const known = studies.get(study_id);
      if (trial_id === null) studies.set(study_id, null);
      else if (known === undefined) studies.set(study_id, new Set([trial_id]));
      else known?.add(trial_id);
    },
    async write(connection) {
      if (studies.size === 0) return;
      const whole = [...studies].filter(([_, trials]) => trials === null);
      const some = [...studies.values()].flatMap((trials) => [...trials ?? []]);
      const changed = { studies: whole.map(([study_id]) => study_id), trials: some };
      await refreshFigures(connection, changed);
      await refreshSummaries(connection, changed);
    },
  };
}
