import { mostWorse } from "../evidence/goals.ts";
import type { ComparableStudy } from "../front/comparable.ts";
import { yardstickFor } from "../front/objectives.ts";
import type { Facts } from "../schemas/facts.ts";
import type { Spec } from "../schemas/spec.ts";
import { figuresOf } from "./foretold_figures.ts";

/** What a goal leaves of an objective whose baseline is known; null: there is no goal on it. */
function goalOn(
  { metric, direction }: Spec["objectives"][number],
  { constraints: { goals = [] } }: Pick<Spec, "constraints">,
  baseline: number,
): number | null {
  const goal = goals.find(({ of, on }) => of === "metric" && on === metric);
  if (goal === undefined) return null;
  const worse = mostWorse(goal, baseline);
  return direction === "minimize" ? baseline + worse : baseline - worse;
}

const GIGABYTE = 1e9;

/** The limit that the user set on an objective's own figure, in its unit; null: none. */
function limitOn(metric: string, { constraints }: Pick<Spec, "constraints">, baseline: number) {
  const { max_accuracy_drop, max_size_gb, max_latency_ms, max_vram_gb, max_kv_gb } = constraints;
  if (metric === "accuracy") return baseline - max_accuracy_drop;
  if (metric === "latency_ms") return max_latency_ms;
  const limits: Readonly<Record<string, number | null | undefined>> = {
    size_bytes: max_size_gb,
    kv_bytes_at_context: max_kv_gb,
    memory_bytes_at_context: max_vram_gb,
  };
  const limit = limits[metric] ?? null;
  return limit === null ? null : limit * GIGABYTE;
}

/**
 * Beyond which nothing counts for a study, by objective: the corner that its hypervolume is measured from, which
 * the original's figures give, or the user's limit where that is nearer. Null where no baseline is measured.
 */
export function studyCorner(study: ComparableStudy, facts: Facts): number[] | null {
  const yardstick = yardstickFor(study, facts);
  const baseline = study.trials.find(({ strategy, state }) =>
    strategy === null && state === "completed"
  );
  const own = baseline === undefined ? null : figuresOf(baseline, study);
  if (yardstick === null || own === null) return null;
  return study.spec.objectives.map((objective, m) => {
    const { metric, direction } = objective;
    const corner = yardstick.reference[m]! * yardstick.scale[m]!;
    const { value } = own[m]!;
    const limits = [limitOn(metric, study.spec, value), goalOn(objective, study.spec, value)]
      .filter((limit) => limit !== null);
    const nearest = direction === "minimize" ? Math.min : Math.max;
    return nearest(corner, ...limits);
  });
}
