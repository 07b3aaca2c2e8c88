import type { Evaluation } from "../ports.ts";
import type { SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { ownRow } from "../evidence/quality.ts";
import { isQualityMetric, metricOf } from "../metrics/metric_table.ts";
import { rungNames } from "../schemas/rungs.ts";
import { type Rival, worldsOf } from "./front_worlds.ts";
import { type Compared, directionsOf, objectiveFigure } from "./objectives.ts";
import { covers, type Direction, minimised } from "./pareto.ts";

/** What is known of a trial on the rungs that it reached, by their names. */
export interface RungEvidence extends Compared {
  readonly evaluations: ReadonlyMap<string, Evaluation>;
  /** Of its last artifact; trials of one are equally good. */
  readonly artifact_ids?: readonly string[];
}

/** How probable it is that a trial joins the front. */
export interface Joining {
  /** That no member of the front dominates it: (worlds in which none does + 1) / (worlds + 2). */
  readonly probability: number;
  /** The rung that quality was compared on, and samples of it that all had. */
  readonly rung: string;
  readonly samples: number;
  /** Place of the member that dominates it in most worlds; null: none ever does. */
  readonly rival: number | null;
  /** Trials by which another figure of the rung foretells its quality; absent: it was measured there. */
  readonly foretold_by?: number;
}

/** Worlds that are drawn: a probability of 0.02 is then known to ± 0.003. */
const WORLDS = 2000;

function rivalOn(rung: string, evidence: RungEvidence): Rival {
  const { measurements, samples } = evidence.evaluations.get(rung)!;
  return { ...evidence, rows: measurements, samples, artifact: evidence.artifact_ids?.at(-1) };
}

/**
 * How probable it is that no member of the front dominates a trial, by the samples of the highest rung that
 * it shares with one: quality in worlds drawn from those samples, so that figures of two rungs never
 * stand against each other; latency with its errors; bytes exactly, so that who is best in them always
 * joins. Members without that rung are left out. Null: there is nothing to compare by. A figure that a
 * runtime cannot give helps nobody to the front.
 */
export function joinProbability(
  trial: RungEvidence,
  front: readonly RungEvidence[],
  spec: Spec,
  random: () => number,
  { draws = WORLDS }: { draws?: number } = {},
): Joining | null {
  const rung = rungNames(spec).findLast((name) =>
    trial.evaluations.has(name) && front.some(({ evaluations }) => evaluations.has(name))
  );
  if (rung === undefined) return null;
  const lacks = (one: RungEvidence, metric: string) =>
    isQualityMetric(metric)
      ? countedSamples(one.evaluations.get(rung)!, spec).length === 0
      : objectiveFigure(one, metric, spec, rung) === undefined;
  const members = front.flatMap((member, place) => {
    const comparable = member.evaluations.has(rung) &&
      !spec.objectives.some(({ metric }) => lacks(member, metric));
    return comparable ? [{ member, place }] : [];
  });
  const unknown = spec.objectives.some(({ metric }) =>
    metricOf(metric)?.in_runtime !== true && lacks(trial, metric)
  );
  if (unknown || members.length === 0) return null;
  const all = [trial, ...members.map(({ member }) => member)];
  const draw = worldsOf(all.map((one) => rivalOn(rung, one)), spec, random, rung);
  const counted = dominationCounts(draw, members.length, directionsOf(spec), draws);
  return {
    ...joiningFrom(counted, draws, members.map(({ place }) => place)),
    rung,
    samples: sharedSamples(all.map(({ evaluations }) => evaluations.get(rung)!), spec),
  };
}

/** Of so many worlds: those in which nobody dominates the first rival, and those in which each other one does. */
export interface Dominations {
  readonly joins: number;
  readonly times: readonly number[];
}

/** The probability that follows, and the place of the member that dominates most often. */
export function joiningFrom(
  { joins, times }: Dominations,
  draws: number,
  places: readonly number[],
): Pick<Joining, "probability" | "rival"> {
  const most = Math.max(...times);
  return {
    probability: (joins + 1) / (draws + 2),
    rival: most === 0 ? null : places[times.indexOf(most)]!,
  };
}

/** Counts them; `draw` gives a world, the first rival's point before those of `members` others. */
export function dominationCounts(
  draw: () => number[][],
  members: number,
  directions: readonly Direction[],
  draws: number,
): Dominations {
  const times = new Array<number>(members).fill(0);
  let joins = 0;
  for (let world = 0; world < draws; world++) {
    const [own, ...others] = minimised(draw(), directions);
    let free = true;
    others.forEach((other, i) => {
      if (!covers(other, own!) || covers(own!, other)) return;
      times[i]!++;
      free = false;
    });
    if (free) joins++;
  }
  return { joins, times };
}

/** Samples of the tasks that count for the quality, on a rung that measured it. */
export function countedSamples(
  { measurements, samples }: Pick<Evaluation, "measurements" | "samples">,
  { tasks }: Pick<Spec, "tasks">,
): SampleResult[] {
  const counted = new Set(
    tasks.filter((plan) => plan.primary && ownRow(measurements, plan) !== undefined)
      .map(({ task }) => task),
  );
  return samples.filter(({ task }) => counted.has(task));
}

/** How many of those all have. */
function sharedSamples(evaluations: readonly Evaluation[], spec: Spec): number {
  const sets = evaluations.map((one) =>
    new Set(countedSamples(one, spec).map(({ task, sample_hash }) => `${task} ${sample_hash}`))
  );
  return [...sets[0]!].filter((name) => sets.every((set) => set.has(name))).length;
}
