import { metricOf, METRICS, WEIGHTS } from "../metrics/metric_table.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ChosenRuntime } from "./front_objectives.ts";

type Asked = Pick<Spec, "objectives" | "constraints" | "reward_weights">;

const inRuntime = (name: string): boolean => metricOf(name)?.in_runtime === true;

/** Whether a front, a limit, a goal or a weight is of a figure that a runtime alone gives. */
function asksRuntime({ objectives, constraints, reward_weights }: Asked): boolean {
  const { max_latency_ms, goals = [] } = constraints;
  const weighed = WEIGHTS.filter((name) => (reward_weights[name] ?? 0) > 0);
  return max_latency_ms !== null ||
    [...objectives.map(({ metric }) => metric), ...goals.map(({ on }) => on)].some(inRuntime) ||
    weighed.some((one) =>
      METRICS.filter(({ weight }) => weight === one).every(({ name }) => inRuntime(name))
    );
}

/**
 * Why speed and memory of no trial are measured; empty: they are. A runtime that only emulates them has
 * nothing to say of a study whose memory is counted at a context, unless it asks for them.
 */
export function untimedStudy(
  asked: Asked,
  { context_tokens }: Pick<RunRequest, "context_tokens">,
  { name, runtime }: Pick<ChosenRuntime, "name" | "runtime">,
): { readonly untimed?: string } {
  if (context_tokens === undefined || runtime.emulates === undefined) return {};
  if (asksRuntime(asked)) return {};
  return {
    untimed: `Nothing is timed, as ${name} only emulates speed and no objective, limit or weight ` +
      "is of it; memory is counted at the context",
  };
}
