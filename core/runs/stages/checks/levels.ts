import { baselineOf } from "../../../loop/study.ts";
import type { StageDecision } from "../../../schemas/stages/decision.ts";
import type { SuccessLevel } from "../plan.ts";
import { countedBytes } from "./artifact_checks.ts";
import { type About, saidRow } from "../ledger.ts";
import { meanRetention } from "./retention_interval.ts";
import type { Run } from "../run.ts";
import { cannotJudge, type Judged, retentionOn, scoreOn } from "./scores.ts";
import type { Standing } from "../standing.ts";

/** What is known of what is shipped, beside the original, on the highest rung that it reached. */
function judgedOf({ study }: Run, { trial_id }: Standing): Judged | null {
  const baseline = study.evaluations.get(baselineOf(study)?.trial_id ?? "");
  const own = study.evaluations.get(trial_id);
  const rung = study.rungs.findLast((one) => baseline?.has(one) && own?.has(one));
  if (rung === undefined) return null;
  return { spec: study.spec, reference: baseline!.get(rung)!, own: own!.get(rung)!, looks: 1 };
}

/** Conditions of a level that are not met, in words; those that cannot be told are none that is met. */
function unmet(
  level: SuccessLevel,
  { plan, study: { input: { facts } } }: Pick<Run, "plan" | "study">,
  standing: Standing,
  judged: Judged,
): string[] {
  const faults: string[] = [];
  const need = (what: string, value: number | null | undefined, least: number | undefined) => {
    if (least === undefined) return;
    if (value === null || value === undefined) faults.push(`${what} is not known`);
    else if (value < least - 1e-12) faults.push(`${what} is ${value.toFixed(3)}, below ${least}`);
  };
  const retained = (benchmarks: readonly string[]) =>
    meanRetention(benchmarks.flatMap((name) => retentionOn(judged, name) ?? []))?.value;
  const each = (benchmarks: readonly string[]) => {
    const known = benchmarks.flatMap((name) => retentionOn(judged, name)?.value ?? []);
    return known.length === 0 ? null : Math.min(...known);
  };
  const bytes = countedBytes(standing.artifact, facts);
  if (level.bytes !== undefined && bytes > level.bytes) {
    faults.push(`it has ${bytes} bytes, more than ${level.bytes}`);
  }
  need("the ratio to 2 bytes a weight", facts.model.fp16_bytes / bytes, level.ratio);
  need("the core's mean retention", retained(plan.core), level.core);
  need("the least retention of an expert", each(Object.values(plan.experts).flat()), level.expert);
  if (level.joint !== undefined) {
    const { benchmarks, retention } = level.joint;
    need(`retention of ${benchmarks.join(" and ")}`, retained(benchmarks), retention);
  }
  for (const [name, least] of Object.entries(level.benchmarks ?? {})) {
    need(`retention of ${name}`, retained([name]), least);
  }
  if (level.ethics !== undefined) {
    const rules = Object.entries(plan.ethics?.rules ?? {});
    if (rules.length === 0) faults.push("no rule of ethics is checked");
    for (const [rule, name] of rules) {
      const known = cannotJudge(judged.spec, name) === null;
      need(
        `the score of ${rule}`,
        known ? scoreOn(judged.own, [name], 1)?.value : null,
        level.ethics,
      );
    }
  }
  return faults;
}

/** Names of the levels that have conditions, each with those that a rung does not meet. */
function levelsOf(run: Run, standing: Standing): { name: string; faults: string[] }[] {
  const judged = judgedOf(run, standing);
  return (["minimum", "stretch"] as const).flatMap((name) => {
    const level = run.plan.levels[name];
    if (Object.keys(level).length === 0) return [];
    const faults = judged === null
      ? ["it was not measured beside the original"]
      : unmet(level, run, standing, judged);
    return [{ name, faults }];
  });
}

/** How many levels of success a rung of the ladder reaches. */
export function levelsReached(run: Run, standing: Standing): number {
  return levelsOf(run, standing).filter(({ faults }) => faults.length === 0).length;
}

/** Whether what is shipped reaches the levels of success; a level without conditions has no row. */
export function levelRows(
  run: Run,
  standing: Standing,
  about: About,
): Omit<StageDecision, "number">[] {
  return levelsOf(run, standing).map(({ name, faults }) => {
    const decision = faults.length === 0 ? "passed" as const : "failed" as const;
    const reason = faults.length === 0
      ? `every condition of the ${name} level is met`
      : `the ${name} level is not reached: ${faults.join("; ")}`;
    return saidRow(about, { about: "level", subject: name, decision, reason });
  });
}
