import { cacheByContext } from "./figures/caches/cache_by_context.ts";
import { energy } from "./figures/energy.ts";
import { flips } from "./figures/flips.ts";
import { hypervolume } from "./figures/hypervolume.ts";
import { keptPlaces } from "./figures/caches/kept_places.ts";
import { knobEffects } from "./figures/knob_effects.ts";
import { knobImportance } from "./figures/knob_importance.ts";
import { layerMix, layerSensitivity } from "./figures/layers.ts";
import { lineage } from "./figures/lineage.ts";
import { lossCurves } from "./figures/loss_curves.ts";
import { memory } from "./figures/memory.ts";
import { needleMap } from "./figures/caches/needle_map.ts";
import { pareto } from "./figures/pareto.ts";
import { phases } from "./figures/phases.ts";
import { qualityByCache } from "./figures/caches/quality_by_cache.ts";
import { qualityByRatio } from "./figures/quality_by_ratio.ts";
import { rateDistortion } from "./figures/rate_distortion.ts";
import { recipes } from "./figures/recipes.ts";
import { retention } from "./figures/retention.ts";
import { roofline } from "./figures/roofline.ts";
import { servedLoad } from "./figures/serving/served_load.ts";

export type { FigureOptions } from "./ground/options.ts";
export { figureText } from "./ground/svg.ts";

/**
 * Every figure by its name: rows, as SQL gives them, to the text of one SVG. Rows that cannot be drawn
 * give a figure that says why it is empty; a missing column is a `UsageError` that names the query.
 *
 * ```ts
 * const rows = [ // as of `SELECT * FROM retention`
 *   { trial_id: "s/t01", metric: "accuracy", task: "words", fidelity: "full", ratio: 0.98 },
 * ];
 * const svg = figures.retention(rows, { width: 640 }); // showFigure(svg) in a cell
 * console.assert(svg.startsWith("<svg"));
 * ```
 */
export const figures = {
  ...{ pareto, hypervolume, recipes, retention, knobEffects, knobImportance },
  ...{ layerSensitivity, layerMix, flips, roofline, memory, energy, lossCurves },
  ...{ lineage, phases, rateDistortion, qualityByRatio, qualityByCache, needleMap, cacheByContext },
  ...{ keptPlaces, servedLoad },
} as const;
