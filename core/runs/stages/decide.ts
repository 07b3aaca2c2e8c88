import type { KnobValue } from "../../schemas/action.ts";
import type { StageDecision } from "../../schemas/stages/decision.ts";
import { furtherAttempt } from "./adjust.ts";
import { type About, checkRow, figuresOf, saidRow } from "./ledger.ts";
import type { Attempt, Attempted } from "./run_attempt.ts";
import type { Run } from "./run.ts";
import { metBy, type Standing } from "./standing.ts";

/** How the run goes on after an attempt. */
export interface Next {
  readonly then: "retry" | "next" | "end";
  /** What stands from here on; null: what stood before. */
  readonly standing: Standing | null;
  /** The artifact that the ladder is gone down to, as files above it have changed; null: none have. */
  readonly down_to: string | null;
}

/** A machine's fault may be gone the next time; an action that fails by itself would fail alike. */
const MACHINE: ReadonlySet<string> = new Set([
  "crash",
  "stall",
  "out_of_memory",
  "disk_full",
  "missing_environment",
]);

/** Whether another attempt is worth making, with what it changes, and in words why. */
function retryOf(
  { study: { input: { methods, facts } } }: Run,
  { plan, stage, attempt, onto, actions, resolved }: Attempt,
  { verdict, checks, trial }: Attempted,
): { again: boolean; why: string; set?: Record<string, KnobValue> } {
  if (verdict === "critical" && !plan.critical.retry) {
    return { again: false, why: "a critical failure ends the run" };
  }
  if (attempt >= stage.attempts) {
    return { again: false, why: `all ${stage.attempts} attempts have failed` };
  }
  if (trial.failure !== null && MACHINE.has(trial.failure.kind)) {
    return { again: true, why: "the machine failed it, it is tried as it was" };
  }
  const figures = figuresOf(checks);
  const met = metBy(onto, facts);
  const further = furtherAttempt(stage, figures, { actions, resolved, methods, met });
  if (further === undefined) {
    const none = figures.too_large
      ? "no adjustment is declared that makes it smaller"
      : "no adjustment is declared for this";
    return { again: false, why: `${none}, and the same would come again` };
  }
  const { adjustment: { reason, skip }, set, short } = further;
  const told = reason === undefined ? "" : ` (${reason})`;
  if (skip) return { again: false, why: `its adjustment is to leave it out${told}` };
  const less = short.map((one) => `; ${one}`).join("");
  return { again: true, why: `it is tried again, adjusted${told}${less}`, set };
}

/** Why an attempt did not pass, in one sentence. */
function faultsOf({ checks }: Attempted): string {
  const failed = checks.filter(({ decision }) => decision === "failed");
  if (failed.length === 0) return "nothing here judges it";
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  return `${failed[0]!.reason}${more}`;
}

/** Whether what stands is still, byte for byte, what was measured. */
export async function soundness({ ports }: Run, { artifact }: Standing): Promise<string | null> {
  try {
    const found = await ports.idOfBytes(artifact);
    if (found === artifact.artifact_id) return null;
    return `the files of ${artifact.artifact_id} have changed: they are ${found} now`;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return `the files of ${artifact.artifact_id} cannot be read: ${said}`;
  }
}

/** Decides what becomes of an attempt and writes that, with every check, in one record. */
export async function decideAttempt(
  run: Run,
  attempt: Attempt & { readonly stage_index: number },
  attempted: Attempted,
): Promise<Next> {
  const { stage, stage_index, standing } = attempt;
  const { artifact, trial, checks, verdict } = attempted;
  const from = standing.artifact.artifact_id;
  const about: About = {
    stage: stage.name,
    stage_index,
    attempt: attempt.attempt,
    from_artifact: from,
    to_artifact: artifact?.artifact_id ?? null,
    trial_id: trial.trial_id,
  };
  const rows = checks.map((check) => checkRow(check, about));
  const decide = async (
    decision: StageDecision["decision"],
    reason: string,
    more: Partial<StageDecision> = {},
  ) => {
    const row = saidRow(about, { about: "attempt", decision, reason });
    await run.ledger.add([...rows, { ...row, ...more }]);
  };
  if (verdict === "passed" && artifact !== null) {
    await decide("advance", `every check of ${stage.name} passed`);
    const passed: Standing = {
      ...{ stage: stage.name, stage_index, artifact, trial_id: trial.trial_id },
      actions: trial.strategy!.actions, // an attempt has one
      resolved: trial.actions,
    };
    return { then: "next", standing: passed, down_to: null };
  }
  const why = faultsOf(attempted);
  const retry = retryOf(run, attempt, attempted);
  const ended = verdict === "critical" && !retry.again;
  const sound = await soundStanding(run, ended ? afterCritical(run) : run.ladder);
  const back = {
    from_artifact: artifact?.artifact_id ?? null,
    to_artifact: sound.standing?.artifact.artifact_id ?? null,
  };
  const down_to = sound.broken === null ? null : back.to_artifact;
  if (retry.again && sound.broken === null) {
    const adjustment = retry.set === undefined ? {} : { adjustment: retry.set };
    await decide("retry", `${why}; ${retry.why}`, { ...back, ...adjustment });
    return { then: "retry", standing: null, down_to };
  }
  const ends = verdict === "critical" || stage.when_failed === "end" || sound.standing === null;
  const decision = verdict === "critical" ? "abort" : ends ? "roll_back" : "skip";
  const again = sound.broken === null ? `${retry.why}; ` : "";
  const left = ended && run.ladder.length > 1
    ? `; ${run.plan.critical.ships} is what critical.ships says is shipped then`
    : "";
  await decide(decision, `${why}; ${again}${sound.told}${left}`, back);
  return { then: ends ? "end" : "next", standing: null, down_to };
}

/** The rungs of which one may be shipped after a critical failure. */
export function afterCritical({ plan, ladder }: Run): readonly Standing[] {
  return plan.critical.ships === "original" ? ladder.slice(0, 1) : ladder;
}

/** The highest of these rungs whose files are those that were measured; null: none is. */
async function soundStanding(
  run: Run,
  rungs: readonly Standing[],
): Promise<{ standing: Standing | null; broken: string | null; told: string }> {
  let broken: string | null = null;
  for (const standing of rungs.toReversed()) {
    const fault = await soundness(run, standing);
    if (fault !== null) {
      broken ??= fault;
      continue;
    }
    const { artifact_id } = standing.artifact;
    const told = broken === null
      ? `back to ${artifact_id}, the same bytes`
      : `${broken}; the ladder is gone down to ${artifact_id}, the same bytes`;
    return { standing, broken, told };
  }
  return { standing: null, broken, told: `${broken}; no rung of the ladder is what was measured` };
}
