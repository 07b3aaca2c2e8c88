import type { Stop } from "../loop/stop.ts";
import type { StageDecision } from "../schemas/stages/decision.ts";
import { countedBytes } from "./artifact_checks.ts";
import { soundness } from "./decide.ts";
import { type About, saidRow } from "./ledger.ts";
import { levelRows } from "./levels.ts";
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
    ? "No stage passed: the original is what is shipped"
    : `What ${row.stage} left is shipped: ${row.to_artifact}${size}`;
  return { stop: "staged", message: `${what}.` };
}

/**
 * Ships the highest rung of the ladder whose bytes are still those that were measured; the original
 * where none is. A run that shipped already says so again.
 */
export async function ship(run: Run): Promise<{ stop: Stop; trial_id: string | null }> {
  const before = run.ledger.rows.find(({ decision }) => decision === "ship");
  if (before !== undefined) return { stop: stopOf(run, before), trial_id: before.trial_id };
  const top = run.ladder.at(-1)!.artifact.artifact_id;
  for (const standing of run.ladder.toReversed()) {
    const about = aboutOf(standing, top);
    const broken = await soundness(run, standing);
    if (broken !== null) {
      const said = { about: "shipped" as const, decision: "failed" as const, reason: broken };
      await run.ledger.add([saidRow(about, said)]);
      continue;
    }
    const reason = standing.stage === ORIGINAL
      ? "no stage passed: the original, byte for byte"
      : `the best that passed, its bytes those that were measured: ${standing.artifact.artifact_id}`;
    const row = saidRow(about, { about: "shipped", decision: "ship", reason });
    await run.ledger.add([...levelRows(run, standing, about), row]);
    const { trial_id } = standing;
    return { stop: stopOf(run, { ...row, number: 0 }), trial_id };
  }
  const message =
    "Nothing can be shipped: not even the original's files are those that were measured.";
  return { stop: { stop: "failed", message }, trial_id: null };
}
