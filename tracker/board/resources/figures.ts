import { type Facts, FULL } from "../../../core/mod.ts";
import { figures } from "../../show/plots/figures.ts";
import { modelLabel } from "../../show/view/study_view.ts";
import type { Store } from "../../store/store.ts";
import type { BoardStores } from "../board_stores.ts";
import type { Row } from "./studies.ts";

/** What a front may be drawn of, upwards and sidewards. */
export const FRONT_QUALITIES = ["accuracy", "perplexity"] as const;
export const FRONT_COSTS = [
  "latency_ratio",
  "size_bytes",
  "memory_bytes",
  "energy_j_per_1k_tokens",
] as const;

/** How a figure is drawn; all but the width are of the front alone. */
export interface FigureAxes {
  readonly width: number;
  readonly quality?: typeof FRONT_QUALITIES[number] | undefined;
  /** Absent: the study's objectives, a panel each. */
  readonly cost?: typeof FRONT_COSTS[number] | undefined;
  /** Less the baseline's on the same samples, with its interval: of thousands of trials it takes a while. */
  readonly paired?: boolean | undefined;
}

const FRONT = `SELECT p.*, t.methods, t.state, t.fidelity, p.rank = 0 AS on_front,
  len(coalesce(c.violated, t.violated)) > 0 AS violated,
  len(coalesce(c.undecided, t.undecided)) > 0 AS undecided,
  p.trial_id = s.recommended AS recommended, f.energy_j_per_1k_tokens, f.context_kv_bytes, eligible
FROM (SELECT count(*) AS eligible, greatest(1, ceil(count(*) / $most)::BIGINT) AS step FROM front_points
  WHERE study_id = $study), pareto p JOIN trials t USING (study_id, trial_id)
JOIN studies s USING (study_id) JOIN trial_figures f USING (study_id, trial_id)
LEFT JOIN compared_trials c ON c.study_id = p.study_id AND c.trial_id = p.trial_id
WHERE p.study_id = $study AND (p.rank = 0 OR p.number = 0 OR p.number % step = 0)
ORDER BY p.rank, p.number LIMIT 2 * $most`;

/**
 * Trials that may stand on the front; of very many all of the front and a share of the others: `eligible`
 * says of how many in each row.
 */
export async function readFront(store: Store, study_id: string, most = 1_000): Promise<Row[]> {
  return await store.ask(FRONT, { params: { study: study_id, most } });
}

/** As the report draws it: paired with the baseline, on a lower rung without an interval. */
const PAIRED = `SELECT t.*, t.strategy_id IS NULL AS is_baseline,
    CASE WHEN $quality = 'accuracy' THEN coalesce(d.difference, -t.accuracy_drop) END
      AS accuracy_difference,
    CASE WHEN $quality = 'accuracy' THEN d.difference_low END AS accuracy_difference_low,
    CASE WHEN $quality = 'accuracy' THEN d.difference_high END AS accuracy_difference_high,
    CASE WHEN $quality = 'perplexity' THEN d.difference END AS perplexity_difference,
    CASE WHEN $quality = 'perplexity' THEN d.difference_low END AS perplexity_difference_low,
    CASE WHEN $quality = 'perplexity' THEN d.difference_high END AS perplexity_difference_high
  FROM trial_summary t LEFT JOIN paired_differences d
    ON d.study_id = t.study_id AND d.trial_id = t.trial_id AND d.task IS NULL AND d.metric = $quality
  WHERE t.study_id = $study ORDER BY t.number`;

/** Figures that a study's page shows, each from one view; the others are drawn in a notebook. */
const DRAWN = {
  hypervolume: "SELECT * FROM episodes WHERE study_id = $study",
  retention: `SELECT * FROM retention WHERE study_id = $study AND fidelity = '${FULL}'`,
  qualityByCache: `SELECT * FROM context_caches WHERE study_id = $study AND fidelity = '${FULL}'`,
  needleMap: `SELECT t.readable_id, m.task, m.slice, m.value, m.n
    FROM measurements m JOIN trial_summary t USING (study_id, trial_id)
    WHERE m.study_id = $study AND m.fidelity = '${FULL}' AND m.slice LIKE '% tokens depth %'
    ORDER BY t.number`,
  cacheByContext: `SELECT t.readable_id, t.methods, s.context_tokens, s.kv_bytes, s.seconds
    FROM samples s JOIN trial_summary t USING (study_id, trial_id)
    WHERE s.study_id = $study AND s.fidelity = '${FULL}' AND s.context_tokens IS NOT NULL`,
  keptPlaces: `SELECT p.* FROM context_places p JOIN trials t USING (study_id, trial_id)
    WHERE p.study_id = $study AND p.fidelity = '${FULL}'
    ORDER BY t.number, p.task, p.layer_index, p.part`,
  knobEffects: "SELECT * FROM knob_effects WHERE study_id = $study",
  layerSensitivity: "SELECT * FROM layer_sensitivity WHERE study_id = $study",
  layerMix: "SELECT * FROM layer_mix WHERE study_id = $study",
  energy: "SELECT * FROM leaderboard_wide WHERE study_id = $study",
  memory: "SELECT * FROM resources WHERE study_id = $study",
  phases: "SELECT * FROM spans WHERE study_id = $study",
} as const;
export type DrawnFigure = keyof typeof DRAWN | "pareto";
export const DRAWN_FIGURES = ["pareto", ...Object.keys(DRAWN)] as DrawnFigure[];

/** A figure of a study as SVG. */
export async function drawFigure(
  stores: BoardStores,
  study_id: string,
  name: DrawnFigure,
  axes: FigureAxes,
): Promise<string> {
  const store = await stores.of(study_id);
  if (name === "pareto") return await drawFront(store, study_id, axes);
  const rows = await store.ask(DRAWN[name], { params: { study: study_id }, maxRows: 50_000 });
  const draw = figures[name] as (rows: readonly object[], options: object) => string;
  return draw(rows, { width: axes.width });
}

/** What the front is of, its limit, its words and what is recommended: the report's figure has them too. */
const ASKED =
  `SELECT s.*, CASE WHEN s.recommended <> $study || '/t00' THEN s.recommended END AS picked,
    coalesce(nullif(s.front_objectives, []),
      (SELECT list(metric ORDER BY rank) FROM objectives o WHERE o.study_id = $study)) AS objectives
  FROM studies s WHERE s.study_id = $study`;

async function drawFront(store: Store, study_id: string, axes: FigureAxes): Promise<string> {
  const { width, cost, paired = true } = axes;
  const [study] = await store.ask(ASKED, { params: { study: study_id } });
  if (study === undefined) return figures.pareto([], { width });
  const objectives = Array.isArray(study["objectives"]) ? study["objectives"] : [];
  const quality = axes.quality ?? (objectives.includes("perplexity") ? "perplexity" : "accuracy");
  const rows = paired
    ? await store.ask(PAIRED, { params: { study: study_id, quality }, maxRows: 50_000 })
    : await readFront(store, study_id);
  const eligible = Number(rows[0]?.["eligible"] ?? rows.length);
  const caption = [
    ...typeof study["front_note"] === "string" ? [study["front_note"]] : [],
    ...eligible > rows.length
      ? [`${rows.length} of ${eligible} trials: all on the front, of the others an even share.`]
      : [],
  ].join(" ");
  const costs = cost === undefined ? objectives : [cost];
  const model = {
    source: study["model_source"] as Facts["model"]["source"],
    model_name: String(study["model_name"]),
  };
  return figures.pareto(rows, {
    ...{ width, quality },
    title: `${modelLabel({ model })} on ${study["dataset"]}`,
    allowed_drop: study["max_accuracy_drop"] as number | null,
    context_tokens: study["context_tokens"] === null ? null : Number(study["context_tokens"]),
    recommended: study["picked"] as string | null,
    ...(caption === "" ? {} : { caption }),
    ...(costs.length === 0 ? {} : { objectives: costs.map(String) }),
  });
}
