import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AnswersScored, ScoredTask } from "../../../core/mod.ts";
import { canonicalJson } from "../../artifacts/action_key.ts";

/** The answers that were scored: the samples of a trial on a rung. */
export interface ScoredAnswers {
  readonly study_id: string;
  readonly trial_id: string;
  readonly fidelity: string;
  /** Of the samples file, relative to the store. */
  readonly path: string;
  readonly sha256: string;
  /** Hash of each task's protocol; of an old record none. */
  readonly protocol: Readonly<Record<string, string>>;
}

/** Under what figures of a scorer may be compared: that of the answers, the scorer and its knobs. */
function protocolOf(
  { protocol }: ScoredAnswers,
  { task, scorer, scorer_version, params }: ScoredTask,
): string | null {
  const own = protocol[task];
  if (own === undefined) return null;
  const text = canonicalJson([own, scorer, scorer_version, params]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The record of what a scorer made of answers; its files lie beside the samples file. */
export function scoredRecord(
  answers: ScoredAnswers,
  scored: ScoredTask,
  at: string,
): AnswersScored {
  const { study_id, trial_id, fidelity, sha256 } = answers;
  const kept = ({ name, ...file }: ScoredTask["scores"]) => ({
    path: join(dirname(answers.path), name),
    ...file,
  });
  return {
    type: "scored",
    at,
    ...{ study_id, trial_id, fidelity },
    ...scored,
    samples_sha256: sha256,
    protocol: protocolOf(answers, scored),
    scores: kept(scored.scores),
    verdicts: scored.verdicts === null ? null : kept(scored.verdicts),
  };
}

/** Removes files that a worker wrote and no record will name. `folder`: of the samples file. */
export async function removeScored(folder: string, scored: readonly ScoredTask[]): Promise<void> {
  const files = scored.flatMap(({ scores, verdicts }) => [scores, ...verdicts ? [verdicts] : []]);
  for (const { name } of files) await rm(join(folder, name), { force: true });
}
