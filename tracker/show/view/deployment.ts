import {
  besideOriginal,
  measuredRow,
  type Measurement,
  type RatioSides,
  ratioSides,
  runtimeWords,
} from "../../../core/mod.ts";
import { convertedLines, forkLines } from "../../artifacts/loader_lines.ts";
import { number } from "./number_text.ts";
import { nameIn } from "./size_words.ts";
import { checkpointOf, type StudyView } from "./study_view.ts";

type Timed = Pick<StudyView, "trials" | "spec" | "elsewhere">;

/** A trial as it runs in one runtime. */
export interface Deployment {
  readonly runtime: string;
  /** The runtime with the precision that it computed in. */
  readonly ran_in: string;
  readonly latency_ms: number;
  /** Over the original's in that runtime, in turn; null: none ran beside it. */
  readonly latency_ratio: number | null;
  readonly original_ran_in: string;
  /** Accuracy over all tasks in the runtime less the evaluation's, on the same samples; null: not asked. */
  readonly accuracy_change: number | null;
  readonly accuracy_samples: number | null;
  /** Standard error of the change; null: it cannot be told. */
  readonly accuracy_error: number | null;
}

function overTasksIn(measurements: readonly Measurement[], runtime: string) {
  return measuredRow(
    measurements.filter(({ task }) => task === null),
    "runtime_accuracy_change",
    runtime,
  );
}

/** A trial in every runtime that it was timed in, the fastest first. */
export function deploymentsOf({ trials, spec, elsewhere }: Timed, trial_id: string): Deployment[] {
  const trial = trials.find((one) => one.trial_id === trial_id);
  if (trial === undefined) return [];
  const beside = elsewhere.filter((one) => one.trial_id === trial_id)
    .map(({ runtime, measurements }) => ({ runtime, measurements, compared: null }));
  const own = { runtime: spec.runtime, measurements: trial.measurements, compared: trial.latency };
  return [own, ...beside].flatMap(({ runtime, measurements, compared }): Deployment[] => {
    const sides = ratioSides(measurements, runtime);
    const timed = measuredRow(measurements, "latency_ms", runtime);
    if (sides === null || timed === undefined) return [];
    const change = overTasksIn(measurements, runtime);
    return [{
      ...{ runtime, ran_in: sides.own, original_ran_in: sides.original },
      latency_ms: compared?.ms ?? timed.value,
      latency_ratio: compared?.ratio ??
        measuredRow(measurements, "latency_ratio", runtime)?.value ?? null,
      accuracy_change: change?.value ?? null,
      accuracy_samples: change?.n ?? null,
      accuracy_error: change?.standard_error ?? null,
    }];
  }).sort((a, b) => a.latency_ms - b.latency_ms);
}

/** In which runtime a trial is fastest, and how fast it is in each; null: it was timed in none. */
export function deploymentSentence(view: Timed, trial_id: string): string | null {
  const [first, ...others] = deploymentsOf(view, trial_id);
  if (first === undefined) return null;
  const said = (
    { ran_in, original_ran_in, latency_ms, latency_ratio, ...there }: Deployment,
  ) =>
    `in ${ran_in}: ${number(latency_ms)} ms a token` +
    (latency_ratio === null
      ? ""
      : `, ${
        besideOriginal(number(latency_ratio), { own: original_ran_in, original: original_ran_in })
      }`) +
    accuracySaid(there);
  const name = nameIn(trial_id);
  const best = view.spec.runtimes?.[0];
  const original = best === undefined || best.runtime === first.runtime
    ? ""
    : ` The original at its best here took ${number(best.latency_ms)} ms, in ${
      runtimeWords(best.runtime, best.precision)
    }, as the study began.`;
  return `${name} ${others.length === 0 ? "runs" : "is fastest"} ${
    [first, ...others].map(said).join("; ")
  }.${original}`;
}

function accuracySaid(
  { accuracy_change: change, accuracy_samples: samples, accuracy_error: error }: Pick<
    Deployment,
    "accuracy_change" | "accuracy_samples" | "accuracy_error"
  >,
): string {
  if (change === null) return "";
  const range = error === null ? "" : ` ± ${number(error, 2)}, a standard error`;
  const said = change === 0
    ? "is the same"
    : `changes by ${change < 0 ? "" : "+"}${number(change)}${range}`;
  return ` (scored there on ${samples} samples, accuracy ${said})`;
}

/** The lines that make a trial's file for its fastest runtime and run it; "": the checkpoint itself is run. */
export function deploymentLines(
  view: Timed & Pick<StudyView, "artifacts">,
  trial_id: string,
): string {
  const [first] = deploymentsOf(view, trial_id);
  const format = view.spec.runtimes?.find(({ runtime }) => runtime === first?.runtime)?.loads;
  const artifact = checkpointOf(view, trial_id);
  if (format === undefined || artifact === undefined) return "";
  // A GGUF file has no word for inputs that the model itself rounds.
  if (format === "gguf" && artifact.activation_bits !== null) return "";
  const folder = `./${nameIn(trial_id)}-${format}`;
  const convert = `npx -y deno task pare convert ${trial_id} ${folder} --to ${format}`;
  const shell = format === "gguf";
  const lines = first?.runtime === "ik_llama.cpp"
    ? forkLines(folder, trial_id)
    : convertedLines(format, folder);
  return `${shell ? convert : `# made by: ${convert}`}\n${lines}`;
}

/** Where a trial and the original beside it ran; null: it was not timed. */
export function sidesOf(
  { trials, spec }: Pick<StudyView, "trials" | "spec">,
  { trial_id }: { readonly trial_id: string },
): RatioSides | null {
  const trial = trials.find((one) => one.trial_id === trial_id);
  return trial === undefined ? null : ratioSides(trial.measurements, spec.runtime);
}

/** Where a study's original was timed; null: nowhere. */
export function originalRan({ trials, spec }: Pick<StudyView, "trials" | "spec">): string | null {
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  return ratioSides(baseline?.measurements ?? [], spec.runtime)?.own ?? null;
}

/** Where both sides of a study's ratios of time ran, a sentence; null: none was timed. */
export function sidesSentence({ trials, spec }: Pick<StudyView, "trials" | "spec">): string | null {
  const sides = trials.filter(({ strategy }) => strategy !== null)
    .flatMap(({ measurements }) => ratioSides(measurements, spec.runtime) ?? []);
  if (sides.length === 0) return null;
  const distinct = (words: readonly string[]) => [...new Set(words)].join(" or ");
  return `× baseline: time per token over the original's in ${
    distinct(sides.map(({ original }) => original))
  }; the trials ran in ${distinct(sides.map(({ own }) => own))}.`;
}
