import { limitVerdict } from "../evidence/constraints.ts";
import { mostWorse } from "../evidence/goals.ts";
import { goalLimit } from "../metrics/metric_words.ts";
import type { Constraints } from "../schemas/spec.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import type { ComparedLatency } from "./compared_latency.ts";

const GOAL = goalLimit("latency_ms");

/** Constraints that go by a trial's latency as it is compared with those of other minutes. */
export const LATENCY_LIMITS: readonly string[] = ["max_latency_ms", GOAL];

/** A verdict by the compared latency, where it is on latency; any other as it is. */
export function latencyVerdict(
  verdict: ConstraintVerdict,
  { max_latency_ms, goals = [] }: Constraints,
  { ms, log_error, ratio }: ComparedLatency,
): ConstraintVerdict {
  const standard_error = log_error === null ? null : ms * log_error;
  const { constraint } = verdict;
  if (constraint === "max_latency_ms" && max_latency_ms !== null) {
    return limitVerdict(constraint, max_latency_ms, { value: ms, standard_error });
  }
  const goal = goals.find(({ on, of }) => of === "metric" && on === "latency_ms");
  if (constraint !== GOAL || goal === undefined || ratio === null) return verdict;
  const baseline = ms / ratio;
  return limitVerdict(constraint, mostWorse(goal, baseline), {
    value: ms - baseline,
    standard_error,
  });
}
