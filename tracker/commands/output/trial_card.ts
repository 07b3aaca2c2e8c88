import {
  type ConstraintVerdict,
  inLimitUnit,
  limitUnit,
  limitWords,
  metricOf,
  METRICS,
  metricWords,
  ratioSides,
  type Trial,
} from "../../../core/mod.ts";
import { isMeanOfParts, isQuality } from "../../show/reports/benchmark_blocks.ts";
import { textTable } from "../../show/terminal/table.ts";
import { differenceText } from "../../show/view/difference_text.ts";
import { bytes, duration, number } from "../../show/view/number_text.ts";
import { nameIn, sizeSentence } from "../../show/view/size_words.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { standing } from "../../show/view/trial_rows.ts";
import type { TrialCard } from "../../show/json/json_shapes.ts";
import { finite } from "../../show/json/print_json.ts";

/** All samples that exist decided it: the interval is of others like them. */
const isExact = (evidence: ConstraintVerdict["evidence"]) =>
  evidence !== undefined && evidence.samples === evidence.existing;

type Interval = readonly [number, number] | null;

function pair(interval: Interval): [number, number] | null {
  return interval === null || !interval.every(Number.isFinite) ? null : [interval[0], interval[1]];
}

/** Every figure of a trial over all tasks, beside the baseline's of the same rung. */
function figuresOf(view: StudyView, trial: Trial): TrialCard["figures"] {
  const row = view.rows.find((one) => one.trial_id === trial.trial_id)!;
  const base = view.trials.find((one) => one.strategy === null && one.state === "completed");
  const original = view.rows.find((one) => one.trial_id === base?.trial_id);
  return METRICS.flatMap(({ name, unit }) => {
    const figure = row.figures[name];
    if (figure === undefined) return [];
    const { value, standard_error, n } = figure;
    const own = trial.measurements.findLast((one) => one.metric === name && one.task === null);
    const beside = base?.measurements.findLast((one) =>
      one.metric === name && one.task === null && one.slice === null &&
      one.fidelity === own?.fidelity
    )?.value ?? original?.figures[name]?.value;
    return [{
      ...{ metric: name, unit, value: finite(value), standard_error: finite(standard_error), n },
      baseline: finite(name === "latency_ms" ? original?.latency_ms?.value : beside),
    }];
  });
}

function taskFiguresOf({ measurements }: Trial): TrialCard["task_figures"] {
  return measurements.flatMap((one) => {
    const { task, slice, metric, value, standard_error, n } = one;
    if (task === null || !isQuality(one) || !(slice === null || isMeanOfParts(slice))) return [];
    return [{
      task,
      slice,
      metric,
      value: finite(value),
      standard_error: finite(standard_error),
      n,
    }];
  });
}

/** Why a trial ended before it was complete: its failure, or the gate that ended it. */
function endOf({ failure, gates, state, trial_id }: Trial): TrialCard["ended"] {
  if (failure !== null) return { reason: failure.message, what_to_do: failure.hint };
  const gate = gates.findLast(({ decision }) => decision === "abort");
  if (state !== "stopped" || gate === undefined) {
    return state === "completed" || state === "running"
      ? null
      : { reason: "nothing was recorded", what_to_do: `npx -y deno task pare log ${trial_id}` };
  }
  return { reason: `gate ${gate.gate}: ${gate.reason}`, what_to_do: null };
}

function commandsOf(view: StudyView, trial: Trial): Record<string, string> {
  const base = view.trials.find((one) => one.strategy === null && one.state === "completed");
  const last = view.artifacts.get(trial.artifact_ids.at(-1) ?? "");
  const dataset = view.request.dataset;
  const compare = base !== undefined && base.trial_id !== trial.trial_id
    ? { compare: `npx -y deno task pare compare ${base.trial_id} ${trial.trial_id}` }
    : {};
  // A stored form that is no plain floats is refused as the model of another study.
  const changes = trial.artifact_ids.flatMap((id) => view.artifacts.get(id)?.changes ?? []);
  const plain = last?.weights_id === undefined && changes.every(({ form }) => form === null);
  const evaluate = last === undefined || !plain ? {} : {
    evaluate: `npx -y deno task pare evaluate --model ${last.location} --dataset ${dataset}`,
  };
  return { ...compare, ...evaluate, log: `npx -y deno task pare log ${trial.trial_id}` };
}

/** Everything that a person asks about one trial. */
export function trialCard(view: StudyView, trial_id: string): TrialCard {
  const trial = view.trials.find((one) => one.trial_id === trial_id)!;
  const row = view.rows.find((one) => one.trial_id === trial_id)!;
  const { original_bytes, fp16_bytes } = view.facts.model;
  const sides = ratioSides(trial.measurements, view.spec.runtime);
  return {
    ...{ study_id: view.study_id, trial_id, name: nameIn(trial_id), recipe: row.recipe },
    ...{ state: trial.state, fidelity: trial.fidelity, seconds: row.seconds },
    standing: standing(row, view.recommended),
    recommended: trial_id === view.recommended,
    actions: trial.actions.map(({ agent, method, params }) => ({ agent, method, params })),
    figures: figuresOf(view, trial),
    task_figures: taskFiguresOf(trial),
    quality_difference: row.difference === null ? null : {
      metric: row.difference.metric,
      value: finite(row.difference.value),
      interval: pair(row.difference.interval),
    },
    latency_ratio: row.latency_ratio === null ? null : {
      value: finite(row.latency_ratio.value),
      interval: pair(row.latency_ratio.interval),
      ran_in: sides?.own ?? null,
      original_ran_in: sides?.original ?? null,
    },
    size: { bytes: finite(row.size_bytes), given_bytes: original_bytes, fp16_bytes },
    constraints: trial.constraints.map(({ evidence, ...one }) => ({
      ...{ constraint: one.constraint, verdict: one.verdict, value: finite(one.value) },
      ...{ threshold: one.threshold, interval: pair(one.interval) },
      interval_holds: one.interval === null || isExact(evidence)
        ? null
        : evidence === undefined
        ? "once"
        : "at any look",
    })),
    gates: trial.gates.map(({ gate, decision, reason, value, threshold }) => ({
      ...{ gate, decision, reason, value: finite(value), threshold: finite(threshold) },
    })),
    ended: endOf(trial),
    artifacts: trial.artifact_ids.flatMap((id) => {
      const artifact = view.artifacts.get(id);
      return artifact === undefined ? [] : [{
        ...{ artifact_id: id, parent_id: artifact.parent_id, location: artifact.location },
        method: artifact.action?.method ?? null,
        size_bytes: artifact.size_bytes,
        files: artifact.files.map(({ path, bytes }) => ({ path, bytes })),
      }];
    }),
    commands: commandsOf(view, trial),
  };
}

function between(interval: Interval, holds: "once" | "at any look" = "once"): string {
  if (interval === null) return "";
  const when = holds === "once" ? "" : ` ${holds}`;
  return ` (95 %${when} ${number(interval[0])} to ${number(interval[1])})`;
}

function figureCell(metric: string, value: number | null): string {
  return metricOf(metric)?.unit === "bytes" ? bytes(value) : number(value, 4);
}

function figureLines(card: TrialCard): string[] {
  const rows = card.figures.map(({ metric, value, standard_error, baseline, n }) => [
    metricOf(metric)?.heading ?? metric,
    figureCell(metric, value) +
    (standard_error === null || standard_error === 0 ? "" : ` ± ${number(standard_error, 2)}`),
    figureCell(metric, baseline),
    String(n),
  ]);
  const { quality_difference: quality, latency_ratio: latency } = card;
  return [
    ...(rows.length === 0 ? [] : [textTable(["figure", "this trial", "original", "n"], rows)]),
    ...(quality === null ? [] : [
      `${metricWords(quality.metric)} against the original's, same samples: ${
        differenceText(quality)
      }`,
    ]),
    ...(latency === null ? [] : [
      `Time per token over the original's${
        latency.original_ran_in === null ? "" : ` in ${latency.original_ran_in}`
      }, taken in turn${
        latency.ran_in === latency.original_ran_in ? "" : `, itself in ${latency.ran_in}`
      }: ${number(latency.value)}` + between(latency.interval),
    ]),
  ];
}

function judgedLines({ constraints, gates, ended }: TrialCard): string[] {
  return [
    ...constraints.map(({ constraint, verdict, value, threshold, interval, interval_holds }) => {
      const own = (one: number) => inLimitUnit(constraint, one);
      return `the limit on ${limitWords(constraint)} is ${verdict}: ${
        number(value === null ? null : own(value))
      } against ${number(own(threshold))}${limitUnit(constraint)}` +
        (interval === null || interval_holds === null
          ? ""
          : between([own(interval[0]), own(interval[1])], interval_holds));
    }),
    ...gates.filter(({ decision }) => decision !== "pass")
      .map(({ gate, decision, reason }) =>
        `gate ${gate}, ${decision.replace("_", " ")}: ${reason}`
      ),
    ...(ended === null ? [] : [`It ended early: ${ended.reason}`]),
    ...(ended?.what_to_do ? [`What to do: ${ended.what_to_do}`] : []),
  ];
}

function artifactLines({ artifacts }: TrialCard): string[] {
  return artifacts.flatMap(({ artifact_id, parent_id, method, size_bytes, location, files }) => [
    `${artifact_id}  ${method ?? "the original"}, ${bytes(size_bytes)}` +
    (parent_id === null ? "" : `, made from ${parent_id}`),
    `  ${location} (${files.length} ${files.length === 1 ? "file" : "files"})`,
  ]);
}

/** The card as a terminal shows it. */
export function cardText(view: Pick<StudyView, "facts">, card: TrialCard): string {
  const size = sizeSentence(view, { name: card.name, size_bytes: card.size.bytes });
  const knobs = card.actions.map(({ method, params }) =>
    `  ${method}: ${Object.entries(params).map(([knob, value]) => `${knob}=${value}`).join(", ")}`
  );
  const blocks = [
    [
      `${card.name}  ${card.recipe}`,
      `${card.standing}; ${duration(card.seconds)}; ${card.trial_id}`,
    ],
    size === null ? [] : [size],
    knobs,
    figureLines(card),
    judgedLines(card),
    artifactLines(card),
    Object.values(card.commands),
  ];
  return blocks.filter((lines) => lines.length > 0).map((lines) => lines.join("\n")).join("\n\n");
}
