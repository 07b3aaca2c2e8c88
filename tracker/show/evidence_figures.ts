/** Figures of a report beside its front, from the store's rows of the study: each where it has rows. */
import { FULL, kindOf } from "../../core/mod.ts";
import { PAGE_WIDTH, PHONE_WIDTH } from "./page_widths.ts";
import { figures } from "./plots/figures.ts";
import type { Store } from "../store/store.ts";
import type { StudyView } from "./view/study_view.ts";

/** A figure that a report folds, with the line that says what it shows. */
export interface EvidenceFigure {
  readonly summary: string;
  /** The table or view of its rows. */
  readonly source: string;
  /** For a page, and for a phone. */
  readonly svg: string;
  readonly narrow: string;
  /** Where it lies beside the page. */
  readonly file: string;
}

interface Drawn {
  readonly name: Exclude<keyof typeof figures, "pareto">;
  readonly summary: string;
  readonly sql: string;
  readonly draw: (rows: readonly object[], width: number) => string;
}

const of = (name: Drawn["name"], summary: string, sql: string, options: object = {}): Drawn => ({
  ...{ name, summary, sql },
  draw: (rows, width) => figures[name](rows, { ...options, width } as never),
});

/** In the order in which a reader asks: what was lost, what it costs, where it went. */
const DRAWN: readonly Drawn[] = [
  of(
    "retention",
    "What each trial keeps of each task",
    `SELECT * FROM retention WHERE study_id = $id AND ratio IS NOT NULL
       AND metric = 'accuracy' AND fidelity = '${FULL}'`,
  ),
  of(
    "qualityByCache",
    "What each cache policy keeps of quality, by what it keeps of the cache",
    `SELECT * FROM context_caches WHERE study_id = $id AND fidelity = '${FULL}'`,
  ),
  of(
    "needleMap",
    "Which needles are found, by length and depth",
    `SELECT t.readable_id, m.task, m.slice, m.value, m.n
     FROM measurements m JOIN trial_summary t USING (study_id, trial_id)
     WHERE m.study_id = $id AND m.fidelity = '${FULL}' AND m.slice LIKE '% tokens depth %'
     ORDER BY t.number`,
  ),
  of(
    "cacheByContext",
    "What is left of contexts by their length, and what a sample takes",
    `SELECT t.readable_id, t.methods, s.context_tokens, s.kv_bytes, s.seconds
     FROM samples s JOIN trial_summary t USING (study_id, trial_id)
     WHERE s.study_id = $id AND s.fidelity = '${FULL}' AND s.context_tokens IS NOT NULL`,
  ),
  of(
    "keptPlaces",
    "Where in a context each layer keeps tokens",
    `SELECT p.* FROM context_places p JOIN trials t USING (study_id, trial_id)
     WHERE p.study_id = $id AND p.fidelity = '${FULL}'
     ORDER BY t.number, p.task, p.layer_index, p.part`,
  ),
  of(
    "flips",
    "Answers that were lost and gained",
    `SELECT kept_by, lost_by, task, fidelity, count(*) AS n FROM flips WHERE study_id = $id AND fidelity = '${FULL}'
       AND $id || '/t00' IN (kept_by, lost_by) GROUP BY ALL`,
  ),
  of(
    "knobEffects",
    "What each knob did to the quality, others not held",
    `SELECT * FROM knob_effects WHERE study_id = $id AND metric = 'accuracy'
       AND (method, knob) IN (SELECT (method, knob) FROM knob_effects WHERE study_id = $id
         GROUP BY method, knob HAVING count(DISTINCT knob_value) > 1)`,
  ),
  of(
    "lossCurves",
    "Loss while training",
    `SELECT * FROM metric_points WHERE study_id = $id AND metric IN ('loss', 'held_out_loss')`,
  ),
  of(
    "layerSensitivity",
    "What each layer loses in each format",
    "SELECT * FROM layer_sensitivity WHERE study_id = $id",
  ),
  of("layerMix", "Which layer has which format", "SELECT * FROM layer_mix WHERE study_id = $id"),
  of(
    "roofline",
    "Latency beside the least that the memory's bandwidth allows",
    `SELECT trial_id, any_value(runtime) AS runtime,
       max(value) FILTER (metric = 'latency_ms') AS latency_ms,
       max(value) FILTER (metric = 'roofline_ms') AS roofline_ms,
       any_value(provenance) FILTER (metric = 'latency_ms') AS provenance
     FROM headline WHERE study_id = $id GROUP BY trial_id
     HAVING latency_ms IS NOT NULL AND roofline_ms IS NOT NULL`,
  ),
  of(
    "energy",
    "Energy for 1,000 tokens",
    `SELECT * FROM leaderboard_wide WHERE study_id = $id AND energy_j_per_1k_tokens IS NOT NULL`,
  ),
  of("memory", "Memory over time", "SELECT * FROM resources WHERE study_id = $id"),
  of("phases", "Where the time of each trial went", "SELECT * FROM spans WHERE study_id = $id"),
];

/** Every figure that the store has rows for; none of a run that compares nothing. */
export async function evidenceFigures(store: Store, view: StudyView): Promise<EvidenceFigure[]> {
  if (!kindOf(view.request).needs.front) return [];
  const found: EvidenceFigure[] = [];
  for (const { name, summary, sql, draw } of DRAWN) {
    const rows = await store.ask(sql, { params: { id: view.study_id } });
    if (rows.length === 0) continue;
    const [, source] = /FROM (\w+)/.exec(sql)!; // each names one first
    found.push({
      ...{ summary, source: source!, svg: draw(rows, PAGE_WIDTH), narrow: draw(rows, PHONE_WIDTH) },
      file: `figures/${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}.svg`,
    });
  }
  return found;
}
