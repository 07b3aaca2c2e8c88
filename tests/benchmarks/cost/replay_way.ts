/** The recipes of a recorded study once more, in an order, by the loop's own rules: what each way would have taken. */
import {
  type AgentMethod,
  comparableStudy,
  type Facts,
  frontHypervolume,
  FULL,
  inferSpec,
  isDecisive,
  type JournalRecord,
  runStudy,
  seededRandom,
  shuffle,
  type Spec,
  type SpecPlugins,
  StudyRequest,
  type StudyRequestInput,
  type Trial,
} from "../../../core/mod.ts";
import type { RecordedStudy, RecordedTrial } from "./recorded_study.ts";
import { replayedBackend, rungSamples } from "./replayed_backend.ts";

/** How a study evaluates. */
export interface Way {
  readonly name: string;
  readonly asked: Partial<StudyRequestInput>;
}

/** Windows of the rung of text: a few forward passes. */
const WINDOWS = 4;

/** The first is what the others are held against. */
export const WAYS: readonly Way[] = [
  { name: "every trial in full", asked: { fidelity: FULL } },
  { name: "rungs and gates", asked: {} },
  { name: "rungs, gates, until decided", asked: { until_decided: true } },
  {
    name: "the same with a rung of KL first",
    asked: { until_decided: true, samples: { kl: WINDOWS } },
  },
];

/** The ways that a study can be replayed by: only a text has windows. */
export function waysOf({ baseline }: RecordedStudy): readonly Way[] {
  const text = baseline.evaluation.measurements.some(({ metric }) => metric === "perplexity");
  return text ? WAYS : WAYS.filter(({ asked }) => asked.samples?.kl === undefined);
}

/** How far a study was when a trial was closed. */
export interface Step {
  /** Seconds of compressing and evaluating so far, and of timing. */
  readonly work: number;
  readonly timing: number;
  /** Of the front of trials that violate no constraint. */
  readonly hypervolume: number;
}

export interface Replayed {
  readonly steps: readonly Step[];
  /** Compressed trials that were evaluated in full. */
  readonly full: number;
  /** Samples computed. */
  readonly samples: number;
}

/** What the recipes are made of and judged by. */
export interface Known {
  readonly methods: readonly AgentMethod[];
  readonly plugins: SpecPlugins;
}

/** Hypervolume of what a user could ship: evaluated in full, and no constraint is violated. */
export function hypervolumeOf(trials: readonly Trial[], spec: Spec, facts: Facts): number {
  const allowed = trials.filter(({ strategy, state, fidelity, constraints }) =>
    strategy === null ||
    (state === "completed" && isDecisive(fidelity) &&
      constraints.every(({ verdict }) => verdict !== "violated"))
  );
  return frontHypervolume(comparableStudy(allowed, spec), facts) ?? 0;
}

/** An order of the recipes: 0 is that in which they were run. */
export function inOrder(trials: readonly RecordedTrial[], order: number): RecordedTrial[] {
  const drawn = [...trials];
  if (order > 0) shuffle(drawn, seededRandom(order));
  return drawn;
}

/** The request of a way: the recorded study's, its recipes given, nothing else proposed. */
function requestOf(study: RecordedStudy, { asked }: Way, trials: readonly RecordedTrial[]) {
  const { fidelity: _, sampler: __, budget_seconds: ___, samples, ...request } =
    study.opened.request;
  return StudyRequest.parse({
    ...request,
    ...asked,
    samples: { ...samples, ...asked.samples },
    rules: [],
    strategies: trials.map(({ actions }) => ({ actions })),
    max_trials: trials.length,
    // None waits for the end of the search, and nothing ends it before.
    max_full_evaluations: 4 * trials.length,
    convergence_episodes: 10 * trials.length,
    earlier_studies: false,
  });
}

function specOf(study: RecordedStudy, request: StudyRequest, { plugins }: Known): Spec {
  const { spec: before, facts } = study.opened;
  const spec = inferSpec(request, facts, plugins);
  const tasks = spec.tasks.map((plan) => {
    const { available_samples } = before.tasks.find(({ task }) => task === plan.task) ?? {};
    return available_samples === undefined ? plan : { ...plan, available_samples };
  });
  return { ...spec, tasks };
}

/** Runs the study again on what was recorded; nothing is computed but decisions. */
export async function replayWay(
  study: RecordedStudy,
  way: Way,
  order: number,
  known: Known,
): Promise<Replayed> {
  const trials = inOrder(study.trials, order);
  const request = requestOf(study, way, trials);
  const spec = specOf(study, request, known);
  const { opened: { facts, provenance }, original, baseline } = study;
  let time = Date.parse("2026-01-01T00:00:00Z");
  const rungs = rungSamples(spec, baseline.evaluation.samples, order + 1);
  const { backend, costs } = replayedBackend(study, spec, rungs, (seconds) => {
    time += 1000 * seconds;
  });
  const closed: { work: number; timing: number; trial: Trial }[] = [];
  const record = (one: JournalRecord) => {
    if (one.type === "trial_closed") {
      closed.push({ work: costs.work, timing: costs.timing, trial: one.trial });
    }
    return Promise.resolve();
  };
  await runStudy(
    {
      ...{ study_id: "replay", request, facts, spec, provenance, methods: known.methods },
      ...{ samplers: [], baseline: original },
    },
    {
      backend,
      tracker: { record },
      ask: { interactive: false, number: (_, fallback) => Promise.resolve(fallback) },
      clock: { now: () => time },
      signal: new AbortController().signal,
    },
  );
  const steps = closed.map(({ work, timing }, i): Step => ({
    ...{ work, timing },
    hypervolume: hypervolumeOf(closed.slice(0, i + 1).map(({ trial }) => trial), spec, facts),
  }));
  const full =
    closed.filter(({ trial: { strategy, fidelity } }) => strategy !== null && isDecisive(fidelity))
      .length;
  return { steps, full, samples: costs.samples };
}
