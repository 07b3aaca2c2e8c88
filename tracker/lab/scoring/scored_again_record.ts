import { createHash } from "node:crypto";
import {
  type CallResult,
  countScores,
  type JournalRecord,
  type ScoredAgain,
  type StudyScoredAgain,
  type WireTask,
} from "../../../core/mod.ts";
import { canonicalJson } from "../../artifacts/action_key.ts";
import { scoredRecord } from "./scored_record.ts";

type Written = Extract<JournalRecord, { type: "samples_written" }>;

/** What a scorer made of the answers of one samples file. */
export interface FileScored {
  readonly file: Written;
  readonly scored: CallResult<"score">["files"][number][number];
  /** Samples that have no score by its own metric. */
  readonly unscored: number;
}

/** Why these scores are not those of the task; null: they are. */
function besideBecause(wire: WireTask, files: readonly FileScored[]): string | null {
  const { scorer } = files[0]!.scored;
  const [own, ...others] = wire.scorers.map((one) => one.scorer);
  if (scorer !== own) {
    return others.includes(scorer) ? null : `${scorer} is no scorer of the task's own`;
  }
  const missing = files.reduce((sum, { unscored }) => sum + unscored, 0);
  return missing === 0 ? null : `${missing} samples have no score`;
}

/** The protocol of a task's answers by this scorer: their own where it is the evaluation's scorer. */
function protocolOf({ file, scored: { task, protocol_part } }: FileScored): string | null {
  const own = file.protocol?.[task];
  if (own === undefined) return null;
  if (protocol_part === (file.protocol_parts?.[task]?.["scorer"] ?? null)) return own;
  const text = canonicalJson([own, protocol_part]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The record of what one scorer made of a task's answers in a study. `files`: at least one. */
export function scoredAgainRecord(
  study: StudyScoredAgain & { readonly study_id: string },
  wire: WireTask,
  files: readonly FileScored[],
  at: string,
): ScoredAgain {
  const { task, scorer, scorer_version, params } = files[0]!.scored;
  const beside_because = besideBecause(wire, files);
  const figures = files.map(({ file: { trial_id, fidelity }, scored: { measurements } }) => ({
    ...{ trial_id, fidelity, measurements },
  }));
  const { trials, rewards } = beside_because === null
    ? countScores(study, figures)
    : { trials: figures.map(({ measurements }) => ({ measurements, replaced: [] })), rewards: [] };
  return {
    ...{ type: "scored_again", at, study_id: study.study_id, task, scorer, scorer_version, params },
    beside_because,
    own_metric: scorer === wire.scorers[0]!.scorer ? wire.reported_metric : null,
    trials: files.map((one, place) => {
      const { study_id, trial_id, fidelity, path, rows, sha256, protocol = {} } = one.file;
      const { protocol_part, ...scored } = one.scored;
      const answers = { study_id, trial_id, fidelity, path, sha256, protocol };
      return {
        ...{ trial_id, fidelity, samples: { path, rows, sha256 } },
        scores: scoredRecord(answers, scored, at).scores,
        ...{ protocol: protocolOf(one), protocol_part },
        ...trials[place]!,
      };
    }),
    rewards,
  };
}
