import {
  compareTasks,
  isDecisive,
  type Protocolled,
  protocolMismatch,
  replayStudy,
  scoresOf,
  type Spec,
  streamRandom,
  type TaskComparison,
  type Trial,
  unknownName,
  UsageError,
  withNewestScores,
} from "../../../core/mod.ts";
import { readNewestSamples } from "../../store/rows/sample_file.ts";
import type { Store } from "../../store/store.ts";

/** Draws of a comparison of any two trials, which no one study's seed belongs to. */
const SEED = 42;

/** Two trials of one store, of one study or of two, on every task that both measured. */
export interface TrialsCompared {
  readonly comparisons: readonly TaskComparison[];
  /** Tasks that may not be compared, each in a sentence that says what differs. */
  readonly refused: readonly string[];
}

/** A trial's evaluation as the journal and its samples file tell it. */
interface Evaluated extends Protocolled {
  readonly trial: Trial;
  readonly spec: Spec;
}

/** Compares the full evaluations sample by sample; tasks under unequal protocols are refused. */
export async function compareTrials(
  store: Store,
  reference_id: string,
  other_id: string,
): Promise<TrialsCompared> {
  const reference = await evaluatedTrial(store, reference_id);
  const other = await evaluatedTrial(store, other_id);
  const refused: string[] = [];
  const names = { reference: "the first", other: "the second" };
  const tasks = reference.spec.tasks.filter(({ task }) => {
    const [left, right] = [ofTask(reference, task), ofTask(other, task)];
    if (left.samples.length === 0 || right.samples.length === 0) return false;
    const mismatch = protocolMismatch(left, right, names);
    if (mismatch !== null) refused.push(mismatch);
    return mismatch === null;
  });
  for (const task of tasksLacking(other, reference)) {
    refused.push(`Cannot compare ${task}: only ${names.reference} measured it`);
  }
  for (const task of tasksLacking(reference, other)) {
    refused.push(`Cannot compare ${task}: only ${names.other} measured it`);
  }
  const { trial: { measurements }, samples, spec } = reference;
  const own = measurements.filter(({ fidelity }) => isDecisive(fidelity));
  const random = streamRandom(SEED, `comparison ${reference_id} ${other_id}`);
  return {
    comparisons: compareTasks(
      { ...spec, tasks },
      { measurements: own, samples },
      other.samples,
      random,
    ),
    refused,
  };
}

function ofTask({ samples, protocol, protocol_parts }: Evaluated, task: string): Protocolled {
  const only = <T>(by: Record<string, T>) => task in by ? { [task]: by[task]! } : {};
  return {
    samples: samples.filter((sample) => sample.task === task),
    protocol: only(protocol),
    protocol_parts: protocol_parts === undefined ? undefined : only(protocol_parts),
  };
}

/** Tasks that the second measured and the first did not. */
function tasksLacking(first: Evaluated, second: Evaluated): string[] {
  const there = new Set(first.samples.map(({ task }) => task));
  return [...new Set(second.samples.map(({ task }) => task))].filter((task) => !there.has(task));
}

/** Reads a trial's full evaluation; throws a `UsageError` where the store has none. */
async function evaluatedTrial(store: Store, trial_id: string): Promise<Evaluated> {
  const end = trial_id.lastIndexOf("/");
  if (end < 1) throw new UsageError(`Cannot find "${trial_id}": a trial is named STUDY/t00`);
  const study_id = trial_id.slice(0, end);
  const studies = await store.studyIds();
  if (!studies.includes(study_id)) throw new UsageError(unknownName("study", study_id, studies));
  const decided = replayStudy(await store.journalOf(study_id), study_id);
  const study = decided === null ? null : withNewestScores(decided);
  const trial = study?.trials.find((one) => one.trial_id === trial_id);
  if (study === null || trial === undefined) {
    const trials = study?.trials.map((one) => one.trial_id) ?? [];
    throw new UsageError(unknownName("trial", trial_id, trials));
  }
  const written = study.samples.findLast((record) =>
    record.trial_id === trial_id && isDecisive(record.fidelity)
  );
  if (written === undefined) {
    throw new UsageError(`Cannot compare ${trial_id}: it has no full evaluation`);
  }
  return {
    trial,
    spec: study.opened.spec,
    samples: await readNewestSamples(store.paths.root, written, scoresOf(study, written)),
    protocol: written.protocol ?? {},
    protocol_parts: written.protocol_parts,
  };
}
