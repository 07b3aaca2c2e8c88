/** A study whose trials were all evaluated in full, as a replay needs it: what was answered, and what it took. */
import {
  type Action,
  type Artifact,
  type Evaluation,
  isDecisive,
  isOfAnswers,
  type JournalRecord,
  type Measurement,
  replayStudy,
  type ResolvedAction,
  type SampleResult,
  type Span,
  type Speed,
  type Trial,
  UsageError,
} from "../../../core/mod.ts";

/** A recipe as it was run once. */
export interface RecordedTrial {
  readonly trial_id: string;
  /** As its strategy has them, and with a value for every knob. */
  readonly actions: readonly Action[];
  readonly resolved: readonly ResolvedAction[];
  /** What each action made, in order; the baseline's is the original. */
  readonly artifacts: readonly Artifact[];
  /** In full. */
  readonly evaluation: Evaluation;
  /** Seconds of its evaluation that are no sample's: start, imports, the model. */
  readonly fixed_seconds: number;
  /** Null: it was not timed, as it had ended. */
  readonly speed: (Speed & { readonly seconds: number }) | null;
}

export interface RecordedStudy {
  readonly opened: Extract<JournalRecord, { type: "study_opened" }>;
  readonly original: Artifact;
  readonly baseline: RecordedTrial;
  /** Compressed ones that were evaluated, in the order in which they were run. */
  readonly trials: readonly RecordedTrial[];
  /** Seconds that each artifact took where it was made, by its id. */
  readonly made: ReadonlyMap<string, number>;
}

/** Reads the samples of a trial's full evaluation; null where there are none. */
export type FullSamples = (trial_id: string) => Promise<readonly SampleResult[] | null>;

/**
 * The same on a benchmark of so many times the samples, of which those recorded are typical: each is there
 * so often, and takes its seconds each time. Texts stay as they are.
 */
export function repeatedStudy(study: RecordedStudy, times: number): RecordedStudy {
  if (times === 1) return study;
  const { opened, baseline, trials } = study;
  const texts = new Set(
    baseline.evaluation.measurements.filter(({ metric }) => metric === "perplexity")
      .map(({ task }) => task),
  );
  const rows = new Map(
    opened.spec.tasks.map(({ task }) => [
      task,
      baseline.evaluation.samples.filter((one) => one.task === task).length,
    ]),
  );
  const repeated = (samples: readonly SampleResult[]) =>
    Array.from(
      { length: times },
      (_, i) =>
        samples.filter(({ task }) => i === 0 || !texts.has(task)).map((one) => ({
          ...one,
          sample_id: String(Number(one.sample_id) + i * rows.get(one.task)!),
          sample_hash: `${one.sample_hash} ${i}`,
        })),
    ).flat();
  const of = (one: RecordedTrial): RecordedTrial => ({
    ...one,
    evaluation: { ...one.evaluation, samples: repeated(one.evaluation.samples) },
  });
  const tasks = opened.spec.tasks.map((plan) => {
    const { task, available_samples } = plan;
    return available_samples === undefined || texts.has(task)
      ? plan
      : { ...plan, available_samples: times * available_samples };
  });
  const { full } = opened.request.samples;
  const samples = {
    ...opened.request.samples,
    ...(full === undefined ? {} : { full: times * full }),
  };
  return {
    ...study,
    opened: {
      ...opened,
      request: { ...opened.request, samples },
      spec: { ...opened.spec, tasks },
    },
    baseline: of(baseline),
    trials: trials.map(of),
  };
}

const secondsOf = (spans: readonly Span[]) => spans.reduce((sum, { seconds }) => sum + seconds, 0);

/** What an artifact took: a trial that found it has next to nothing of it. */
function madeSeconds(trials: readonly Trial[]): Map<string, number> {
  const made = new Map<string, number>();
  for (const { artifact_ids, spans } of trials) {
    for (const [i, id] of artifact_ids.entries()) {
      const own = spans.filter(({ phase, action_index }) =>
        phase === "apply" && action_index === i
      );
      made.set(id, Math.max(made.get(id) ?? 0, secondsOf(own)));
    }
  }
  return made;
}

const BESIDE = "baseline_";

function speedOf({ measurements, spans }: Trial): RecordedTrial["speed"] {
  const timed = spans.filter(({ phase }) => phase === "speed");
  if (timed.length === 0) return null;
  const rows = measurements.filter(({ metric, task }) =>
    task === null && !isOfAnswers(metric) && metric !== "size_bytes"
  );
  const beside = rows.filter(({ metric }) => metric.startsWith(BESIDE));
  return {
    measurements: rows.filter((row) => !beside.includes(row)),
    baseline_measurements: beside.map((row): Measurement => ({
      ...row,
      metric: row.metric.slice(BESIDE.length),
    })),
    seconds: secondsOf(timed),
  };
}

/** A study as its journal tells it; trials that failed or were not evaluated are left out. */
export async function recordedStudy(
  records: readonly JournalRecord[],
  study_id: string,
  samplesOf: FullSamples,
): Promise<RecordedStudy> {
  const study = replayStudy(records, study_id);
  if (study === null) throw new UsageError(`Cannot find study "${study_id}" among the records`);
  const found = await Promise.all(study.trials.map(async (trial) => {
    const samples = await samplesOf(trial.trial_id);
    if (samples === null || !["completed", "stopped"].includes(trial.state)) return [];
    const measurements = trial.measurements.filter(({ fidelity, task, slice }) =>
      isDecisive(fidelity) && task !== null && slice === null
    );
    const whole = secondsOf(trial.spans.filter(({ phase }) => isDecisive(phase ?? null)));
    const ofSamples = samples.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
    if (!(ofSamples > 0)) {
      throw new UsageError(`Cannot replay ${trial.trial_id} as its samples say no seconds`);
    }
    const artifacts = trial.artifact_ids.flatMap((id) => study.artifacts.get(id) ?? []);
    const recorded: RecordedTrial = {
      trial_id: trial.trial_id,
      actions: trial.strategy?.actions ?? [],
      resolved: trial.actions,
      artifacts,
      evaluation: { measurements, samples: [...samples], protocol: {} },
      fixed_seconds: Math.max(0, whole - ofSamples),
      speed: speedOf(trial),
    };
    return [{ trial, recorded }];
  }));
  const all = found.flat().sort((a, b) => a.trial.number - b.trial.number);
  const baseline = all.find(({ trial }) => trial.strategy === null)?.recorded;
  const original = [...study.artifacts.values()].find(({ parent_id }) => parent_id === null);
  if (baseline === undefined || original === undefined) {
    throw new UsageError(`Cannot replay ${study_id} as its baseline was not evaluated in full`);
  }
  return {
    opened: study.opened,
    original,
    baseline,
    trials: all.filter(({ trial }) => trial.strategy !== null).map(({ recorded }) => recorded),
    made: madeSeconds(study.trials),
  };
}
