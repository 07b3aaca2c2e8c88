import type { StagePlan, StagesPlan } from "../plan.ts";
import { leastCheck, saidCheck, type StageCheck } from "./check.ts";
import { meanRetention, type PairedRetention } from "./retention_interval.ts";
import { cannotJudge, type Judged, retentionOn, tellsWithMore } from "./scores.ts";

/** What a stage's retention is judged by: beside the original, and beside what the stage's is of. */
export interface JudgedStage {
  readonly plan: StagesPlan;
  readonly stage: StagePlan;
  /** Beside the original. */
  readonly baseline: Judged;
  /** Beside the parent; null: the stage's retention is of the baseline. */
  readonly parent: Judged | null;
  /** No more samples may be taken. */
  readonly last: boolean;
}

interface Known {
  readonly benchmark: string;
  readonly found: PairedRetention;
}

function knownOf(judged: Judged, benchmarks: readonly string[]): Known[] {
  return benchmarks.flatMap((benchmark) => {
    const found = retentionOn(judged, benchmark);
    return found === null || found.value === null ? [] : [{ benchmark, found }];
  });
}

function figureOf({ found }: Known) {
  return {
    value: found.value!, // knownOf keeps those that have one
    interval: found.interval!,
    samples: found.n,
    reference: found.reference,
    score: found.score,
    chance: found.chance,
  };
}

/** Benchmarks of the document that tell nothing here, each with its reason: undecided where more
 * samples will tell. */
function silent(
  about: "core" | "expert",
  { judged, last }: { judged: Judged; last: boolean },
  benchmarks: readonly string[],
  domain: string | null,
): StageCheck[] {
  return benchmarks.flatMap((benchmark) => {
    const subject = domain === null ? benchmark : `${domain}/${benchmark}`;
    const reason = cannotJudge(judged.spec, benchmark) ??
      retentionOn(judged, benchmark)?.undefined_because;
    if (reason === null || reason === undefined) return [];
    const waits = !last && tellsWithMore(judged, benchmark);
    return waits
      ? [saidCheck(about, subject, "undecided", `${benchmark} is not judged yet: ${reason}`)]
      : [saidCheck(about, subject, "not_applicable", `${benchmark} is not judged: ${reason}`)];
  });
}

/** Each benchmark of a group beside the least retention, its own where the stage has one; or their
 * mean beside the group's, and those that have one of their own. */
function group(
  judging: JudgedStage,
  about: "core" | "expert",
  benchmarks: readonly string[],
  least: number,
  domain: string | null,
): StageCheck[] {
  const { plan: { retention_of, against }, stage, baseline, parent, last } = judging;
  const judged = parent ?? baseline;
  const known = knownOf(judged, benchmarks);
  const of = against === "parent" && parent !== null ? " of its parent" : "";
  const quiet = silent(about, { judged, last }, benchmarks, domain);
  const checkOf = (one: Known, own: number) => {
    const subject = domain === null ? one.benchmark : `${domain}/${one.benchmark}`;
    const what = `retention${of} of ${subject}`;
    return leastCheck({ about, subject, least: own, what, ...figureOf(one) }, last);
  };
  const own = (benchmark: string) => stage.benchmarks[benchmark];
  if (retention_of === "each") {
    return [...known.map((one) => checkOf(one, own(one.benchmark) ?? least)), ...quiet];
  }
  const single = known.flatMap((one) => {
    const asked = own(one.benchmark);
    return asked === undefined ? [] : [checkOf(one, asked)];
  });
  const mean = meanRetention(known.map(({ found }) => found));
  if (mean === null) return quiet;
  const what = `mean retention${of} of ${domain ?? "the core"}`;
  const { value, interval, n: samples } = mean;
  const figure = { about, subject: domain, value, interval, samples, least, what };
  return [leastCheck(figure, last), ...single, ...quiet];
}

/** The core's mean retention beside the original; null: no benchmark of it tells. */
function coreRetention({ plan, baseline }: Pick<JudgedStage, "plan" | "baseline">) {
  return meanRetention(knownOf(baseline, plan.core).map(({ found }) => found));
}

/** Stage gates on the core and on every domain, and the gate on what all stages together cost. */
export function retentionChecks(judging: JudgedStage): StageCheck[] {
  const { plan, stage, last } = judging;
  const experts = Object.entries(plan.experts).flatMap(([domain, benchmarks]) =>
    group(judging, "expert", benchmarks, stage.expert, domain)
  );
  const mean = coreRetention(judging);
  const least = stage.cumulative ?? plan.cumulative;
  const what = "mean retention of the core beside the original";
  const cumulative = mean === null ? [] : [leastCheck({
    about: "cumulative",
    subject: null,
    value: mean.value,
    interval: mean.interval,
    samples: mean.n,
    least,
    what,
  }, last)];
  return [...group(judging, "core", plan.core, stage.core, null), ...experts, ...cumulative];
}

/** What ends the whole run where it fails: always beside the original. */
export function criticalChecks({ plan, baseline, last }: JudgedStage): StageCheck[] {
  const { critical } = plan;
  const about = "critical" as const;
  const check = (one: Known, least: number, what: string) =>
    leastCheck({ about, subject: one.benchmark, least, what, ...figureOf(one) }, last);
  const core = knownOf(baseline, plan.core).map((one) =>
    check(one, critical.core, `retention of ${one.benchmark}, a core benchmark,`)
  );
  const experts = Object.entries(plan.experts).flatMap(([domain, [first]]) =>
    knownOf(baseline, [first!]).map((one) =>
      // a domain has one at least
      check(one, 1 - critical.expert_drop, `retention of ${first}, the first of ${domain},`)
    )
  );
  return [...core, ...experts, ...jointCheck({ plan, baseline, last })];
}

/** A joint drop: the mean retention of the benchmarks that are named together. */
function jointCheck(
  { plan: { critical: { joint } }, baseline, last }: Pick<
    JudgedStage,
    "plan" | "baseline" | "last"
  >,
): StageCheck[] {
  if (joint === undefined) return [];
  const known = knownOf(baseline, joint.benchmarks);
  const subject = joint.benchmarks.join("+");
  const mean = meanRetention(known.map(({ found }) => found));
  if (mean === null || known.length < joint.benchmarks.length) {
    const lacking = joint.benchmarks.filter((name) => known.every((one) => one.benchmark !== name));
    const reason = `${subject} is not judged together: ${lacking.join(" and ")} tells nothing here`;
    return [saidCheck("critical", subject, "not_applicable", reason)];
  }
  const { value, interval, n: samples } = mean;
  const what = `mean retention of ${subject}`;
  const figure = { about: "critical" as const, subject, value, interval, samples, what };
  return [leastCheck({ ...figure, least: 1 - joint.drop }, last)];
}
