import { isQualityMetric } from "../../core/mod.ts";

/** Costs that a figure has panels for. */
const PANELS = 2;

/** The costs of a front that are drawn, and those that are left to the table. */
export function drawnObjectives(
  objectives: readonly string[],
): { drawn: string[]; left: string[] } {
  const costs = objectives.filter((one) => !isQualityMetric(one));
  return { drawn: costs.slice(0, PANELS), left: costs.slice(PANELS) };
}
