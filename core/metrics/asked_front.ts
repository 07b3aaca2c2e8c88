import { UsageError } from "../errors.ts";
import { isDistance, isQualityMetric, knownMetric, type Metric, METRICS } from "./metric_table.ts";

/** Metrics that a front may be of. */
const FRONT_METRICS: readonly Metric[] = METRICS.filter(({ objective }) => objective);

function frontMetric(name: string): Metric {
  const named = METRICS.find((one) => one.name === name);
  if (named?.kind === "distance" && named.objective !== true) {
    throw new UsageError(
      `Cannot draw a front of ${name} as it is measured on a rung below the last one: set a gate on it`,
    );
  }
  if (named !== undefined && named.objective !== true) {
    throw new UsageError(
      `Cannot draw a front of ${name} as it is the figure of single tasks: the mean over tasks of ` +
        "all that score from 0 to 1 is called accuracy",
    );
  }
  return knownMetric(name, "objective of the front", FRONT_METRICS);
}

/**
 * The metrics that a request's `front` names, the quality first; null: it names none. One of them is
 * a quality, or at least one says how far the answers are from the original's, as without any the
 * smallest model that answers nothing would be on every front.
 */
export function askedFront(front: readonly string[] | undefined): readonly Metric[] | null {
  if (front === undefined) return null;
  const metrics = front.map(frontMetric);
  const twice = metrics.find((one, i) => metrics.indexOf(one) !== i);
  const said = metrics.map(({ name }) => name).join(", ");
  if (twice !== undefined) {
    throw new UsageError(`Cannot draw a front of ${said} as it names ${twice.name} twice`);
  }
  const isQuality = ({ name }: Metric) => isQualityMetric(name);
  const qualities = metrics.filter(isQuality);
  const distances = metrics.filter(({ name }) => isDistance(name));
  if (qualities.length > 1 || qualities.length + distances.length === 0) {
    throw new UsageError(
      `Cannot draw a front of ${said} as it must name one quality, accuracy or perplexity, or how ` +
        "far answers are from the original's: kl, choice_kl, flips or changed_answers",
    );
  }
  const first = qualities.length > 0 ? qualities : distances;
  return [...first, ...metrics.filter((one) => !first.includes(one))];
}
