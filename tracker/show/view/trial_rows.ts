import {
  type Artifact,
  type Comparable,
  type ConstraintVerdict,
  FULL,
  isDecisive,
  latencyFigure,
  type Measurement,
  METRICS,
  type ResolvedAction,
  type Trial,
} from "../../../core/mod.ts";
import type { Difference } from "./difference_text.ts";
import { type Figure, number } from "./number_text.ts";

export type { Figure };

/** Quality against the baseline's on the metric's scale, with its paired 95 % interval. */
export interface QualityDifference extends Difference {
  readonly value: number;
}

/** One trial as tables and reports show it; `TrialFigures` is the flat row that others take. */
export interface TrialRow {
  trial_id: string;
  number: number;
  baseline: boolean;
  /** Short, such as `gptq 4-bit g64 + rtn embedding 8-bit`. */
  recipe: string;
  methods: string;
  state: Trial["state"];
  /** The highest rung that it reached; null: it was not evaluated. */
  fidelity: string | null;
  /** Samples behind its quality, and those of the last rung; null: one of them is not known. */
  samples: { n: number; of: number } | null;
  /** By metric, every one of the table of metrics that was measured; latency as it is compared. */
  figures: Readonly<Record<string, Figure>>;
  /**
   * Quality against the baseline's on the same samples; its interval is null on a rung below the last.
   * Null: not measured.
   */
  difference: QualityDifference | null;
  accuracy: Figure | null;
  perplexity: Figure | null;
  /** As it is compared: the ratio times one baseline of the study; emulated: as it was timed. */
  latency_ms: Figure | null;
  /** Over the baseline of the same minutes, with its 95 % interval; null: not measured. */
  latency_ratio: { value: number; interval: readonly [number, number] | null } | null;
  /**
   * Of what is timed, by metric: its ratio to the baseline of the same minutes, as latency is compared.
   * A figure without one rests on the minutes in which it was taken.
   */
  ratios: Readonly<Record<string, number>>;
  /** The runtime did not run the stored form: the latency ranks nothing. */
  latency_emulated: boolean;
  prefill_tokens_per_s: Figure | null;
  size_bytes: number | null;
  /** Of the model that was written last; null: nothing was, or an old record does not say. */
  parameters: number | null;
  memory_bytes: number | null;
  energy: { value: number; method: string } | null;
  co2: { value: number; method: string } | null;
  runtime: string | null;
  reward: number | null;
  on_front: boolean;
  /** Probability that the trial is on the front; null where it was not computed. */
  front_probability: number | null;
  verdicts: ConstraintVerdict[];
  violated: boolean;
  undecided: boolean;
  reason: string | null;
  seconds: number;
}

/** What tells how a trial stands. */
export interface Stood extends Pick<TrialRow, "trial_id" | "baseline" | "violated" | "undecided"> {
  readonly state: string;
  readonly fidelity: string | null;
  readonly on_front: boolean;
}

/** What became of a trial, in a word or two, as tables say it. */
export function standing(row: Stood, recommended: string | null): string {
  if (row.trial_id === recommended) return "recommended";
  if (row.baseline) return row.state === "completed" ? "baseline" : row.state;
  if (row.state !== "completed") return row.state;
  if (row.violated) return "breaks a limit";
  if (row.fidelity !== null && !isDecisive(row.fidelity)) return `${row.fidelity} only`;
  return (row.on_front ? "front" : "dominated") + (row.undecided ? ", undecided" : "");
}

/** How far a trial was evaluated: `full`, or `half, 64 of 400 samples`. */
export function rungText({ fidelity, samples }: Pick<TrialRow, "fidelity" | "samples">): string {
  if (fidelity === null) return "–";
  return isDecisive(fidelity) || samples === null
    ? fidelity
    : `${fidelity}, ${samples.n} of ${samples.of} samples`;
}

/** What the rows add to the trials: who is on the front, how surely, and what was written. */
export interface FrontView {
  front: readonly string[];
  probabilities: Readonly<Record<string, number>>;
  artifacts: ReadonlyMap<string, Artifact>;
  /** By trial id; absent: nobody asks. */
  differences?: ReadonlyMap<string, QualityDifference>;
}

/** An action in its method's own words; a record without them tells the knobs that somebody set. */
function words({ method, label, resolved, title }: ResolvedAction): string {
  if (title !== undefined) return title;
  const set = resolved.filter(({ by }) => by !== "default");
  return [method, ...label ?? set.map(({ knob, value }) => `${knob} ${value}`)].join(" ");
}

/** A trial's recipe in a few words, in the field's own terms. */
export function recipeText({ actions, strategy }: Pick<Trial, "actions" | "strategy">): string {
  if (strategy === null) return "baseline";
  // A trial whose process ended under it knows what it was to do, not its knobs.
  return actions.length > 0
    ? actions.map(words).join(" + ")
    : strategy.actions.map(({ method }) => method).join(" + ");
}

/** Of a metric's figures the last rung's, else that of the highest one that the trial reached. */
function highest(found: readonly Measurement[], reached: string | null): Measurement | null {
  const on = (rung: string | null) => found.find(({ fidelity }) => fidelity === rung);
  return on(FULL) ?? on(reached) ?? found[0] ?? null;
}

function pick(
  trial: Pick<Trial, "measurements" | "fidelity">,
  metric: string,
  task: string | null = null,
): Measurement | null {
  const found = trial.measurements.filter((m) =>
    m.metric === metric && m.slice === null && (task === null ? m.task === null : m.task === task)
  );
  return highest(found, trial.fidelity);
}

function figure(measurement: Measurement | null): Figure | null {
  if (measurement === null || !Number.isFinite(measurement.value)) return null;
  const { value, standard_error, n } = measurement;
  return { value, standard_error, n };
}

function anyTask(trial: Trial, metric: string): Measurement | null {
  const found = trial.measurements.filter((m) => m.metric === metric && m.slice === null);
  return highest(found, trial.fidelity);
}

/** What was measured of a trial, by metric. */
function figuresOf(trial: Comparable, latency_ms: Figure | null): Record<string, Figure> {
  const found = METRICS.flatMap(({ name }) => {
    const own = name === "latency_ms" ? latency_ms : figure(pick(trial, name));
    return own === null ? [] : [[name, own] as const];
  });
  return Object.fromEntries(found);
}

/** Ratios to the baseline of the same minutes, by metric; latency's is that of its stored form. */
function ratiosOf({ latency, measurements }: Comparable): Record<string, number> {
  const found = METRICS.flatMap(({ name, ratio }) => {
    if (ratio === undefined) return [];
    const own = name === "latency_ms"
      ? latency?.ratio
      : measurements.findLast(({ metric, provenance }) =>
        metric === ratio && provenance === "measured"
      )?.value;
    return own == null ? [] : [[name, own] as const];
  });
  return Object.fromEntries(found);
}

/** The baseline over itself: 1 of everything that was timed. */
function timedBaseline(trial: Comparable, latency_ms: Figure | null): Record<string, number> {
  const measured = figuresOf(trial, latency_ms);
  const timed = METRICS.filter(({ name, ratio }) => ratio !== undefined && name in measured);
  return Object.fromEntries(timed.map(({ name }) => [name, 1]));
}

function withMethod(measurement: Measurement | null) {
  if (measurement === null) return null;
  return {
    value: measurement.value,
    method: measurement.method ?? measurement.provenance,
  };
}

/** The compared latency; where there is none, what the trial itself timed. */
function latencyColumns({ latency, ...trial }: Comparable) {
  const timed = pick(trial, "latency_ms");
  const latency_ms = latency === null
    ? figure(timed)
    : { ...latencyFigure(latency), n: timed?.n ?? 1 };
  return {
    latency_ms,
    latency_ratio: latency === null || latency.ratio === null
      ? null
      : { value: latency.ratio, interval: latency.interval },
    latency_emulated: latency === null && timed?.provenance === "emulated",
  };
}

/** Milliseconds per token, marked where they were only emulated; `–`: not measured. */
export function latencyText(row: Pick<TrialRow, "latency_ms" | "latency_emulated">): string {
  const text = number(row.latency_ms?.value);
  return row.latency_emulated ? `${text} (emulated)` : text;
}

/** The ratio to the baseline with half the width of its 95 % interval. */
export function ratioText({ latency_ratio }: Pick<TrialRow, "latency_ratio">): string {
  if (latency_ratio === null) return "–";
  const { value, interval } = latency_ratio;
  const half = interval === null ? 0 : (interval[1] - interval[0]) / 2;
  return half === 0 ? value.toFixed(2) : `${value.toFixed(2)} ± ${half.toFixed(2)}`;
}

/** Whether the trials are of models of different sizes: only then a table says their parameters. */
export function parametersDiffer(rows: readonly TrialRow[]): boolean {
  return new Set(rows.flatMap(({ parameters }) => parameters ?? [])).size > 1;
}

/** Trials as rows, in the order they were run. */
export function trialRows(trials: readonly Comparable[], view: FrontView): TrialRow[] {
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  const all = baseline === undefined || !isDecisive(baseline.fidelity)
    ? null
    : quality(baseline)?.n ?? null;
  return [...trials].sort((a, b) => a.number - b.number).map((trial) => rowOf(trial, view, all));
}

/** The figure that says how many samples a trial was evaluated on. */
function quality(trial: Trial): Measurement | null {
  return pick(trial, "accuracy") ?? anyTask(trial, "perplexity");
}

/** `all`: samples of the last rung; null: not known. */
function rowOf(trial: Comparable, view: FrontView, all: number | null): TrialRow {
  const latency = latencyColumns(trial);
  const n = quality(trial)?.n;
  return {
    trial_id: trial.trial_id,
    number: trial.number,
    baseline: trial.strategy === null,
    recipe: recipeText(trial),
    methods: [...new Set(trial.actions.map((a) => a.method))].join(" + ") || "baseline",
    state: trial.state,
    fidelity: trial.fidelity,
    samples: n === undefined || all === null ? null : { n, of: all },
    difference: view.differences?.get(trial.trial_id) ?? null,
    accuracy: figure(pick(trial, "accuracy")),
    perplexity: figure(anyTask(trial, "perplexity")),
    ...latency,
    figures: figuresOf(trial, latency.latency_ms),
    ratios: trial.strategy === null ? timedBaseline(trial, latency.latency_ms) : ratiosOf(trial),
    prefill_tokens_per_s: figure(pick(trial, "prefill_tokens_per_s")),
    size_bytes: pick(trial, "size_bytes")?.value ?? null,
    parameters: view.artifacts.get(trial.artifact_ids.at(-1) ?? "")?.model?.parameters ?? null,
    memory_bytes: pick(trial, "memory_bytes")?.value ?? null,
    energy: withMethod(pick(trial, "energy_j_per_1k_tokens")),
    co2: withMethod(pick(trial, "co2_g_per_1k_tokens")),
    runtime: pick(trial, "latency_ms")?.runtime ?? null,
    reward: trial.reward?.value ?? null,
    on_front: view.front.includes(trial.trial_id),
    front_probability: view.probabilities[trial.trial_id] ?? null,
    verdicts: trial.constraints,
    violated: trial.constraints.some((c) => c.verdict === "violated"),
    undecided: trial.constraints.some((c) => c.verdict === "undecided"),
    reason: trial.failure?.message ?? trial.gates.find((g) => g.decision === "abort")?.reason ??
      null,
    seconds: trial.spans.reduce((sum, span) => sum + span.seconds, 0),
  };
}
