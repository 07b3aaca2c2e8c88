import type { Facts } from "../../schemas/facts.ts";
import type { Spec } from "../../schemas/spec.ts";
import type { StagesPlan } from "../../schemas/stages/plan.ts";
import { chainOf } from "../../strategies/chain.ts";
import { type AgentMethod, resolveActions } from "../../strategies/resolve_action.ts";
import { cannotJudge, type NotJudged } from "../scores.ts";
import { benchmarksOf } from "../stages_request.ts";
import { totalBytes } from "../../strategies/weight_bytes.ts";

/** What one stage is expected to take. Seconds, bytes. */
export interface StageForecast {
  readonly stage: string;
  readonly compress_seconds: number;
  readonly evaluate_seconds: number;
  /** By the formula of its last action. */
  readonly bytes: number;
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
 * Seconds of a sample on two cores by the demo's model of 135 M parameters, as docs/speed.md measured
 * them: ARC-Challenge with 25 examples 0.84 a second, generated answers of GSM8K 0.17 a second.
 */
const SECONDS_A_SAMPLE = { scored: 1 / 0.84, generated: 1 / 0.17 };
const MEASURED_PARAMETERS = 135e6;
/** A worker's start. */
const START_SECONDS = 5;

function evaluationSeconds(
  { rungs }: Spec,
  { model: { parameters } }: Facts,
  generated: ReadonlySet<string>,
): number {
  const samples = Object.entries(rungs.at(-1)!.samples).reduce(
    (sum, [task, count]) =>
      sum + (count ?? 1000) * SECONDS_A_SAMPLE[generated.has(task) ? "generated" : "scored"],
    0,
  );
  return rungs.length * START_SECONDS + samples * parameters / MEASURED_PARAMETERS;
}

/** Foretells time, storage and cost: what methods say of themselves, and evaluations by their samples. */
export function forecastStages(
  plan: StagesPlan,
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
  {
    generated = new Set(),
    seen = null,
  }: {
    /** Benchmarks whose answers are generated. */
    readonly generated?: ReadonlySet<string>;
    /** Seconds of an evaluation that was seen; null: none was. */
    readonly seen?: number | null;
  } = {},
): StagesForecast {
  const evaluate_seconds = seen ?? evaluationSeconds(spec, facts, generated);
  const stages = plan.stages.map((stage): StageForecast => {
    try {
      const actions = resolveActions(stage.actions, methods, facts);
      const chain = chainOf(actions, methods, facts);
      const seconds = chain.reduce(
        (sum, { action, entry: { method }, met }) =>
          sum + method.estimateSeconds(action.params, met),
        0,
      );
      const bytes = totalBytes(chain.at(-1)!.leaves.model); // a stage has an action
      const about = { stage: stage.name, evaluate_seconds, bytes, unknown: null };
      return { ...about, compress_seconds: seconds };
    } catch (error) {
      const unknown = error instanceof Error ? error.message : String(error);
      return { stage: stage.name, compress_seconds: 0, evaluate_seconds, bytes: 0, unknown };
    }
  });
  const one = ({ compress_seconds, evaluate_seconds }: StageForecast) =>
    compress_seconds + evaluate_seconds;
  const sum = (times: (i: number) => number, of: (stage: StageForecast) => number) =>
    stages.reduce((total, stage, i) => total + times(i) * of(stage), 0);
  const attempts = (i: number) => plan.stages[i]!.attempts;
  const seconds = evaluate_seconds + sum(() => 1, one);
  const most_seconds = evaluate_seconds + sum(attempts, one);
  const price = plan.price_per_hour;
  return {
    baseline_seconds: evaluate_seconds,
    stages,
    seconds,
    most_seconds,
    storage_bytes: sum(attempts, ({ bytes }) => bytes),
    cost: price === undefined ? null : {
      value: price * seconds / 3600,
      most: price * most_seconds / 3600,
      currency: plan.currency,
    },
    not_judged: benchmarksOf(plan).flatMap((benchmark) => {
      const reason = cannotJudge(spec, benchmark);
      return reason === null ? [] : [{ benchmark, reason }];
    }),
    basis: seen === null
      ? "every sample of the last rung, by the model's parameters, at what the demo's model took on two " +
        "cores a long prompt (docs/speed.md)"
      : "an evaluation as the baseline's took",
  };
}
