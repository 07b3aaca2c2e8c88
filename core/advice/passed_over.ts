import { isDecisive } from "../schemas/fidelity.ts";
import type { Spec } from "../schemas/spec.ts";
import { onRung } from "../schemas/rungs.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import { inLimitUnit, limitUnit, limitWords } from "../metrics/metric_words.ts";
import { whatDecides } from "./advice.ts";
import type { Comparable } from "../front/comparable.ts";
import { directionsOf, type Front } from "../front/objectives.ts";
import { covers, minimised } from "../front/pareto.ts";
import { nameOf, rangeOf, shown, undecided, violations } from "./verdicts.ts";

/** So many trials are told about, the best rewards first. */
const TOLD = 3;

/** What the choice was made from. */
export interface Choice {
  readonly spec: Spec;
  /** Of the trials that violate nothing, not even by their estimates; the baseline among them. */
  readonly front: Front;
  /** What was recommended: a trial, or the original. */
  readonly taken: Comparable;
}

/**
 * Why trials with a better reward than the one recommended were passed over, a sentence each; those of a
 * lower rung alone are among them.
 */
export function passedOver(compressed: readonly Comparable[], choice: Choice): string[] {
  const least = choice.taken.reward?.value;
  if (least === undefined) return [];
  return compressed.filter(({ state, reward }) =>
    state === "completed" && (reward?.value ?? -Infinity) > least
  )
    .sort((a, b) => b.reward!.value - a.reward!.value).slice(0, TOLD)
    .map((trial) =>
      `${nameOf(trial)} has the better reward, ${trial.reward!.value.toFixed(3)} against ` +
      `${least.toFixed(3)}, and was passed over: ${why(trial, choice)}.`
    );
}

function why(trial: Comparable, { spec, front, taken }: Choice): string {
  const broken = violations(trial)[0];
  if (broken !== undefined) return `it violates the limit on ${described(broken)}`;
  const open = undecided(trial);
  const beyond = open.find(({ value, threshold }) => value !== null && value > threshold);
  if (beyond !== undefined) {
    const by = shown(inLimitUnit(beyond.constraint, beyond.value! - beyond.threshold));
    return `it looks as if it violated the limit on ${described(beyond)}, ${by} beyond; ` +
      whatDecides(beyond, trial, spec);
  }
  if (!isDecisive(trial.fidelity)) {
    return `it was evaluated ${onRung(trial.fidelity ?? "")} only, which decides nothing`;
  }
  const left = front.left_out.find(({ trial_id }) => trial_id === trial.trial_id);
  if (left !== undefined) return `it has no place on the front: ${left.reason}`;
  const rival = dominatorOf(trial, front, spec);
  if (rival !== null) return `${nameOf(rival)} dominates it`;
  const first = open[0];
  if (first === undefined || undecided(taken).length > 0) return "it does not qualify";
  const state = first.value === null
    ? `its ${limitWords(first.constraint)} was not measured`
    : `it is undecided whether it meets the limit on ${described(first)}; ${
      whatDecides(first, trial, spec)
    }`;
  return `${nameOf(taken)} meets every constraint for sure, and of this one ${state}`;
}

function described(verdict: ConstraintVerdict): string {
  const { constraint, value, threshold } = verdict;
  const known = rangeOf(verdict);
  const range = known === "" ? "" : ` (${known})`;
  const figure = (one: number) => shown(inLimitUnit(constraint, one));
  return `${limitWords(constraint)}: ${value === null ? "not measured" : figure(value)} against ` +
    `${figure(threshold)}${limitUnit(constraint)}${range}`;
}

/** A member of the front that is nowhere worse; null where the trial is on the front itself. */
function dominatorOf(trial: Comparable, front: Front, spec: Spec): Comparable | null {
  const own = front.dominated.find((one) => one.trial.trial_id === trial.trial_id);
  if (own === undefined) return null;
  const points = [own.point, ...front.members.map(({ point }) => point)];
  const [row, ...members] = minimised(points, directionsOf(spec));
  const found = members.findIndex((member) => covers(member, row!));
  return found < 0 ? null : front.members[found]!.trial;
}
