import { join } from "node:path";
import { isDecisive, mean, replayStudy, type SampleResult, unsureness } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { readSamples } from "../../../tracker/store/rows/sample_file.ts";

/** A trial of a store, as differences of its right-or-wrong scores to the baseline's. */
export interface RecordedTrial {
  readonly name: string;
  /** What the original answered, and the trial's scores. */
  readonly samples: readonly SampleResult[];
  readonly scores: readonly number[];
  readonly differences: Int8Array;
  /** How unsure the original was of each sample: more is less sure. NaN: it is not told. */
  readonly unsure: Float64Array;
}

/**
 * A trial beside its baseline over the samples that both have; null: a score is neither 0 nor 1. Nothing
 * of what is told beside the scores is needed by the plain way of deciding.
 */
export function recordedTrial(
  name: string,
  reference: readonly SampleResult[],
  own: readonly SampleResult[],
): RecordedTrial | null {
  const known = new Map(own.map((one) => [`${one.task} ${one.sample_hash}`, one]));
  const pairs = reference.flatMap((original) => {
    const trial = known.get(`${original.task} ${original.sample_hash}`);
    return trial === undefined ? [] : [{ original, trial }];
  });
  const differences = pairs.map(({ original, trial }) => original.score - trial.score);
  if (!differences.every((one) => [-1, 0, 1].includes(one))) return null;
  return {
    name,
    samples: pairs.map(({ original }) => original),
    scores: pairs.map(({ trial }) => trial.score),
    differences: Int8Array.from(differences),
    unsure: Float64Array.from(pairs, ({ original }) => unsureness(original) ?? NaN),
  };
}

/** The trial nearest to each drop, each once, in the order of the drops. */
export function nearestTo(
  drops: readonly number[],
  trials: readonly RecordedTrial[],
): RecordedTrial[] {
  const dropOf = ({ differences }: RecordedTrial) => mean([...differences]);
  const apart = (trial: RecordedTrial, drop: number) => Math.abs(dropOf(trial) - drop);
  const nearest = drops.flatMap((drop) =>
    trials.toSorted((a, b) => apart(a, drop) - apart(b, drop)).slice(0, 1)
  );
  return [...new Set(nearest)];
}

/** The samples so often that there are at least so many: a larger benchmark of which these are typical. */
export function repeated(trial: RecordedTrial, population: number): RecordedTrial {
  const n = trial.differences.length;
  const times = Math.max(1, Math.ceil(population / n));
  return {
    name: times === 1 ? trial.name : `${trial.name}, each answer ${times} times`,
    samples: Array.from({ length: times * n }, (_, i) => ({
      ...trial.samples[i % n]!,
      sample_hash: `${trial.samples[i % n]!.sample_hash} ${Math.floor(i / n)}`,
    })),
    scores: Array.from({ length: times * n }, (_, i) => trial.scores[i % n]!),
    differences: Int8Array.from({ length: times * n }, (_, i) => trial.differences[i % n]!),
    unsure: Float64Array.from({ length: times * n }, (_, i) => trial.unsure[i % n]!),
  };
}

/** Places of samples in fifths by how unsure the original was, the least sure first. */
export function placesByFifth({ unsure }: RecordedTrial): number[][] {
  const of = (place: number) => Number.isNaN(unsure[place]!) ? -1 : unsure[place]!;
  const order = [...unsure.keys()].sort((a, b) => of(b) - of(a));
  const size = order.length / 5;
  return [0, 1, 2, 3, 4].map((fifth) =>
    order.slice(Math.round(fifth * size), Math.round((fifth + 1) * size))
  );
}

/** How often the samples of each fifth changed in other trials of the same model. */
export function flipsByFifth(others: readonly RecordedTrial[]): number[] {
  return [0, 1, 2, 3, 4].map((fifth) =>
    mean(others.map((one) => {
      const own = placesByFifth(one)[fifth]!;
      return own.reduce((sum, place) => sum + Math.abs(one.differences[place]!), 0) / own.length;
    }))
  );
}

/** A trial's answers to each of its tasks alone; none where it has one task. */
export function byTask(trial: RecordedTrial): RecordedTrial[] {
  const tasks = [...new Set(trial.samples.map(({ task }) => task))];
  return tasks.length < 2 ? [] : tasks.map((task) => {
    const places = [...trial.samples.keys()].filter((i) => trial.samples[i]!.task === task);
    return {
      name: `${trial.name} on ${task}`,
      samples: places.map((i) => trial.samples[i]!),
      scores: places.map((i) => trial.scores[i]!),
      differences: Int8Array.from(places, (i) => trial.differences[i]!),
      unsure: Float64Array.from(places, (i) => trial.unsure[i]!),
    };
  });
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
    const full = study.samples.filter(({ fidelity, action_index }) =>
      isDecisive(fidelity) && action_index === undefined
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
      const trial = recordedTrial(trial_id, reference, own);
      if (trial !== null && trial.differences.length > 0) found.push(trial);
    }
  }
  return found;
}
