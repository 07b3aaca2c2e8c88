import type { Assumption } from "../../schemas/spec.ts";
import type { StagesPlan } from "./plan.ts";

/** What the requirement says in two ways, which one holds here, and why it is the default. */
export function choicesOf(plan: StagesPlan): Assumption[] {
  const choice = (field: string, value: Assumption["value"], reason: string): Assumption => ({
    field: `stages.${field}`,
    value,
    source: "default",
    reason,
  });
  const { critical: { joint, retry }, edge_of_chaos: chaos, ethics, levels } = plan;
  return [
    choice(
      "retention_of",
      plan.retention_of,
      "each benchmark is held to the threshold, as the requirement's program does; its table could " +
        "be read as their mean: retention_of: mean",
    ),
    choice(
      "against",
      plan.against,
      "retention is of the baseline, as in the requirement's program; its 84 % is about the product " +
        "98 % × 95 % × 90 %, which reads as of the stage before: against: parent",
    ),
    choice(
      "core",
      plan.stages.map(({ name, core }) => `${name} ${core}`).join(", "),
      "a threshold a stage, as in the requirement's §3.1; its program has 0.95 everywhere, its §1.1 " +
        "0.90 for HumanEval alone: benchmarks: { humaneval: 0.90 } in a stage",
    ),
    ...joint === undefined ? [] : [choice(
      "critical.joint.drop",
      joint.drop,
      "§3.2 says 20 %, §6.3 says 25 %: the stricter one is the default",
    )],
    choice(
      "critical.retry",
      retry,
      "§3.2 ends the run at a critical failure, the program tries once more: false ends it",
    ),
    choice(
      "critical.ships",
      plan.critical.ships,
      "§6.3 gives back the original after a critical failure, §3.3 and the program what had passed: " +
        "the stricter one is the default; ships: passed for the other",
    ),
    ...chaos === null ? [] : [choice(
      "edge_of_chaos.fails",
      chaos.fails,
      `§1.3 wants ${chaos.wanted.join(" to ")}, §6.3 fails outside ${
        chaos.allowed.join(" to ")
      }: ` +
        "what is between the two is told and passes",
    )],
    ...ethics === null ? [] : [choice(
      "ethics.even_if_the_original_fails",
      ethics.even_if_the_original_fails,
      "a rule that the original does not meet says nothing of compression",
    )],
    ...levels.minimum.bytes === undefined ? [] : [choice(
      "levels.minimum.bytes",
      levels.minimum.bytes,
      "bytes of the requirement's own model of 100 MB; give a ratio for another",
    )],
    choice(
      "ships",
      plan.ships,
      "the requirement's table of fallbacks goes down from the smallest that passed, which with " +
        "larger: passes need not be the last; ships: last takes that",
    ),
    choice(
      "larger",
      plan.larger,
      "a stage's files take the place of its parent's: ratios do not multiply",
    ),
  ];
}
