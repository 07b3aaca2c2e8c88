import { METRICS, type WeightName, WEIGHTS } from "../metrics/metric_table.ts";
import { PERPLEXITY_RISE_PER_ACCURACY_DROP } from "../evidence/constraints.ts";
import { SLACK } from "../evidence/slack.ts";
import type { Action, Origin } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { EarlierTrial } from "../schemas/proposal.ts";
import type { Spec } from "../schemas/spec.ts";
import { stillFits } from "./recovery.ts";
import type { AgentMethod } from "./resolve_action.ts";
import { recipeRefusal } from "./rule_strategies.ts";
import { strategyKey } from "./strategy_names.ts";

/** Recipes of earlier studies that a study begins with, at most: the search is still its own. */
const MOST = 2;
/** An earlier study that is less like this one than this is no reason to try anything. */
const LEAST_SIMILARITY = 0.2;
/** What another dataset of the same class, another class and another limit leave of the similarity. */
const SAME_CLASS = 0.8;
const OTHER_CLASS = 0.5;
const OTHER_LIMIT = 0.8;

/** A recipe that did well in an earlier study, as a first try of this one. */
export interface EarlierStrategy {
  readonly actions: Action[];
  readonly origin: Origin;
}

/**
 * How much an earlier study tells of this one, from 0 to 1: √(smaller / larger model), times 1 for the
 * same dataset, 0.8 for another of its class and 0.5 for any other, times 0.8 where another drop of
 * accuracy was allowed. What old records do not tell counts as other. The architecture is the same.
 */
export function similarityTo(
  { parameters, dataset, dataset_class, max_accuracy_drop }: EarlierTrial,
  spec: Spec,
  facts: Facts,
): number {
  const own = facts.model.parameters;
  const size = parameters === undefined || parameters <= 0 || own <= 0
    ? 0.5
    : Math.sqrt(Math.min(parameters, own) / Math.max(parameters, own));
  const data = dataset === facts.dataset.dataset
    ? 1
    : dataset_class === spec.dataset_class
    ? SAME_CLASS
    : OTHER_CLASS;
  const limit = max_accuracy_drop === spec.constraints.max_accuracy_drop ? 1 : OTHER_LIMIT;
  return size * data * limit;
}

/** What a weight of the reward stands for in the earlier trial, over its own baseline. */
function ratioOf({ figures }: EarlierTrial, weight: WeightName) {
  for (const metric of METRICS.filter((one) => one.weight === weight)) {
    const { value, baseline } = figures[metric.name] ?? {};
    if (value === undefined || !baseline || !(value > 0)) continue;
    // More tokens per second are less time.
    const turned = metric.kind !== "quality" && metric.direction === "maximize";
    return { metric, value, baseline, ratio: turned ? baseline / value : value / baseline };
  }
  return null;
}

/**
 * What a trial gained over its own baseline by the weights of this study's reward; null: its quality
 * was not measured, or fell further than this study allows.
 */
function gainOf(trial: EarlierTrial, { reward_weights, constraints }: Spec): number | null {
  const quality = ratioOf(trial, "accuracy");
  if (quality === null) return null;
  const { value, baseline, ratio, metric } = quality;
  const rises = metric.direction === "minimize"; // perplexity
  const drop = rises ? (ratio - 1) / PERPLEXITY_RISE_PER_ACCURACY_DROP : baseline - value;
  if (drop > constraints.max_accuracy_drop + SLACK) return null;
  return WEIGHTS.reduce((sum, name) => {
    const found = ratioOf(trial, name);
    const weight = reward_weights[name] ?? 0;
    if (found === null || weight === 0) return sum;
    const gains = name === "accuracy";
    const over = gains && rises ? 1 / found.ratio : found.ratio;
    return sum + (gains ? 1 : -1) * weight * (over - 1);
  }, 0);
}

/**
 * The best recipes of earlier studies of this architecture: evaluated in full, no worse in quality than
 * this study allows, better than their own baseline by this study's weights, and able to run here;
 * ordered by gain times similarity. They are first tries: this study measures them itself.
 */
export function earlierStrategies(
  earlier: readonly EarlierTrial[],
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
): EarlierStrategy[] {
  const found = earlier.flatMap((trial) => {
    if (trial.state !== "completed" || !isDecisive(trial.fidelity)) return [];
    const similarity = similarityTo(trial, spec, facts);
    const gain = gainOf(trial, spec);
    if (gain === null || gain <= 0 || similarity < LEAST_SIMILARITY) return [];
    return [{ trial, similarity, gain, worth: similarity * gain }];
  }).sort((a, b) => b.worth - a.worth);
  const keys = new Set<string>();
  const strategies: EarlierStrategy[] = [];
  for (const { trial, similarity, gain } of found) {
    if (strategies.length === MOST) break;
    const key = strategyKey(trial.actions);
    if (trial.actions.length === 0 || keys.has(key) || !runs(trial, spec, facts, methods)) continue;
    keys.add(key);
    const { trial_id, model_name, dataset } = trial;
    const reason = `${trial_id} (${model_name} on ${dataset}, ${two(similarity)} alike) gained ` +
      `${two(gain)} over its baseline by this study's weights`;
    const actions = trial.actions.map(({ agent, method, params }) => ({ agent, method, params }));
    strategies.push({ actions, origin: { sampler: "earlier_study", mode: "seed", reason } });
  }
  return strategies;
}

function runs(
  { actions }: EarlierTrial,
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
): boolean {
  const fit = actions.every((action) => stillFits({ ...action, resolved: [] }, methods));
  return fit && recipeRefusal(actions, spec, facts, methods) === null;
}

function two(value: number): string {
  return value.toFixed(2);
}
