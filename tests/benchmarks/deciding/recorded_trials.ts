import { join } from "node:path";
import { isDecisive, replayStudy, type SampleResult } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { readSamples } from "../../../tracker/store/rows/sample_file.ts";

/** A trial of a store, as differences of its right-or-wrong scores to the baseline's. */
export interface RecordedTrial {
  readonly name: string;
  readonly differences: Int8Array;
}

/** Baseline minus trial over the samples that both have; null: a score is neither 0 nor 1. */
export function differencesOfScores(
  reference: readonly SampleResult[],
  own: readonly SampleResult[],
): Int8Array | null {
  const scores = new Map(own.map((one) => [`${one.task} ${one.sample_hash}`, one.score]));
  const found = reference.flatMap((one) => {
    const score = scores.get(`${one.task} ${one.sample_hash}`);
    return score === undefined ? [] : [one.score - score];
  });
  return found.every((one) => [-1, 0, 1].includes(one)) ? Int8Array.from(found) : null;
}

/** Every trial of a store that was evaluated in full, beside its study's baseline. */
export async function recordedTrials(root: string): Promise<RecordedTrial[]> {
  await using store = await openStore(root, { write: false });
  const found: RecordedTrial[] = [];
  for (const { study_id } of await store.studies()) {
    const study = replayStudy(await store.journalOf(study_id), study_id);
    const baseline = study?.trials.find((one) =>
      one.strategy === null && one.state === "completed"
    );
    if (study === null || baseline === undefined) continue;
    const full = study.samples.filter(({ fidelity, stage }) =>
      isDecisive(fidelity) && stage === undefined
    );
    const shares = new Set(
      study.opened.spec.tasks.filter(({ primary }) => primary).map(({ task }) => task),
    );
    const read = async (trial_id: string) => {
      const record = full.findLast((one) => one.trial_id === trial_id);
      if (record === undefined) return [];
      const rows = await readSamples(join(store.paths.root, record.path), record.sha256);
      return rows.filter(({ task }) => shares.has(task));
    };
    const reference = await read(baseline.trial_id);
    for (const { trial_id, strategy } of study.trials) {
      const own = strategy === null ? [] : await read(trial_id);
      const differences = differencesOfScores(reference, own);
      if (differences !== null && differences.length > 0) {
        found.push({ name: trial_id, differences });
      }
    }
  }
  return found;
}
