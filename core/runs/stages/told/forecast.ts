import type { Facts } from "../../../schemas/facts.ts";
import type { Spec } from "../../../schemas/spec.ts";
import type { StagePlan, StagesPlan } from "../plan.ts";
import type { Action } from "../../../schemas/action.ts";
import { chainOf } from "../../../strategies/chain.ts";
import { type AgentMethod, resolveActions } from "../../../strategies/resolve_action.ts";
import { totalBytes } from "../../../strategies/weight_bytes.ts";
import { adjusted } from "../adjust.ts";
import { plannedFacts } from "../planned.ts";
import { cannotJudge, type NotJudged } from "../checks/scores.ts";
import { benchmarksOf } from "../stages_request.ts";

/** What one stage is expected to take. Seconds, bytes. */
export interface StageForecast {
  readonly stage: string;
  /** Of its first attempt. */
  readonly compress_seconds: number;
  readonly evaluate_seconds: number;
  /** By the formula of its last action. */
  readonly bytes: number;
  /** Of all attempts that it may take, each further one with the adjustment that takes longest. */
  readonly most_seconds: number;
  /** On disk for what all of them may leave, each with the adjustment that leaves most. */
  readonly most_bytes: number;
  /** Why it cannot be foretold; null: it can. */
  readonly unknown: string | null;
}

/** What a staged run is expected to take before it starts. */
export interface StagesForecast {
  readonly baseline_seconds: number;
  readonly stages: readonly StageForecast[];
  readonly seconds: number;
  /** With every attempt that a stage may take. */
  readonly most_seconds: number;
  /** On disk for what every attempt may leave. */
  readonly storage_bytes: number;
  /** Null: no price is given. */
  readonly cost:
    | { readonly value: number; readonly most: number; readonly currency: string }
    | null;
  /** Benchmarks that will judge nothing, each with its reason. */
  readonly not_judged: readonly NotJudged[];
  /** What an evaluation was reckoned by. */
  readonly basis: string;
}

/**
 * Seconds of a sample on two cores by the demo's model of 135 M parameters, as docs/measurements/speed.md measured
 * them: ARC-Challenge with 25 examples 0.84 a second, generated answers of GSM8K 0.17 a second.
 */
const SECONDS_A_SAMPLE = { scored: 1 / 0.84, generated: 1 / 0.17 };
const MEASURED_PARAMETERS = 135e6;
/** A worker's start. */
const START_SECONDS = 5;

/** Seconds of an evaluation on the last rung. answers: of tasks whose answers are generated, how
 * many of each sample */
function evaluationSeconds(
  { rungs, tasks }: Spec,
  { model: { parameters } }: Facts,
  answers: ReadonlyMap<string, number>,
): number {
  const available = new Map(tasks.map((plan) => [plan.task, plan.available_samples]));
  const samples = Object.entries(rungs.at(-1)!.samples).reduce((sum, [task, count]) => {
    const drawn = answers.get(task);
    const a_sample = drawn === undefined
      ? SECONDS_A_SAMPLE.scored
      : drawn * SECONDS_A_SAMPLE.generated;
    return sum + (count ?? available.get(task) ?? 1000) * a_sample;
  }, 0);
  return rungs.length * START_SECONDS + samples * parameters / MEASURED_PARAMETERS;
}

/** What one attempt takes, and what it leaves. */
interface AttemptCost {
  readonly seconds: number;
  readonly bytes: number;
}

function costOf(
  actions: readonly Action[],
  methods: readonly AgentMethod[],
  met: Facts,
): AttemptCost {
  const chain = chainOf(resolveActions(actions, methods, met), methods, met);
  const seconds = chain.reduce(
    (sum, { action, entry: { method }, met }) => sum + method.estimateSeconds(action.params, met),
    0,
  );
  return { seconds, bytes: totalBytes(chain.at(-1)!.leaves.model) }; // a stage has an action
}

/** Every attempt of a stage: the first as declared, each further one adjusted, at its dearest. */
function attemptsOf(
  { actions, attempts, adjustments }: StagePlan,
  methods: readonly AgentMethod[],
  met: Facts,
): AttemptCost[] {
  const own = adjustments.filter(({ skip }) => !skip);
  let current: readonly Action[] = actions;
  const costs = [costOf(actions, methods, met)];
  while (costs.length < attempts) {
    const resolved = resolveActions(current, methods, met);
    const tried = own.map((adjustment) => {
      const changed = adjusted(current, resolved, adjustment, methods).actions;
      return { changed, ...costOf(changed, methods, met) };
    });
    const longest = tried.toSorted((one, other) => other.seconds - one.seconds)[0];
    current = longest?.changed ?? current; // tried as it was, where the machine has failed it
    const before = costs.at(-1)!; // the first, at least
    costs.push({
      seconds: longest?.seconds ?? before.seconds,
      bytes: Math.max(...tried.map(({ bytes }) => bytes), tried.length === 0 ? before.bytes : 0),
    });
  }
  return costs;
}

function forecastStage(
  stage: StagePlan,
  methods: readonly AgentMethod[],
  met: Facts | null,
  evaluate_seconds: number,
): StageForecast {
  const unknown = (why: string): StageForecast => ({
    ...{ stage: stage.name, compress_seconds: 0, evaluate_seconds, bytes: 0, unknown: why },
    ...{ most_seconds: stage.attempts * evaluate_seconds, most_bytes: 0 },
  });
  if (met === null) return unknown("what it is applied to cannot be foretold");
  try {
    const costs = attemptsOf(stage, methods, met);
    const [first] = costs;
    return {
      stage: stage.name,
      compress_seconds: first!.seconds, // an attempt at least
      evaluate_seconds,
      bytes: first!.bytes,
      most_seconds: costs.reduce((sum, { seconds }) => sum + seconds + evaluate_seconds, 0),
      most_bytes: costs.reduce((sum, { bytes }) => sum + bytes, 0),
      unknown: null,
    };
  } catch (error) {
    return unknown(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Foretells time, storage and cost: what methods say of themselves for the model that each stage will
 * meet, and evaluations by their samples. answers: of tasks whose answers are generated, how many are
 * drawn of each sample
 */
export function forecastStages(
  plan: StagesPlan,
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
  answers: ReadonlyMap<string, number> = new Map(),
): StagesForecast {
  const evaluate_seconds = evaluationSeconds(spec, facts, answers);
  const met = plannedFacts(plan.stages, methods, facts);
  const stages = plan.stages.map((stage, i) =>
    forecastStage(stage, methods, met[i]!, evaluate_seconds)
  );
  const sum = (of: (stage: StageForecast) => number) =>
    stages.reduce((total, stage) => total + of(stage), 0);
  const seconds = evaluate_seconds +
    sum((stage) => stage.compress_seconds + stage.evaluate_seconds);
  const most_seconds = evaluate_seconds + sum((stage) => stage.most_seconds);
  const price = plan.price_per_hour;
  return {
    baseline_seconds: evaluate_seconds,
    stages,
    seconds,
    most_seconds,
    storage_bytes: sum(({ most_bytes }) => most_bytes),
    cost: price === undefined ? null : {
      value: price * seconds / 3600,
      most: price * most_seconds / 3600,
      currency: plan.currency,
    },
    not_judged: benchmarksOf(plan).flatMap((benchmark) => {
      const reason = cannotJudge(spec, benchmark);
      return reason === null ? [] : [{ benchmark, reason }];
    }),
    basis:
      "every sample of the last rung, and every program drawn of it, by the model's parameters, at " +
      "what the demo's model took on two cores a long prompt (docs/measurements/speed.md)",
  };
}
