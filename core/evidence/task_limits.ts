import type { Evaluation } from "../ports.ts";
import { mostWorse } from "./goals.ts";
import { taskLimit } from "../metrics/metric_words.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import { ofTask, orderedTask } from "./quality.ts";
import {
  type PairedSequence,
  pairedSequence,
  sampleKey,
  sampleOrder,
  samplesUntilDecided,
} from "./sequence/paired_sequence.ts";
import {
  judgeSequence,
  judgeTaken,
  LEVEL,
  openVerdict,
  sequenceInterval,
  type SequentialVerdict,
} from "./sequence/verdict.ts";
import { pairBySample, pairedDifference } from "./statistics.ts";

/** What a trial loses on a task that has a limit of its own. */
export interface TaskDrop {
  readonly task: string;
  readonly limit: number;
  /** Baseline − trial, over all samples that both have. */
  readonly drop: number;
  readonly sequence: PairedSequence;
}

/** The tasks that have a limit of their own, absolute or against the baseline. */
function limitedTasks({ max_task_drops = {}, goals = [] }: Spec["constraints"]): string[] {
  const aimed = goals.filter(({ of }) => of === "task").map(({ on }) => on);
  return [...new Set([...Object.keys(max_task_drops), ...aimed])];
}

/** Limits on single tasks that a study claims to keep. */
export const claimsOf = (constraints: Spec["constraints"]): number =>
  limitedTasks(constraints).length;

/** What a task may lose: the strictest of its limits, of a baseline's mean score. */
function limitOn(
  task: string,
  { max_task_drops = {}, goals = [] }: Spec["constraints"],
  baseline: number,
): number {
  const aimed = goals.filter(({ of, on }) => of === "task" && on === task)
    .map((goal) => mostWorse(goal, baseline));
  return Math.min(max_task_drops[task] ?? Infinity, ...aimed);
}

/** Every task with a limit that both sides have samples of. */
export function taskDrops(
  spec: Spec,
  reference: Pick<Evaluation, "samples">,
  other: Pick<Evaluation, "samples">,
  original?: Pick<Evaluation, "samples">,
): TaskDrop[] {
  const { tasks, constraints } = spec;
  return tasks.flatMap((plan) => {
    const { task } = plan;
    const samples = ofTask(reference, task);
    const mean = samples.reduce((sum, { score }) => sum + score, 0) / samples.length;
    const limit = limitOn(task, constraints, mean);
    const { pairs } = pairBySample(samples, ofTask(other, task));
    if (limit === Infinity || pairs.length === 0) return [];
    const scores = new Map(other.samples.map((sample) => [sampleKey(sample), sample.score]));
    const order = sampleOrder([orderedTask(spec, plan, reference, original)]);
    const sequence = pairedSequence(order, scores);
    return sequence === null || sequence.n === 0
      ? []
      : [{ task, limit, drop: -pairedDifference(pairs).mean, sequence }];
  });
}

/**
 * The level at which Holm's procedure decides each of `claims`; null: it does not. Those that have no
 * p-value yet count: how many are claimed must not depend on what has been read.
 */
function holmLevels(pValues: readonly number[], claims: number): (number | null)[] {
  const order = pValues.map((_, i) => i).sort((i, j) => pValues[i]! - pValues[j]!);
  const levels = pValues.map((): number | null => null);
  for (const [rank, index] of order.entries()) {
    const level = LEVEL / (claims - rank);
    if (pValues[index]! > level) break;
    levels[index] = level;
  }
  return levels;
}

type TaskVerdict = Pick<SequentialVerdict, "verdict" | "n" | "exact" | "p_within">;

/**
 * Each task's verdict, at any look: in at most one study of 20 any of its tasks is "met" wrongly, and
 * in at most one any is "violated" wrongly (Holm on p-values that hold at any look). A task of which
 * all samples that exist are taken is decided by them, without an error.
 *
 * claims: limits of the study, those on tasks that were not read included
 */
export function judgeTasks(
  drops: readonly TaskDrop[],
  claims: number,
): TaskVerdict[] {
  const looked = drops.map(({ sequence: { drawn }, limit }) => ({
    ...judgeSequence(drawn, limit),
    whole: openVerdict(drawn, limit),
  }));
  const levels = (side: "met" | "violated", p: "p_within" | "p_beyond") =>
    holmLevels(
      looked.map((one) => one.whole.exact ? (one.whole.verdict === side ? 0 : 1) : one[p]),
      claims,
    );
  const [met, violated] = [levels("met", "p_within"), levels("violated", "p_beyond")];
  return drops.map(({ sequence: { drawn, n }, limit }, i) => {
    const both = met[i] != null && violated[i] != null; // capitals of looks that exclude each other
    const level = both ? Math.min(met[i]!, violated[i]!) : met[i] ?? violated[i] ?? null;
    return level === null
      ? { verdict: "undecided", n, exact: false, p_within: looked[i]!.p_within }
      : judgeTaken(drawn, limit, level);
  });
}

/** A verdict for every task that has a limit, its interval at a level shared by all of them. */
export function taskVerdicts(
  { constraints }: Spec,
  drops: readonly TaskDrop[],
): ConstraintVerdict[] {
  const claims = claimsOf(constraints);
  const judged = judgeTasks(drops, claims);
  return limitedTasks(constraints).map((task) => {
    const constraint = taskLimit(task);
    const i = drops.findIndex((one) => one.task === task);
    if (i < 0) {
      const threshold = limitOn(task, constraints, 1); // as if all answers were right: nothing is read yet
      const nothing = { value: null, interval: null, samples_to_decide: null };
      return { constraint, threshold, verdict: "unmeasured", ...nothing };
    }
    const { drop, sequence, limit: threshold } = drops[i]!;
    const { verdict, n: decided_at, exact, p_within } = judged[i]!;
    const undecided = verdict === "undecided";
    return {
      ...{ constraint, threshold, value: drop, verdict },
      interval: sequenceInterval(sequence.drawn, LEVEL / claims),
      samples_to_decide: undecided ? samplesUntilDecided(sequence, drop, threshold, claims) : null,
      evidence: {
        ...{ samples: sequence.n, existing: sequence.existing, exact, p_within },
        ...sequence.predicted,
        decided_at: undecided ? null : decided_at,
      },
    };
  });
}
