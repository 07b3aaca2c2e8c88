import { mean } from "../evidence/statistics.ts";
import { isQualityMetric } from "../metrics/metric_table.ts";
import { normal } from "../random.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { Spec } from "../schemas/spec.ts";
import { type Rival, worldsOf } from "./front_worlds.ts";
import { directionsOf } from "./objectives.ts";
import { dominationCounts, type Joining, joiningFrom, type RungEvidence } from "./promotion.ts";

/** Trials from which on a figure of a rung foretells quality. */
const LEAST_BEFORE = 8;
const WORLDS = 2000;

/** What a figure of a rung that measures no quality foretells of it. */
export interface Foretold {
  readonly rung: string;
  readonly metric: string;
  /** Of the trial. */
  readonly figure: number;
  /** Windows or samples behind it. */
  readonly samples: number;
  /** Trials that have both: the figure, and what they lost beside the original, as a comparison has it. */
  readonly before: readonly { readonly figure: number; readonly loss: number }[];
  /** The original's quality in full. */
  readonly original: number;
}

/**
 * The figure on the scale on which losses go with it. By Pinsker's inequality the share of answers that
 * a KL can turn is at most √(KL/2).
 */
function onScale(metric: string, figure: number): number {
  return metric === "kl" ? Math.sqrt(Math.max(0, figure)) : figure;
}

/**
 * Losses that a figure leaves open, one a call: about the line through the trials before, by Student's t as
 * a new observation of a regression lies (Draper and Smith 1998, 1.4). The more a figure fails to order
 * the trials, the further the losses lie apart, and the less it decides.
 */
export function foretoldLosses(
  { metric, figure, before }: Pick<Foretold, "metric" | "figure" | "before">,
  random: () => number,
): () => number {
  const all = before.map((one) => ({ x: onScale(metric, one.figure), y: one.loss }));
  const n = all.length;
  const [x, y] = [mean(all.map((one) => one.x)), mean(all.map((one) => one.y))];
  const squares = all.reduce((sum, one) => sum + (one.x - x) ** 2, 0);
  const both = all.reduce((sum, one) => sum + (one.x - x) * (one.y - y), 0);
  const slope = squares > 0 ? both / squares : 0;
  const rest = all.reduce((sum, one) => sum + (one.y - y - slope * (one.x - x)) ** 2, 0);
  const away = onScale(metric, figure) - x;
  const reach = squares > 0 ? away ** 2 / squares : 0;
  const error = Math.sqrt(rest / (n - 2) * (1 + 1 / n + reach));
  return () => y + slope * away + error * studentT(n - 2, random);
}

/** A number of Student's t distribution. */
function studentT(freedom: number, random: () => number): number {
  let squares = 0;
  for (let i = 0; i < freedom; i++) squares += normal(random) ** 2;
  return normal(random) / Math.sqrt(squares / freedom);
}

/**
 * How probable it is that no member of the front dominates a trial whose quality is only foretold. In
 * each world the members lie as their full evaluations leave open, and the trial at a quality that the
 * rung's figure leaves open; cost is as in every world. Null: too few trials tell how the figure goes
 * with quality, or the front is of no quality.
 */
export function foretoldJoining(
  trial: RungEvidence,
  front: readonly RungEvidence[],
  foretold: Foretold,
  spec: Spec,
  random: () => number,
  { draws = WORLDS }: { draws?: number } = {},
): Joining | null {
  const { rung, samples, before, original } = foretold;
  const at = spec.objectives.findIndex(({ metric }) => isQualityMetric(metric));
  const members = front.filter(({ evaluations }) => evaluations.has(FULL));
  if (at < 0 || before.length < LEAST_BEFORE || members.length === 0) return null;
  const rivalOn = (one: RungEvidence, on: string): Rival => ({
    ...one,
    rows: one.evaluations.get(on)!.measurements,
    samples: one.evaluations.get(on)!.samples,
    artifact: one.artifact_ids?.at(-1),
  });
  const rivals = [rivalOn(trial, rung), ...members.map((one) => rivalOn(one, FULL))];
  const draw = worldsOf(rivals, spec, random);
  const losses = foretoldLosses(foretold, random);
  // Accuracy loses points, perplexity rises by a share.
  const rises = spec.objectives[at]!.direction === "minimize";
  const worlds = () => {
    const points = draw();
    const loss = losses();
    points[0]![at] = rises ? original * (1 + loss) : original - loss;
    return points;
  };
  const counted = dominationCounts(worlds, members.length, directionsOf(spec), draws);
  const places = members.map((member) => front.indexOf(member));
  return {
    ...joiningFrom(counted, draws, places),
    ...{ rung, samples, foretold_by: before.length },
  };
}
