import {
  type Difference,
  type Drift,
  type Measurement,
  metricOf,
  tAbove,
} from "../../../core/mod.ts";
import type { RecordedStudy, RecordedTrial } from "../../lab/recorded_trial.ts";

/** That a figure is called different by chance, of all of a trial's figures together. */
const CHANCE = 0.05;

/** One trial as it was recorded, or as it came out again, with the study around it. */
export interface OneTrial {
  readonly study: RecordedStudy;
  readonly trial: RecordedTrial;
}

/** The baseline's figures beside a trial, measured in turn with it. */
const BESIDE = "baseline_";

/** What the two were made with, where that is not the same. */
export function differencesOf(recorded: OneTrial, again: OneTrial): Difference[] {
  const before = namedInputs(recorded);
  const now = namedInputs(again);
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].flatMap((key): Difference[] => {
    const [old, found] = [before.get(key), now.get(key)];
    if (old?.value === found?.value) return [];
    const { what, name } = (old ?? found)!; // the key is of one of them
    return [{ what, name, recorded: old?.value ?? null, again: found?.value ?? null }];
  });
}

type Input = Pick<Difference, "what" | "name"> & { readonly value: string | null };

/** Everything that decides what comes out, by name. */
function namedInputs({ study, trial }: OneTrial): Map<string, Input> {
  const { code_commit, pare_version, environments } = trial.provenance;
  const inputs: Input[] = [
    { what: "code", name: "commit", value: code_commit },
    { what: "code", name: "pare", value: pare_version },
    ...entries("environment", environments),
    ...entries("hardware", study.machine),
    ...study.model.map(({ path, sha256 }): Input => ({ what: "model", name: path, value: sha256 })),
    { what: "data", name: "file", value: study.dataset_sha256 },
    ...trial.answers.map(({ task, fidelity, protocol }): Input => ({
      ...{ what: "samples", name: `${task}, ${fidelity}` },
      value: protocol,
    })),
    {
      ...{ what: "recipe", name: "actions" },
      value: JSON.stringify(trial.actions.map(({ method, params }) => [method, params])),
    },
  ];
  return new Map(inputs.map((input) => [`${input.what} ${input.name}`, input]));
}

function entries(what: Input["what"], values: Readonly<Record<string, string>>): Input[] {
  return Object.entries(values).map(([name, value]) => ({ what, name, value }));
}

/** Every figure of a recorded trial beside the one that came out again. */
export function driftOf(recorded: OneTrial, again: OneTrial): Drift[] {
  const sameMachine =
    JSON.stringify(recorded.study.machine) === JSON.stringify(again.study.machine);
  const own = recorded.trial.measurements.filter(({ slice }) => slice === null);
  const judged = own.filter((one) =>
    one.standard_error !== null && !judgedBy(one, own, again.trial)
  );
  const how = { sameMachine, figures: Math.max(1, judged.length), own };
  return [
    ...artifactDrift(recorded.trial, again.trial),
    ...recorded.trial.answers.map((answers) => answersDrift(answers, again.trial)),
    ...own.map((figure) => figureDrift(figure, again.trial, how)),
  ];
}

function artifactDrift(recorded: RecordedTrial, again: RecordedTrial): Drift[] {
  if (recorded.artifact === null) return [];
  const made = new Map((again.artifact ?? []).map(({ path, sha256 }) => [path, sha256]));
  const equal = recorded.artifact.filter(({ path, sha256 }) => made.get(path) === sha256);
  const all = recorded.artifact.length;
  const same = equal.length === all && made.size === all;
  const other = recorded.artifact.find((file) => !equal.includes(file))?.path ?? "a file more";
  return [{
    ...{ metric: "artifact", task: null, fidelity: null, unit: "files" },
    ...{ recorded: all, again: again.artifact === null ? null : equal.length, interval: null },
    verdict: same ? "equal" : "different",
    reason: same ? null : again.artifact === null ? "none was made" : `other bytes: ${other}`,
  }];
}

function answersDrift(
  { task, fidelity, samples }: RecordedTrial["answers"][number],
  again: RecordedTrial,
): Drift {
  const found = again.answers.find((one) => one.task === task && one.fidelity === fidelity);
  const ids = Object.keys(samples);
  const asked = ids.filter((id) => found?.samples[id] !== undefined).length;
  const equal = ids.filter((id) => found?.samples[id] === samples[id]).length;
  const same = equal === ids.length && Object.keys(found?.samples ?? {}).length === ids.length;
  const reason = same
    ? null
    : found === undefined
    ? "was not asked again"
    : asked < ids.length
    ? `${ids.length - asked} samples are others`
    : `${ids.length - equal} answered otherwise`;
  return {
    ...{ metric: "answers", task, fidelity, unit: "samples", recorded: ids.length },
    ...{ again: found === undefined ? null : equal, interval: null },
    ...{ verdict: same ? "equal" : "different", reason },
  };
}

/** Of the machine and not of the model: read by a clock or a counter. */
function isCost({ metric, runtime }: Measurement): boolean {
  const known = metricOf(metric);
  return runtime !== null || known?.in_runtime === true || known?.kind === "speed" ||
    known?.kind === "energy";
}

/**
 * What a figure's verdict rests on where it is not its own: a timing is judged once, by its ratio to the
 * baseline in turn where both have one, as its minutes may be busier ones; null: by itself.
 */
function judgedBy(
  { metric, runtime }: Measurement,
  own: readonly Measurement[],
  again: RecordedTrial,
): string | null {
  if (metric.startsWith(BESIDE)) {
    return "the baseline's own, in turn with the trial: it tells of the machine's load";
  }
  const { reciprocal_of } = metricOf(metric) ?? {};
  const both = (name: string) =>
    [own, again.measurements].every((all) =>
      all.some((one) => one.metric === name && one.runtime === runtime && one.slice === null)
    );
  const ratio = metricOf(reciprocal_of ?? metric)?.ratio;
  if (ratio !== undefined && both(ratio)) {
    return `judged by ${ratio}, to the baseline of the same minutes`;
  }
  if (reciprocal_of === undefined || !both(reciprocal_of)) return null;
  return `judged by ${reciprocal_of}, the same timing the other way round`;
}

/** Where another reading lies: as far as both errors together, and as repeats lay apart. */
function intervalOf(
  recorded: Measurement,
  again: Measurement,
  figures: number,
): [number, number] | null {
  const errors = [recorded.standard_error, again.standard_error].map((error) => error ?? 0);
  const freedom = Math.max(1, recorded.n + again.n - 2);
  const reach = tAbove(CHANCE / 2 / figures, freedom) * Math.hypot(...errors);
  const { minimum = recorded.value, maximum = recorded.value } = recorded.spread ?? {};
  const low = Math.min(minimum, recorded.value - reach);
  const high = Math.max(maximum, recorded.value + reach);
  return high > low && Number.isFinite(low) && Number.isFinite(high) ? [low, high] : null;
}

function figureDrift(
  figure: Measurement,
  again: RecordedTrial,
  { sameMachine, figures, own }: {
    readonly sameMachine: boolean;
    readonly figures: number;
    readonly own: readonly Measurement[];
  },
): Drift {
  const { metric, task, fidelity, unit, value } = figure;
  const found = again.measurements.find((one) =>
    one.metric === metric && one.task === task && one.fidelity === fidelity &&
    one.slice === null && one.runtime === figure.runtime
  );
  const row = { metric, task, fidelity, unit, recorded: value };
  if (found === undefined) {
    const reason = "the repetition has no such figure";
    return { ...row, again: null, interval: null, verdict: "different", reason };
  }
  const interval = intervalOf(figure, found, figures);
  const both = { ...row, again: found.value, interval };
  if (Object.is(found.value, value)) return { ...both, verdict: "equal", reason: null };
  if (isCost(figure) && !sameMachine) {
    return { ...both, verdict: "not_compared", reason: "a cost of another machine" };
  }
  const elsewhere = judgedBy(figure, own, again);
  if (elsewhere !== null) return { ...both, verdict: "not_compared", reason: elsewhere };
  if (isCost(figure) && interval === null) {
    return { ...both, verdict: "not_compared", reason: "one reading, and no interval of it" };
  }
  const inside = interval !== null && found.value >= interval[0] && found.value <= interval[1];
  return { ...both, verdict: inside ? "within_noise" : "different", reason: null };
}
