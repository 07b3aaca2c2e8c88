import { EarlierTrial, type Facts, type KnobValue } from "../../../core/mod.ts";
import type { Store } from "../../store/store.ts";

/** Trials at most, the newest: what is given is recorded with the study. */
export const MOST_TRIALS = 200;

const TRIALS = `
  SELECT t.study_id, t.trial_id, s.model_name, s.dataset, t.state, t.fidelity, t.failure_kind,
    t.reward, s.parameters, s.dataset_class, s.max_accuracy_drop
  FROM trials t JOIN studies s USING (study_id)
  WHERE s.architecture = $architecture AND t.study_id <> $study_id
    AND t.strategy_id IS NOT NULL AND t.state <> 'running'
  ORDER BY coalesce(t.finished_at, t.started_at) DESC, t.position DESC, t.trial_id LIMIT ${MOST_TRIALS}`;

const ACTIONS = `
  WITH shown AS (${TRIALS})
  SELECT a.trial_id, a.action_index, a.agent, a.method, k.knob, k.value, k.number
  FROM shown JOIN actions a USING (study_id, trial_id)
  LEFT JOIN knobs k USING (study_id, trial_id, action_index)
  ORDER BY a.trial_id, a.action_index, k.knob`;

/** The figure of each metric over all tasks, beside that of its own study's baseline. */
const FIGURES = `
  WITH shown AS (${TRIALS}),
  figures AS (
    SELECT study_id, trial_id, metric, value FROM headline
    WHERE task IS NULL AND study_id IN (SELECT study_id FROM shown)
  ),
  baseline AS (
    SELECT f.study_id, f.metric, any_value(f.value) AS value
    FROM figures f JOIN trials t USING (study_id, trial_id)
    WHERE t.strategy_id IS NULL AND t.state = 'completed' GROUP BY ALL
  )
  SELECT f.trial_id, f.metric, f.value, b.value AS baseline
  FROM shown JOIN figures f USING (study_id, trial_id)
  LEFT JOIN baseline b ON b.study_id = f.study_id AND b.metric = f.metric
  WHERE isfinite(f.value) AND f.metric NOT LIKE 'baseline_%'
  ORDER BY f.trial_id, f.metric`;

type Row = Record<string, unknown>;

/** A knob's value as it was: the store keeps its text, and its number where it has one. */
function knobValue({ value, number }: Row): KnobValue {
  if (number === null) return String(value);
  return value === "true" || value === "false" ? value === "true" : Number(number);
}

function actionsOf(rows: readonly Row[]): EarlierTrial["actions"] {
  const actions: EarlierTrial["actions"] = [];
  for (const row of rows) {
    const action = actions[Number(row["action_index"])] ??= {
      agent: String(row["agent"]),
      method: String(row["method"]),
      params: {},
    };
    if (row["knob"] !== null) action.params[String(row["knob"])] = knobValue(row);
  }
  return actions;
}

function figuresOf(rows: readonly Row[]): EarlierTrial["figures"] {
  return Object.fromEntries(rows.map(({ metric, value, baseline }) => [
    String(metric),
    { value: Number(value), baseline: Number.isFinite(baseline) ? Number(baseline) : null },
  ]));
}

/**
 * Trials that the store knows of other studies of models of this architecture, the newest first, as
 * far as its index is today.
 */
export async function earlierTrials(
  store: Store,
  { model: { architecture } }: Facts,
  study_id: string,
): Promise<EarlierTrial[]> {
  const params = { architecture, study_id };
  const ask = async (sql: string) => await store.ask(sql, { params });
  const trials = await ask(TRIALS);
  if (trials.length === 0) return [];
  const actions = Map.groupBy(await ask(ACTIONS), ({ trial_id }) => trial_id);
  const figures = Map.groupBy(await ask(FIGURES), ({ trial_id }) => trial_id);
  return trials.map((row) =>
    EarlierTrial.parse({
      ...row,
      parameters: Number(row["parameters"]),
      actions: actionsOf(actions.get(row["trial_id"]) ?? []),
      figures: figuresOf(figures.get(row["trial_id"]) ?? []),
    })
  );
}
