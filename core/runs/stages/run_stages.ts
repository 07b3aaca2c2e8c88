import { closeStudy } from "../../loop/end/close_study.ts";
import { ensureBaseline } from "../../loop/run_baseline.ts";
import { openStudy } from "../../loop/open_study.ts";
import { cancelled, type Stop, timeIsUp } from "../../loop/stop.ts";
import type { StudyInput, StudyResult } from "../../loop/study_input.ts";
import type { Study } from "../../loop/study.ts";
import type { Action } from "../../schemas/action.ts";
import type { RunPorts } from "../run_kind.ts";
import type { StagePlan, StagesPlan } from "./plan.ts";
import { resolveActions } from "../../strategies/resolve_action.ts";
import { checkAdjustments, furtherAttempt } from "./adjust.ts";
import { choicesOf } from "./choices.ts";
import { decideAttempt, type Next } from "./decide.ts";
import { decidedOn, figuresOf, openLedger } from "./ledger.ts";
import { STAGES_NEEDS } from "./needs.ts";
import type { Run } from "./run.ts";
import { type Attempted, runAttempt } from "./run_attempt.ts";
import { ship } from "./ship.ts";
import { metBy, originalOf, type Standing, standingOf } from "./standing.ts";

/**
 * Runs the stages of the request in their order on a baseline measured once, each gated, tried again
 * with what its adjustments set, rolled back to what stood before it; ships the best that passed.
 * Every decision is in the journal before the next begins: a run that was killed goes on with the same
 * ledger.
 */
export async function runStages(
  input: StudyInput & { readonly request: { readonly stages: StagesPlan } },
  ports: RunPorts,
): Promise<StudyResult> {
  const { stages: plan } = input.request;
  const { methods, facts, spec, history } = input;
  checkAdjustments(plan.stages, methods, facts);
  const said = { ...spec, assumptions: [...spec.assumptions, ...choicesOf(plan)] };
  const study = await openStudy({ ...input, spec: said }, ports, STAGES_NEEDS);
  const stopped = await ensureBaseline(study);
  if (stopped !== null) return await closeStudy(study, stopped, null);
  const ledger = openLedger(study, history?.study.stage_decisions ?? []);
  const { artifacts } = study;
  const run = { study, plan, ledger, ports, artifacts, ladder: [originalOf(study)] };
  const stop = await climb(run);
  if (stop !== null) return await closeStudy(study, stop, null);
  const shipped = await ship(run);
  return await closeStudy(study, shipped.stop, shipped.trial_id);
}

/** The stages one by one; why the run stops before its end, null where it reached it. */
async function climb(run: Run): Promise<Stop | null> {
  for (const [stage_index, stage] of run.plan.stages.entries()) {
    const outcome = await runStage(run, stage, stage_index);
    if (outcome === "end") return null;
    if (outcome !== "next") return outcome;
  }
  return null;
}

/** All attempts at one stage. */
async function runStage(
  run: Run,
  stage: StagePlan,
  stage_index: number,
): Promise<"next" | "end" | Stop> {
  const { study, plan, ledger, artifacts, ladder } = run;
  const { methods, facts } = study.input;
  const standing = ladder.at(-1)!;
  const onto = stage.onto === "original" ? ladder[0]! : standing;
  const met = metBy(onto, facts);
  let actions: readonly Action[] = stage.actions;
  for (let attempt = 1;; attempt++) {
    const resolved = resolveActions(actions, methods, met);
    const about = { plan, stage, attempt, standing, onto, actions, resolved };
    let next = earlier(run, stage_index, attempt);
    if (next === null) {
      const stop = cancelled(study) ?? timeIsUp(study);
      if (stop !== null) return stop;
      const attempted = await runAttempt(study, about, artifacts);
      if (attempted.verdict === "cancelled") return endedEarly(study, attempted);
      next = await decideAttempt(run, { ...about, stage_index }, attempted);
    }
    if (next.standing !== null) ladder.push(next.standing);
    goDown(ladder, next.down_to);
    if (next.then !== "retry") return next.then;
    const rows = ledger.rows.filter((row) =>
      row.stage_index === stage_index && row.attempt === attempt
    );
    // What the machine failed is tried as it was: its row adjusts nothing.
    if (decidedOn(rows, stage_index, attempt)?.adjustment === undefined) continue;
    const tried = { actions, resolved, methods, met };
    actions = furtherAttempt(stage, figuresOf(rows), tried)?.actions ?? actions;
  }
}

/** What an earlier run decided of an attempt; null: nothing. */
function earlier(run: Run, stage_index: number, attempt: number): Next | null {
  const { study, ledger, artifacts } = run;
  const row = decidedOn(ledger.rows, stage_index, attempt);
  if (row === undefined) return null;
  switch (row.decision) {
    case "advance":
      return { then: "next", standing: standingOf(study, row, artifacts), down_to: null };
    case "retry":
      return { then: "retry", standing: null, down_to: null };
    case "skip":
      return { then: "next", standing: null, down_to: row.to_artifact };
    default:
      return { then: "end", standing: null, down_to: null };
  }
}

/** Leaves out the rungs above an artifact, whose files have changed: no stage is built on them. */
function goDown(ladder: Standing[], artifact_id: string | null): void {
  if (!ladder.some(({ artifact }) => artifact.artifact_id === artifact_id)) return;
  while (ladder.at(-1)!.artifact.artifact_id !== artifact_id) ladder.pop();
}

function endedEarly(study: Study, { trial }: Attempted): Stop {
  const message = trial.failure?.message ?? "The study was cancelled";
  return cancelled(study) ?? timeIsUp(study) ?? { stop: "failed", message };
}
