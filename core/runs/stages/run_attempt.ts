import { UsageError } from "../../errors.ts";
import { closeTrial, endingOf, openTrial } from "../../loop/draft.ts";
import { closeEpisode } from "../../loop/end/close_study.ts";
import { applyNext, evaluate, isWhole, judge, measureSpeed } from "../../loop/run_trial.ts";
import { withinTime } from "../../loop/cost/budget.ts";
import { addGate, baselineOf, type Draft, type Ending, type Study } from "../../loop/study.ts";
import { isFinished } from "../../resume/replay.ts";
import type { Action, ResolvedAction } from "../../schemas/action.ts";
import type { Artifact } from "../../schemas/artifact.ts";
import type { StagePlan, StagesPlan } from "./plan.ts";
import type { Trial } from "../../schemas/trial.ts";
import { checkStrategy, sizeLimits } from "../../strategies/compatibility.ts";
import { readableId } from "../../strategies/strategy_names.ts";
import { artifactChecks } from "./checks/artifact_checks.ts";
import { saidCheck, type StageCheck } from "./checks/check.ts";
import { type AttemptVerdict, qualityChecks, verdictOf } from "./checks/judge.ts";
import type { Judged } from "./checks/scores.ts";
import type { Standing } from "./standing.ts";

/** One attempt at a stage, before it is made. */
export interface Attempt {
  readonly plan: StagesPlan;
  readonly stage: StagePlan;
  readonly attempt: number;
  /** What stands so far. */
  readonly standing: Standing;
  /** What it is applied to: what stands, or the original. */
  readonly onto: Standing;
  readonly actions: readonly Action[];
  readonly resolved: readonly ResolvedAction[];
}

/** What became of it. */
export interface Attempted {
  readonly verdict: AttemptVerdict | "cancelled";
  readonly checks: readonly StageCheck[];
  /** Null: none was made. */
  readonly artifact: Artifact | null;
  readonly trial: Trial;
}

/** How an attempt's trial is known again by whoever takes the study up. */
function reasonOf({ stage, attempt }: Attempt): string {
  return `stage ${stage.name}, attempt ${attempt}`;
}

/** The artifact that was judged of a trial: its last, where every action was applied. */
function madeBy(trial: Trial, artifacts: ReadonlyMap<string, Artifact>): Artifact | null {
  if (trial.artifact_ids.length < trial.actions.length) return null;
  return artifacts.get(trial.artifact_ids.at(-1) ?? "") ?? null;
}

/** What an attempt's artifact may not be again. */
function besideOf({ standing, onto }: Attempt) {
  return { parent: standing.artifact, onto: onto.artifact };
}

/** An attempt that an earlier run closed and did not decide is decided by what it measured. */
function measuredBefore(
  study: Study,
  attempt: Attempt,
  artifacts: ReadonlyMap<string, Artifact>,
): Attempted | null {
  const trial = study.trials.findLast(({ strategy }) =>
    strategy?.origin.reason === reasonOf(attempt)
  );
  if (trial === undefined || !isFinished(trial)) return null;
  const artifact = madeBy(trial, artifacts);
  if (trial.failure !== null) return failedAttempt(trial, artifact);
  if (artifact === null) return null;
  const before = artifactChecks(artifact, besideOf(attempt), study.input.facts, attempt.plan);
  const climbed = study.rungs.filter((rung) => study.evaluations.get(trial.trial_id)?.has(rung));
  const checks = [...before, ...climbed.length === 0 ? [] : judged(study, attempt, trial, climbed)];
  const verdict = verdictOf(checks);
  return verdict === "undecided" ? null : { verdict, checks, artifact, trial };
}

function failedAttempt(trial: Trial, artifact: Artifact | null): Attempted {
  const { kind, message } = trial.failure!;
  // A worker's last words go on for lines: the trial's failure and its log keep them.
  const [said = ""] = message.split("\n");
  const checks = [saidCheck("artifact", kind, "failed", `${kind}: ${said}`)];
  return { verdict: "failed", checks, artifact, trial };
}

/** Both sides of a comparison on a rung; null: one of them was not measured there. */
function beside(study: Study, reference: string, own: string, rung: string): Judged | null {
  const [first, second] = [reference, own].map((id) => study.evaluations.get(id)?.get(rung));
  if (first === undefined || second === undefined) return null;
  const most = study.evaluations.get(reference)?.get(study.rungs.at(-1)!);
  return { spec: study.spec, reference: first, own: second, most, looks: study.rungs.length };
}

/** The checks on quality on the highest of the rungs that were climbed. */
function judged(
  study: Study,
  { plan, stage, onto }: Attempt,
  { trial_id }: Trial,
  climbed: readonly string[],
): StageCheck[] {
  const rung = climbed.at(-1)!;
  const baseline = beside(study, baselineOf(study)!.trial_id, trial_id, rung);
  if (baseline === null) return [];
  const parent = plan.against === "parent" && onto.stage_index >= 0
    ? beside(study, onto.trial_id, trial_id, rung)
    : null;
  const last = rung === study.rungs.at(-1) || exhausted(study, rung);
  return qualityChecks({ plan, stage, baseline, parent, last });
}

/** Whether no rung above has more samples than this one, by what the baseline read there. */
function exhausted(study: Study, rung: string): boolean {
  const baseline = study.evaluations.get(baselineOf(study)?.trial_id ?? "");
  const read = (name: string) => baseline?.get(name)?.samples.length ?? 0;
  return study.rungs.slice(study.rungs.indexOf(rung)).every((above) => read(above) <= read(rung));
}

/** Applies, measures and judges one attempt; its trial is closed, unless the study was cancelled. */
export async function runAttempt(
  study: Study,
  attempt: Attempt,
  artifacts: Map<string, Artifact>,
): Promise<Attempted> {
  const before = measuredBefore(study, attempt, artifacts);
  if (before !== null) return before;
  const actions = [...attempt.onto.actions, ...attempt.actions];
  const resolved = [...attempt.onto.resolved, ...attempt.resolved];
  const strategy_id = readableId(study.nextNumber, resolved);
  const origin = { sampler: "stages", mode: "user" as const, reason: reasonOf(attempt) };
  const draft = await openTrial(study, { strategy_id, actions, origin }, resolved);
  const checks: StageCheck[] = [];
  const ended = await withinTime(study, () => work(study, draft, attempt, checks));
  const made = isWhole(draft) ? draft.artifact : null;
  if (made !== null) artifacts.set(made.artifact_id, made);
  return await close(study, draft, attempt, { checks, ended, made });
}

/** All of an attempt up to its verdict; what went wrong is an ending. */
async function work(
  study: Study,
  draft: Draft,
  attempt: Attempt,
  checks: StageCheck[],
): Promise<Ending | null> {
  const ended = await applyAll(study, draft, attempt);
  if (ended !== null) return ended;
  const { facts } = study.input;
  checks.push(...artifactChecks(draft.artifact, besideOf(attempt), facts, attempt.plan));
  if (verdictOf(checks) === "failed") return null;
  const own = checks.length;
  for (const [i, rung] of study.rungs.entries()) {
    const failed = await evaluate(study, draft, rung);
    if (failed !== null) return failed;
    checks.splice(own);
    checks.push(...judged(study, attempt, draft.trial, study.rungs.slice(0, i + 1)));
    const verdict = verdictOf(checks);
    // A child may be judged beside this one on any rung.
    const climbs = verdict === "passed" && attempt.plan.against === "parent";
    if (verdict !== "undecided" && !climbs) break;
  }
  return verdictOf(checks) === "passed" ? await timed(study, draft, checks) : null;
}

/** The parent's actions again, found by their keys, then the stage's own. */
async function applyAll(study: Study, draft: Draft, attempt: Attempt): Promise<Ending | null> {
  const { onto } = attempt;
  while (!isWhole(draft)) {
    if (draft.trial.artifact_ids.length === onto.resolved.length) {
      const refused = refusal(study, draft, attempt);
      if (refused !== null) return refused;
    }
    const ended = await applyNext(study, draft);
    if (ended !== null) return ended;
  }
  return null;
}

/** Why the stage's actions cannot follow here; null: they can. */
function refusal(study: Study, draft: Draft, { onto, resolved }: Attempt): Ending | null {
  const end = (message: string) =>
    endingOf({ kind: "invalid", message, hint: null, phase: "compatibility" });
  if (draft.artifact.artifact_id !== onto.artifact.artifact_id) {
    return end(
      `${onto.stage} was made again as ${draft.artifact.artifact_id}, not as the ` +
        `${onto.artifact.artifact_id} that had passed`,
    );
  }
  const { methods, facts } = study.input;
  try {
    const met = { ...facts, model: draft.model };
    const support = checkStrategy(resolved, methods, met, sizeLimits(study.spec));
    return support.ok ? null : end(support.reason);
  } catch (error) {
    if (error instanceof UsageError) return end(error.message);
    return end(String(error));
  }
}

/** Speed and memory of what passed; that they cannot be had takes nothing back. */
async function timed(study: Study, draft: Draft, checks: StageCheck[]): Promise<Ending | null> {
  const ended = await measureSpeed(study, draft, study.input.baseline);
  if (ended === null || ended.state === "cancelled") return ended;
  const why = ended.failure?.message ?? "";
  checks.push(saidCheck("artifact", "speed", "not_applicable", `speed is not measured: ${why}`));
  return null;
}

async function close(
  study: Study,
  draft: Draft,
  { stage, attempt }: Attempt,
  { checks, ended, made }: {
    checks: readonly StageCheck[];
    ended: Ending | null;
    made: Artifact | null;
  },
): Promise<Attempted> {
  const verdict = ended === null ? verdictOf(checks) : "failed";
  const passed = verdict === "passed";
  const blamed = checks.find(({ decision }) => decision === "failed");
  if (ended === null) {
    addGate(draft, {
      gate: `stage_${stage.name}`,
      decision: passed ? "pass" : "abort",
      reason: passed ? "every check of the stage passed" : blamed?.reason ?? "nothing judged it",
      value: blamed?.value ?? null,
      threshold: blamed?.threshold ?? null,
      attempt,
    });
  }
  const ending = ended ??
    { state: passed ? "completed" as const : "stopped" as const, failure: null };
  judge(study, draft, passed ? null : ending);
  const trial = await closeTrial(study, draft, ending);
  if (ending.state === "cancelled") return { verdict: "cancelled", checks, artifact: made, trial };
  await closeEpisode(study, { trial_id: trial.trial_id, sampler: "stages", mode: "user" });
  if (ending.failure === null) return { verdict, checks, artifact: made, trial };
  const failed = failedAttempt(trial, made);
  return { ...failed, checks: [...checks, ...failed.checks] };
}
