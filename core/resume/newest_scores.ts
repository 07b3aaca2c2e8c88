import { withFigures } from "../front/scores_again.ts";
import type { ScoredAgain } from "../schemas/scoring/scored.ts";
import type { ReplayedStudy } from "./replay.ts";

type Written = ReplayedStudy["samples"][number];

/** The scores that were made again of the answers in a samples file, in order. */
export function scoresOf(
  { scored_again }: Pick<ReplayedStudy, "scored_again">,
  { trial_id, fidelity, sha256 }: Pick<Written, "trial_id" | "fidelity" | "sha256">,
): (ScoredAgain["trials"][number] & Pick<ScoredAgain, "task" | "own_metric">)[] {
  return scored_again.filter(({ beside_because }) => beside_because === null).flatMap((
    { trials, task, own_metric },
  ) =>
    trials.filter((one) =>
      one.trial_id === trial_id && one.fidelity === fidelity && one.samples.sha256 === sha256
    ).map((one) => ({ ...one, task, own_metric }))
  );
}

/** The protocol of answers whose own score is another scorer's now. */
function withProtocols(study: ReplayedStudy, written: Written): Written {
  const found = scoresOf(study, written).filter(({ own_metric }) => own_metric !== null);
  return found.reduce((before, { task, protocol, protocol_part }) => {
    const { scorer: _, ...parts } = before.protocol_parts?.[task] ?? {};
    const named = protocol_part === null ? {} : { scorer: protocol_part };
    return {
      ...before,
      ...(protocol === null ? {} : { protocol: { ...before.protocol, [task]: protocol } }),
      ...(before.protocol_parts === undefined
        ? {}
        : { protocol_parts: { ...before.protocol_parts, [task]: { ...parts, ...named } } }),
    };
  }, written);
}

/**
 * A study as its newest scores have it: the figures, means and rewards of its trials, and the protocols of
 * its answers. What was decided is as it was. Scores of answers that were given anew since count nothing.
 */
export function withNewestScores(study: ReplayedStudy): ReplayedStudy {
  if (study.scored_again.length === 0) return study;
  const newest = new Map(study.samples.map((one) => [`${one.trial_id} ${one.fidelity}`, one]));
  const figures = new Map([...newest.values()].map((one) => [one, scoresOf(study, one)]));
  const rewards = new Map(
    study.scored_again.flatMap(({ rewards }) => rewards.map((one) => [one.trial_id, one.reward])),
  );
  const trials = study.trials.map((trial) => {
    const own = [...figures].filter(([{ trial_id }]) => trial_id === trial.trial_id)
      .flatMap(([, scores]) => scores);
    if (own.length === 0 && !rewards.has(trial.trial_id)) return trial;
    const measurements = own.reduce(
      (before, scores) => withFigures(before, scores.measurements),
      trial.measurements,
    );
    return { ...trial, measurements, reward: rewards.get(trial.trial_id) ?? trial.reward };
  });
  return { ...study, trials, samples: study.samples.map((one) => withProtocols(study, one)) };
}
