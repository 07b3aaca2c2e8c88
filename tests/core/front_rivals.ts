import {
  type Comparable,
  JOINING_LEVEL,
  joinProbability,
  type Rival,
  type RungEvidence,
  type SampleResult,
  type Spec,
  streamRandom,
} from "../../core/mod.ts";
import { figure, world } from "./study_world.ts";

/** A study of one benchmark whose front is of accuracy and bytes. */
export const spec: Spec = (() => {
  const { spec } = world().input();
  return {
    ...spec,
    objectives: [
      { metric: "accuracy", direction: "maximize", unit: "1" },
      { metric: "size_bytes", direction: "minimize", unit: "bytes" },
    ],
    tasks: spec.tasks.filter(({ task }) => task === "words"),
  };
})();

/** Answers of one benchmark by their scores. */
export function answers(scores: readonly number[], task = "words"): SampleResult[] {
  return scores.map((score, i) => ({
    task,
    sample_id: `${i}`,
    sample_hash: `${task} ${i}`,
    prompt_hash: "",
    score,
    answer: null,
    gold: null,
    log_likelihood: null,
  }));
}

/** A trial of exact size with its answers to the benchmark `words`. */
export function rival(scores: readonly number[], bytes: number, artifact = `of ${bytes}`): Rival {
  const value = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const row = { ...figure("accuracy", value, null, 0.02), task: "words", n: scores.length };
  const measurements = [row, { ...row, task: null }, figure("size_bytes", bytes, null, null)];
  return { measurements, latency: null, rows: measurements, samples: answers(scores), artifact };
}

/** The same as a contender for the front. */
export function contender(trial_id: string, one: Rival) {
  const { samples, artifact, ...compared } = one;
  const trial = { ...compared, trial_id, artifact_ids: artifact === undefined ? [] : [artifact] };
  return { trial: trial as unknown as Comparable, samples }; // only what an estimate reads
}

/**
 * Scores of trials on n samples of which the first answers six in ten: each loses a share of the right
 * answers and wins one in twenty of the wrong ones. With the score that each would have of all.
 */
export function studyOf(losses: readonly number[], n: number, seed: number) {
  const random = streamRandom(seed, "answers");
  const scores = losses.map(() => [] as number[]);
  for (let i = 0; i < n; i++) {
    const right = random() < 0.6;
    scores[0]!.push(right ? 1 : 0);
    for (const [k, loss] of losses.entries()) {
      if (k === 0) continue;
      const changed = random() < (right ? loss : 0.05);
      scores[k]!.push(right !== changed ? 1 : 0);
    }
  }
  return { scores, truth: losses.map((loss, k) => k === 0 ? 0.6 : 0.6 * (1 - loss) + 0.02) };
}

/** The normal distribution function: Abramowitz and Stegun 26.2.17, to 7.5e-8. */
export function normalShare(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const tail = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI) * t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return z > 0 ? 1 - tail : tail;
}

/** Whether a trial may join a front, by the level in force. */
export function mayJoin(trial: RungEvidence, front: readonly RungEvidence[], of: Spec): boolean {
  const joining = joinProbability(trial, front, of, streamRandom(5, "joins"));
  return joining === null || joining.probability >= JOINING_LEVEL;
}
