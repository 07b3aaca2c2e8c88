import { CHAIN_SPACE, chainObjectives } from "./chain_problem.ts";
import { FACTORS_SPACE, factorsObjectives } from "./factors_problem.ts";
import type { Problem } from "./problem.ts";
import { kneeObjectives, THIRDS_SPACE, thirdsObjectives } from "./thirds_problem.ts";

type Kind = Pick<Problem, "space" | "reference" | "evaluate">;

const CHAIN: Kind = {
  space: CHAIN_SPACE,
  reference: [0.75, 17, 2.75],
  evaluate: chainObjectives,
};
const THIRDS: Kind = { space: THIRDS_SPACE, reference: [2, 15], evaluate: thirdsObjectives };
const KNEE: Kind = { space: THIRDS_SPACE, reference: [0.75, 15.2], evaluate: kneeObjectives };
const FACTORS: Kind = {
  space: FACTORS_SPACE,
  reference: [2, 17.5, 14],
  evaluate: factorsObjectives,
};

/** The same with limits on some of the objectives, each exceeded by a share of it: they are the corner, too. */
const limited = (
  kind: Kind,
  most: readonly (number | null)[],
): Kind & Pick<Problem, "violations"> => ({
  ...kind,
  reference: most.map((limit, m) => limit ?? kind.reference[m]!),
  violations: (values) =>
    most.flatMap((limit, m) => limit === null ? [] : [(values[m]! - limit) / limit]),
});

/** Errors of the first objective, and of the last as a share of it. */
const noise = (first: number, share: number): Pick<Problem, "errors"> => ({
  errors: (values) =>
    values.map((value, m) => m === 0 ? first : m === values.length - 1 ? share * value : 0),
});

/**
 * Made-up compressions of the kinds that a study meets: knees, conditional knobs, points that cannot be, limits
 * that most points break, noise, a machine that fails. Their numbers say nothing about real models. Their greatest
 * hypervolumes are the best of three searches of 200,000 points each, by moves of what was best (`bestKnown`).
 */
const PROBLEMS: readonly Problem[] = [
  { name: "chain", ...CHAIN, maximum: 13.4091, tuned: true },
  { name: "thirds", ...THIRDS, maximum: 22.4732, tuned: true },
  { name: "thirds_limits", ...limited(THIRDS, [0.9, 10]), maximum: 5.41217, tuned: true },
  { name: "chain_noise", ...CHAIN, ...noise(0.025, 0.04), maximum: 13.4091, tuned: true },
  { name: "chain_failures", ...CHAIN, failures: 0.3, maximum: 13.4091, tuned: true },
  { name: "knee", ...KNEE, maximum: 4.30217, tuned: false },
  { name: "factors", ...FACTORS, maximum: 308.534, tuned: false },
  { name: "chain_limits", ...limited(CHAIN, [0.5, null, 1.3]), maximum: 2.14176, tuned: false },
  { name: "factors_limits", ...limited(FACTORS, [0.5, 6, null]), maximum: 10.4008, tuned: false },
  { name: "thirds_noise", ...THIRDS, ...noise(0.08, 0.04), maximum: 22.4732, tuned: false },
  { name: "knee_failures", ...KNEE, failures: 0.3, maximum: 4.30217, tuned: false },
];

export const COMPRESSIONS = PROBLEMS.map((problem) => ({ ...problem, told: true }));
