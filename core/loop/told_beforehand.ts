import type { ResolvedAction } from "../schemas/action.ts";
import { type Beforehand, beforehand } from "../strategies/beforehand.ts";
import { baselineRoofline } from "../strategies/compatibility.ts";
import type { Study } from "./study.ts";

/** What formulas tell of a recipe, by what the study knows so far. */
export function toldBeforehand(study: Study, actions: readonly ResolvedAction[]): Beforehand {
  const { input: { methods, facts }, spec, trials, format_losses } = study;
  const roofline_ms = baselineRoofline(spec, trials);
  return beforehand(actions, methods, facts, { roofline_ms, format_losses });
}
