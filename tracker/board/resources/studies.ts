import { FULL } from "../../../core/mod.ts";
import { figures } from "../../show/plots/figures.ts";
import type { Value } from "../../store/query/result.ts";
import type { Store } from "../../store/store.ts";
import { runOwners } from "../../store/shelf/writers.ts";
import { type Answers, type BoardStores, oneRow } from "../board_stores.ts";

/** How a study stands. */
export type StudyState = "waiting" | "starting" | "running" | "interrupted" | "ended";

export interface StudyLine {
  readonly study_id: string;
  /** Of run; null: of another tracker. */
  readonly kind: string | null;
  readonly store: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly opened_at: Date | null;
  readonly trials: number;
  readonly state: StudyState;
  /** Why it ended; null: it did not yet. */
  readonly stop: string | null;
  /** pare, or the tracker that it was imported from. */
  readonly source: string;
}

export type Row = Record<string, Value>;

/** Studies that somebody writes now and that have no end yet: an end may be noted, or reproduced. */
const UNENDED = "SELECT study_id FROM studies WHERE stop IS NULL";

/** The studies that run. */
export async function runningStudies(store: Store): Promise<Set<string>> {
  const written = new Set(runOwners(store.paths).map(({ study_id }) => study_id));
  if (written.size === 0) return new Set();
  const unended = (await store.ask(UNENDED)).map((row) => String(row["study_id"]));
  return new Set(unended.filter((study_id) => written.has(study_id)));
}

const IMPORTED = `SELECT study_id, any_value(study_name) AS study_name, any_value(source) AS source,
  count(*) AS runs FROM imported_runs GROUP BY study_id ORDER BY min(imported_at), study_id`;

async function linesOf(store: Store): Promise<StudyLine[]> {
  const [own, running, imported] = [
    await store.studies(),
    await runningStudies(store),
    await store.ask(IMPORTED),
  ];
  const at = store.paths.root;
  return [
    ...own.map(({ stop, ...study }): StudyLine => ({
      ...study,
      ...{ stop, store: at, source: "pare" },
      state: stop !== null ? "ended" : running.has(study.study_id) ? "running" : "interrupted",
    })),
    ...imported.map((row): StudyLine => ({
      ...{ study_id: String(row["study_id"]), kind: null, store: at },
      model_name: String(row["study_name"]),
      ...{ dataset: "", opened_at: null, trials: Number(row["runs"]), state: "ended", stop: null },
      source: String(row["source"]),
    })),
  ];
}

/** Every study of every store, the newest first. */
export async function listStudies(stores: BoardStores): Promise<Answers<StudyLine>> {
  const { answers: lines, refused } = await stores.each(linesOf);
  const opened = ({ opened_at }: StudyLine) => opened_at?.getTime() ?? 0;
  return { answers: lines.flat().reverse().sort((a, b) => opened(b) - opened(a)), refused };
}

/** Of a study's notes, its own before those on its trials, each the newest: a page stays small. */
const MOST_NOTES = 200;

/** All that the head of a study's page says, in one statement: each opens the database anew. */
const STUDY = `
SELECT s.study_id, s.kind, s.model_name, s.dataset, s.opened_at, s.closed_at, s.stop, s.message,
  s.recommended, s.seed, s.command, s.device_name, s.cores, s.runtime, s.max_accuracy_drop,
  s.weight_accuracy, s.weight_latency, s.weight_memory, s.weight_energy, s.weight_size, s.weight_distance, s.fp16_bytes,
  s.original_bytes, s.front_note, s.front_objectives, s.primary_objective, s.warnings,
  (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id) AS trials,
  (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id AND t.state = 'completed')
    AS completed,
  (SELECT count(*) FROM failures f WHERE f.study_id = s.study_id) AS failed,
  (SELECT list(x ORDER BY x.position DESC) FROM (
    SELECT trial_id, position, happened_at, condition, evidence, action, outcome
    FROM alerts a WHERE a.study_id = s.study_id ORDER BY position DESC LIMIT 50) x) AS alerts,
  (SELECT list(x ORDER BY x.position) FROM (
    SELECT trial_id, position, written_at, text FROM notes n WHERE n.study_id = s.study_id
    ORDER BY trial_id IS NOT NULL, position DESC LIMIT ${MOST_NOTES}) x) AS notes,
  (SELECT count(*) FROM notes n WHERE n.study_id = s.study_id) AS notes_kept,
  (SELECT list(x) FROM (SELECT trial_id, methods, state, stage, reason, what_to_do
    FROM failures f WHERE f.study_id = s.study_id LIMIT 50) x) AS failures,
  (SELECT max(position) FROM events e WHERE e.study_id = s.study_id) AS position
FROM studies s WHERE s.study_id = $study`;

/** One study: what was asked, how it stands, alerts, notes, and why trials ended. */
export async function readStudy(stores: BoardStores, study_id: string): Promise<Row> {
  const store = await stores.of(study_id);
  const row = await oneRow(store, STUDY, { study: study_id });
  const running = row["stop"] === null && (await runningStudies(store)).has(study_id);
  const state: StudyState = row["stop"] !== null ? "ended" : running ? "running" : "interrupted";
  const lists = Object.fromEntries(
    ["alerts", "notes", "failures"].map((name) => [name, row[name] ?? []]),
  );
  return { ...row, ...lists, state, store: store.paths.root };
}

const FRONT = `SELECT p.*, t.methods, len(coalesce(c.violated, t.violated)) > 0 AS violated,
  p.trial_id = s.recommended AS recommended, eligible
FROM (SELECT count(*) AS eligible, greatest(1, ceil(count(*) / $most)::BIGINT) AS step FROM front_points
  WHERE study_id = $study), pareto p JOIN trials t USING (study_id, trial_id) JOIN studies s USING (study_id)
LEFT JOIN compared_trials c ON c.study_id = p.study_id AND c.trial_id = p.trial_id
WHERE p.study_id = $study AND (p.rank = 0 OR p.number = 0 OR p.number % step = 0)
ORDER BY p.rank, p.number LIMIT 2 * $most`;

/**
 * Trials that may stand on the front; of very many all of the front and a share of the others: `eligible`
 * says of how many in each row.
 */
export async function readFront(store: Store, study_id: string, most = 1_000): Promise<Row[]> {
  const rows = await store.ask(FRONT, { params: { study: study_id, most } });
  return rows;
}

/** Figures that a study's page shows, each from one view; the others are drawn in a notebook. */
const DRAWN = {
  // As the report draws it: paired with the baseline, on a lower rung without an interval.
  pareto: `SELECT t.*, t.strategy_id IS NULL AS is_baseline,
      CASE WHEN d.metric = 'perplexity' THEN NULL ELSE coalesce(d.difference, -t.accuracy_drop) END
        AS accuracy_difference,
      CASE WHEN d.metric = 'accuracy' THEN d.difference_low END AS accuracy_difference_low,
      CASE WHEN d.metric = 'accuracy' THEN d.difference_high END AS accuracy_difference_high,
      CASE WHEN d.metric = 'perplexity' THEN d.difference END AS perplexity_difference,
      CASE WHEN d.metric = 'perplexity' THEN d.difference_low END AS perplexity_difference_low,
      CASE WHEN d.metric = 'perplexity' THEN d.difference_high END AS perplexity_difference_high
    FROM trial_summary t JOIN studies s USING (study_id)
    LEFT JOIN paired_differences d ON d.study_id = t.study_id AND d.trial_id = t.trial_id
      AND d.task IS NULL AND d.metric = CASE WHEN 'perplexity' IN (SELECT metric FROM objectives o
        WHERE o.study_id = $study) THEN 'perplexity' ELSE 'accuracy' END
    WHERE t.study_id = $study ORDER BY t.number`,
  hypervolume: "SELECT * FROM episodes WHERE study_id = $study",
  retention: `SELECT * FROM retention WHERE study_id = $study AND fidelity = '${FULL}'`,
  knobEffects: "SELECT * FROM knob_effects WHERE study_id = $study",
  layerSensitivity: "SELECT * FROM layer_sensitivity WHERE study_id = $study",
  layerMix: "SELECT * FROM layer_mix WHERE study_id = $study",
  energy: "SELECT * FROM leaderboard_wide WHERE study_id = $study",
  memory: "SELECT * FROM resources WHERE study_id = $study",
  phases: "SELECT * FROM spans WHERE study_id = $study",
} as const;
export type DrawnFigure = keyof typeof DRAWN;
export const DRAWN_FIGURES = Object.keys(DRAWN) as DrawnFigure[];

/** A figure of a study as SVG. */
export async function drawFigure(
  stores: BoardStores,
  study_id: string,
  name: DrawnFigure,
  width: number,
): Promise<string> {
  const store = await stores.of(study_id);
  const rows = await store.ask(DRAWN[name], { params: { study: study_id }, maxRows: 50_000 });
  const draw = figures[name] as (rows: readonly object[], options: object) => string;
  return draw(rows, { width, ...(name === "pareto" ? await frontOptions(store, study_id) : {}) });
}

/** What the front is of, its limit and what is recommended: the report's figure has them too. */
async function frontOptions(store: Store, study_id: string): Promise<object> {
  const [row] = await store.ask(
    `SELECT s.max_accuracy_drop, s.front_note AS caption,
      CASE WHEN s.recommended <> $study || '/t00' THEN s.recommended END AS recommended,
      (SELECT list(metric ORDER BY rank) FROM objectives o WHERE o.study_id = $study) AS asked,
      s.front_objectives FROM studies s WHERE s.study_id = $study`,
    { params: { study: study_id } },
  );
  if (row === undefined) return {};
  const objectives = row["front_objectives"] ?? row["asked"];
  return {
    allowed_drop: row["max_accuracy_drop"],
    recommended: row["recommended"],
    ...(row["caption"] === null ? {} : { caption: row["caption"] }),
    ...(Array.isArray(objectives) && objectives.length > 0 ? { objectives } : {}),
  };
}
