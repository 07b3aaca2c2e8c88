import { metricOf } from "../metrics/metric_table.ts";
import type { Measurement } from "../schemas/measurement.ts";
import { wilsonInterval } from "../evidence/statistics.ts";
import { t975 } from "../evidence/numerics/student_t.ts";

type Figure = Pick<Measurement, "metric" | "value" | "standard_error" | "n">;

/**
 * 95 % interval of a mean KL: Student's t on the log scale, exp(ln mean ∓ t·se/mean), n the windows or
 * samples, never tokens, as those of one window go together. A mean of KL is skewed to the right and
 * above 0, which this keeps. Null below two, or where the mean is 0.
 */
export function meanKlInterval(
  { value, standard_error, n }: Omit<Figure, "metric">,
): [number, number] | null {
  if (n < 2 || standard_error === null || !(value > 0)) return null;
  const half = t975(n - 1) * standard_error / value;
  return [value * Math.exp(-half), value * Math.exp(half)];
}

/** 95 % interval of a mean difference by Student's t; null below two. */
function meanInterval({ value, standard_error, n }: Omit<Figure, "metric">) {
  if (n < 2 || standard_error === null) return null;
  const half = t975(n - 1) * standard_error;
  return [value - half, value + half] satisfies [number, number];
}

/** The interval that a figure of distance is shown and judged by; null: it has none. */
export function distanceInterval(figure: Figure): [number, number] | null {
  if (metricOf(figure.metric)?.signed === true) return meanInterval(figure);
  if (metricOf(figure.metric)?.unit !== "1") return meanKlInterval(figure);
  return figure.n > 0 ? wilsonInterval(figure.value, figure.n) : null;
}
