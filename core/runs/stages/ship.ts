import type { Stop } from "../../loop/stop.ts";
import type { StageDecision } from "../../schemas/stages/decision.ts";
import { countedBytes } from "./checks/artifact_checks.ts";
import { afterCritical, soundness } from "./decide.ts";
import { type About, saidRow } from "./ledger.ts";
import { levelRows, levelsReached } from "./checks/levels.ts";
import type { Run } from "./run.ts";
import { ORIGINAL, type Standing } from "./standing.ts";

/** A rung of the ladder as rows are about it. */
function aboutOf({ stage, stage_index, trial_id, artifact }: Standing, from: string): About {
  const to_artifact = artifact.artifact_id;
  return { stage, stage_index, attempt: 0, from_artifact: from, to_artifact, trial_id };
}

function stopOf({ ports: _, ...run }: Run, row: StageDecision): Stop {
  const { model } = run.study.input.facts;
  const shipped = run.ladder.find(({ artifact }) => artifact.artifact_id === row.to_artifact);
  const bytes = shipped === undefined
    ? null
    : countedBytes(shipped.artifact, run.study.input.facts);
  const size = bytes === null
    ? ""
    : `, ${bytes} bytes on disk, ${
      (model.fp16_bytes / bytes).toFixed(2)
    } times fewer than at 2 a weight`;
  const what = row.stage === ORIGINAL
    ? `${row.reason.charAt(0).toUpperCase()}${row.reason.slice(1)}`
    : `What ${row.stage} left is shipped: ${row.to_artifact}${size}`;
  return { stop: "staged", message: `${what}.` };
}

/**
 * What may be shipped, the best first: of the stages that passed the one that reaches more levels of
 * success, of those the one of fewest bytes, of those the last; or the last as it is. The original is
 * after all of them, and alone where a critical failure ended the run and the document gives it back.
 */
function candidates(run: Run): Standing[] {
  const { plan, ledger, ladder, study: { input: { facts } } } = run;
  const aborted = ledger.rows.some(({ decision }) => decision === "abort");
  const [original, ...passed] = aborted ? afterCritical(run) : ladder;
  const last = passed.toReversed();
  const ranked = plan.ships === "last" ? last : last
    .map((standing) => ({
      standing,
      levels: levelsReached(run, standing),
      bytes: countedBytes(standing.artifact, facts),
    }))
    .sort((one, other) => other.levels - one.levels || one.bytes - other.bytes)
    .map(({ standing }) => standing);
  return [...ranked, original!]; // a ladder begins with it
}

/** Why the original is shipped: nothing passed, a critical failure, or files that have changed. */
function whyOriginal({ ledger: { rows }, plan }: Run): string {
  const original = "the original is shipped, byte for byte";
  const passed = rows.filter(({ decision }) => decision === "advance");
  const abort = rows.find(({ decision }) => decision === "abort");
  if (passed.length === 0) {
    const why = abort === undefined ? "" : `, a critical failure of ${abort.stage} ended the run`;
    return `no stage passed${why}: ${original}`;
  }
  if (abort === undefined || plan.critical.ships === "passed") {
    return `the files of no stage that passed are those that were measured: ${original}`;
  }
  const kept = passed.map(({ stage, trial_id }) => `${stage} (${trial_id})`).join(", ");
  return `a critical failure of ${abort.stage} ended the run, and critical.ships is original: ` +
    `${original}, though ${kept} had passed`;
}

/** Why this rung is shipped, and where a later one passed too, what that one lacks. */
function reasonOf(run: Run, standing: Standing): string {
  if (standing.stage === ORIGINAL) return whyOriginal(run);
  const { artifact_id } = standing.artifact;
  const which = run.plan.ships === "last" ? "the last that passed" : "the best that passed";
  const said = `${which}, its bytes those that were measured: ${artifact_id}`;
  const top = run.ladder.at(-1)!; // the original at least
  if (top.stage_index <= standing.stage_index) return said;
  const { facts } = run.study.input;
  const [own, later] = [standing, top].map(({ artifact }) => countedBytes(artifact, facts));
  const [levels, reached] = [levelsReached(run, standing), levelsReached(run, top)];
  const lacks = [
    ...reached < levels ? [`reaches ${reached} levels of success in place of ${levels}`] : [],
    ...later! > own! ? [`has ${later} bytes in place of ${own}`] : [],
  ];
  return lacks.length === 0 ? said : `${said}; ${top.stage} passed later and ${lacks.join(", ")}`;
}

/**
 * Ships the best of the ladder whose bytes are still those that were measured; the original where none
 * is. A run that shipped already says so again.
 */
export async function ship(run: Run): Promise<{ stop: Stop; trial_id: string | null }> {
  const before = run.ledger.rows.find(({ decision }) => decision === "ship");
  if (before !== undefined) return { stop: stopOf(run, before), trial_id: before.trial_id };
  const top = run.ladder.at(-1)!;
  for (const standing of candidates(run)) {
    const about = aboutOf(standing, top.artifact.artifact_id);
    const broken = await soundness(run, standing);
    if (broken !== null) {
      const said = { about: "shipped" as const, decision: "failed" as const, reason: broken };
      await run.ledger.add([saidRow(about, said)]);
      continue;
    }
    const reason = reasonOf(run, standing);
    const row = saidRow(about, { about: "shipped", decision: "ship", reason });
    await run.ledger.add([...levelRows(run, standing, about), row]);
    const { trial_id } = standing;
    return { stop: stopOf(run, { ...row, number: 0 }), trial_id };
  }
  const message =
    "Nothing can be shipped: not even the original's files are those that were measured.";
  return { stop: { stop: "failed", message }, trial_id: null };
}
