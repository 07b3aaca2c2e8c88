/** A backend that gives what was recorded, and whose clock moves by what that took. */
import {
  type Backend,
  chooseSamples,
  type Evaluation,
  meanAndErrorOf,
  type Measurement,
  type Outcome,
  ownRow,
  sampleKey,
  type SamplePool,
  type SampleResult,
  samplesAt,
  seededRandom,
  shuffle,
  type Spec,
  strategyKey,
} from "../../../core/mod.ts";
import type { RecordedStudy, RecordedTrial } from "./recorded_study.ts";

/** What a replayed study has taken so far. */
export interface Costs {
  /** Seconds of compressing and evaluating. */
  work: number;
  /** Seconds of timing. */
  timing: number;
  /** Samples that were computed, those taken over from a lower rung not counted again. */
  samples: number;
}

/** Keys of the samples that each rung takes, drawn by strata, each rung's among those of the next. */
export type RungSamples = ReadonlyMap<string, ReadonlySet<string>>;

function shuffled(count: number, seed: number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  shuffle(order, seededRandom(seed));
  return order;
}

/** Draws the rungs of a ladder from the samples that were recorded. */
export function rungSamples(
  spec: Spec,
  recorded: readonly SampleResult[],
  seed: number,
): RungSamples {
  const pools = spec.tasks.map(({ task }): SamplePool & { own: SampleResult[] } => {
    const own = recorded.filter((one) => one.task === task);
    const strata = own.map(({ stratum }) => stratum ?? "");
    const counts = spec.rungs.map(({ fidelity }) => {
      const count = samplesAt(spec, fidelity, task);
      return count === undefined ? 0 : count;
    });
    const groups = strata.some((name) => name !== "") ? strata : null;
    return { task, order: shuffled(own.length, seed), groups, counts, own };
  });
  const chosen = chooseSamples(pools.map(({ own: _, ...pool }) => pool));
  return new Map(spec.rungs.map(({ fidelity }, height) => [
    fidelity,
    new Set(
      pools.flatMap(({ own }, i) => chosen[i]!.rungs[height]!.map((row) => sampleKey(own[row]!))),
    ),
  ]));
}

/** The rows of some of a task's samples, as the evaluator reports them. */
function rowsOf(
  spec: Spec,
  { measurements }: Evaluation,
  samples: readonly SampleResult[],
  fidelity: string,
): Measurement[] {
  return spec.tasks.flatMap((plan) => {
    const own = samples.filter(({ task }) => task === plan.task);
    const like = ownRow(measurements, plan);
    if (own.length === 0 || like === undefined) return [];
    const { mean, standard_error } = meanAndErrorOf(own.map(({ score }) => score), own);
    const text = like.metric === "perplexity";
    const value = text ? Math.exp(mean) : mean;
    const error = standard_error === null ? null : standard_error * (text ? value : 1);
    const row = { ...like, fidelity, value, n: own.length, standard_error: error };
    const kl = measurements.find(({ metric, task }) => metric === "kl" && task === plan.task);
    const windows = own.flatMap(({ kl }) => kl ?? []);
    if (kl === undefined || windows.length < own.length) return [row];
    const distance = meanAndErrorOf(windows, own);
    return [row, {
      ...kl,
      ...{ fidelity, value: distance.mean, n: own.length },
      standard_error: distance.standard_error,
    }];
  });
}

function ok<T>(value: T, name: string, seconds: number): Outcome<T> {
  return { ok: true, value, spans: [{ name, seconds, library: true }] };
}

/** The backend of a replay; `advance` moves its clock by so many seconds. */
export function replayedBackend(
  study: RecordedStudy,
  spec: Spec,
  rungs: RungSamples,
  advance: (seconds: number) => void,
): { backend: Backend; costs: Costs } {
  const { original, baseline, trials, made } = study;
  const costs: Costs = { work: 0, timing: 0, samples: 0 };
  const there = new Set<string>();
  const answered = new Map<string, Set<string>>();
  const byArtifact = new Map<string, RecordedTrial>([[original.artifact_id, baseline]]);
  const children = new Map<string, RecordedTrial["artifacts"][number]>();
  for (const one of trials) {
    byArtifact.set(one.artifacts.at(-1)!.artifact_id, one);
    one.artifacts.forEach((artifact, i) => {
      const parent = i === 0 ? original : one.artifacts[i - 1]!;
      children.set(`${parent.artifact_id} ${strategyKey([one.resolved[i]!])}`, artifact);
    });
  }
  const spend = (kind: "work" | "timing", seconds: number) => {
    costs[kind] += seconds;
    advance(seconds);
  };
  const timed = trials.flatMap(({ speed }) => speed?.seconds ?? []);
  const usual = timed.reduce((sum, one) => sum + one, 0) / Math.max(1, timed.length);
  const backend: Backend = {
    apply(_, parent, action) {
      const artifact = children.get(`${parent.artifact_id} ${strategyKey([action])}`);
      if (artifact === undefined) throw new Error(`${action.method} was not recorded here`);
      const cached = there.has(artifact.artifact_id);
      there.add(artifact.artifact_id);
      const seconds = cached ? 0 : made.get(artifact.artifact_id) ?? 0;
      spend("work", seconds);
      return Promise.resolve(ok({ artifact, cached }, "apply", seconds));
    },
    evaluate(_, { artifact_id }, fidelity, __, look) {
      const one = byArtifact.get(artifact_id)!;
      const wanted = rungs.get(fidelity)!;
      const part = look?.rows ?? null;
      const samples = one.evaluation.samples.filter((sample) =>
        wanted.has(sampleKey(sample)) &&
        (part === null || part[sample.task]?.includes(Number(sample.sample_id)) === true)
      );
      const known = answered.get(artifact_id) ?? new Set();
      const fresh = samples.filter((sample) => !known.has(sampleKey(sample)));
      answered.set(artifact_id, new Set([...known, ...fresh.map(sampleKey)]));
      costs.samples += fresh.length;
      const seconds = one.fixed_seconds +
        fresh.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
      spend("work", seconds);
      const measurements = rowsOf(spec, one.evaluation, samples, fidelity);
      const protocol = Object.fromEntries(spec.tasks.map(({ task }) => [task, "recorded"]));
      return Promise.resolve(ok({ measurements, samples, protocol }, "evaluate", seconds));
    },
    speed(_, { artifact_id }) {
      const { seconds = usual, ...rows } = byArtifact.get(artifact_id)?.speed ?? {
        measurements: [],
        baseline_measurements: [],
      };
      spend("timing", seconds);
      return Promise.resolve(ok(rows, "speed", seconds));
    },
  };
  return { backend, costs };
}
