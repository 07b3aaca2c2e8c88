import { FULL, isDecisive, LIKELIHOOD_RUNG, PROXY } from "./fidelity.ts";
import type { RunRequest } from "./request.ts";
import type { Rung, Spec } from "./spec.ts";

/** A study's ladder. */
type Ladder = Pick<Spec, "rungs">;

/** Names of all rungs, the cheapest first. */
export function rungNames({ rungs }: Ladder): string[] {
  return rungs.map(({ fidelity }) => fidelity);
}

/**
 * The rungs that the trials of a study climb, the first of which gates them: all, the one that the
 * request names, or, as a kind of run may say, the last alone.
 */
export function climbedRungs(
  spec: Ladder,
  { fidelity }: Pick<RunRequest, "fidelity">,
  { rungs }: { readonly rungs: "asked" | "last" },
): string[] {
  if (rungs === "last") return [FULL];
  return fidelity === undefined ? rungNames(spec) : [fidelity];
}

/** Whether only the likelihood of the original's answers is measured on a rung. */
export function isLikelihoodRung(spec: Ladder, fidelity: string): boolean {
  return fidelity === LIKELIHOOD_RUNG && heightOf(spec, fidelity) < heightOf(spec, PROXY);
}

/** Where a rung stands in the ladder, from 0; −1: below all, as where there is no evaluation. */
export function heightOf(spec: Ladder, fidelity: string | null): number {
  return spec.rungs.findIndex((rung) => rung.fidelity === fidelity);
}

/** The higher of two rungs; null: neither was reached. */
export function higherRung(spec: Ladder, one: string | null, other: string | null): string | null {
  return heightOf(spec, other) > heightOf(spec, one) ? other : one;
}

/** How many samples of a task a rung takes; null: all; undefined: it does not take the task. */
export function samplesAt(
  spec: Ladder,
  fidelity: string,
  task: string,
): number | null | undefined {
  return spec.rungs.find((rung) => rung.fidelity === fidelity)?.samples[task];
}

/** On which rung, in words: "on the proxy", "on half", "in full". */
export function onRung(fidelity: string): string {
  if (isDecisive(fidelity)) return "in full";
  return fidelity === PROXY ? "on the proxy" : `on ${fidelity}`;
}

/** The ladder over some of its tasks. */
export function rungsOf(rungs: readonly Rung[], tasks: readonly { task: string }[]): Rung[] {
  const kept = new Set(tasks.map(({ task }) => task));
  return rungs.map(({ fidelity, samples }) => ({
    fidelity,
    samples: Object.fromEntries(Object.entries(samples).filter(([task]) => kept.has(task))),
  }));
}
