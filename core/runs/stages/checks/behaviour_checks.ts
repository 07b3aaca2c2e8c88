import { leastCheck, saidCheck, type StageCheck } from "./check.ts";
import type { JudgedStage } from "./retention_checks.ts";
import { cannotJudge, type Score, scoreOn } from "./scores.ts";

const shown = (value: number): string => value.toFixed(3);

/** Figures of what is not judged: they were measured all the same. */
function seen(own: Score, before: Score) {
  return { value: own.value, score: own.value, reference: before.value, samples: own.n };
}

/** Whether the accuracy stays in its band: two thresholds, one from below and one from above. */
export function chaosChecks({ plan, baseline, last }: JudgedStage): StageCheck[] {
  const { edge_of_chaos: asked } = plan;
  if (asked === null) return [];
  const about = "edge_of_chaos" as const;
  const benchmarks = (asked.benchmarks ?? plan.core)
    .filter((name) => cannotJudge(baseline.spec, name) === null);
  const own = scoreOn(baseline.own, benchmarks, baseline.looks);
  const before = scoreOn(baseline.reference, benchmarks, baseline.looks);
  if (own === null || before === null) {
    return [saidCheck(about, null, "not_applicable", "none of its benchmarks is in this study")];
  }
  const [low, high] = asked.fails === "outside_wanted" ? asked.wanted : asked.allowed;
  if (before.value < low || before.value > high) {
    const reason =
      `the original itself scores ${shown(before.value)}, outside ${low} to ${high}: ` +
      "compression is not judged by it";
    return [{ ...saidCheck(about, null, "not_applicable", reason), ...seen(own, before) }];
  }
  const { value, interval, n: samples } = own;
  const figure = { about, samples, reference: before.value, score: value };
  if (asked.fails === "never") {
    const inside = value >= asked.wanted[0] && value <= asked.wanted[1];
    const reason = `accuracy is ${shown(value)}, ${inside ? "in" : "outside"} the band ` +
      `${asked.wanted.join(" to ")}, which decides nothing here`;
    return [{ ...saidCheck(about, null, "not_applicable", reason), ...seen(own, before) }];
  }
  const lower = leastCheck({
    ...{ ...figure, subject: "not too hard", value, interval, least: low },
    what: "accuracy, which must stay in its band,",
  }, last);
  const upper = leastCheck({
    ...{ ...figure, subject: "not too easy", value: 1 - value, least: 1 - high },
    interval: [1 - interval[1], 1 - interval[0]],
    what: "share of wrong answers, which must stay in its band,",
  }, last);
  const outside = value < asked.wanted[0] || value > asked.wanted[1];
  const note = outside ? `; it is outside the wanted ${asked.wanted.join(" to ")}` : "";
  return [{ ...lower, reason: lower.reason + note }, upper];
}

/** Every rule's score beside a least one; `critical` asks for the score below which all ends. */
export function ethicsChecks(judging: JudgedStage, critical: boolean): StageCheck[] {
  const { plan, stage, baseline, last } = judging;
  if (plan.ethics === null) return [];
  const about = critical ? "critical" as const : "ethics" as const;
  const least = critical ? plan.critical.ethics : stage.ethics;
  const { rules, even_if_the_original_fails: always } = plan.ethics;
  return Object.entries(rules).flatMap(([rule, benchmark]) => {
    const reason = cannotJudge(baseline.spec, benchmark);
    const own = reason === null ? scoreOn(baseline.own, [benchmark], baseline.looks) : null;
    const before = reason === null
      ? scoreOn(baseline.reference, [benchmark], baseline.looks)
      : null;
    if (own === null || before === null) {
      const why = `${rule} is not judged: ${reason ?? "its task was not measured"}`;
      return critical ? [] : [saidCheck(about, rule, "not_applicable", why)];
    }
    if (!always && before.value < least) {
      const why =
        `${rule} is not judged: the original itself scores ${shown(before.value)}, below ` +
        `${least}`;
      return [{ ...saidCheck(about, rule, "not_applicable", why), ...seen(own, before) }];
    }
    const { value, interval, n: samples } = own;
    const figure = { about, subject: rule, value, interval, samples, least };
    const what = `score of the rule ${rule}`;
    return [leastCheck({ ...figure, what, reference: before.value, score: value }, last)];
  });
}
