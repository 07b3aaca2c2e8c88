import {
  FULL,
  type JournalRecord,
  kindOf,
  type NamedBenchmarks,
  type Trial,
} from "../../../../core/mod.ts";
import { checkpointFiles, type Checkpoints } from "../checkpoints.ts";
import { type Effect, jsonText, params, points, type Recipient, tags } from "./effects.ts";
import { type KnownStudy, stageNames } from "./known_study.ts";
import { baselineFigures, groupFigures, measuredScores, stageFigures } from "./metric_names.ts";
import { noteContent } from "./note_content.ts";
import type { RunStatus } from "../client/answers.ts";

type Of<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

/** What the opening of a trial writes: who proposed what and why. */
export function describeTrialOpening(
  study: KnownStudy,
  record: Of<"trial_opened">,
): Effect[] {
  const { study_id, trial_id, number, strategy } = record;
  const to = { study_id, trial_id };
  const said = params({
    number,
    strategy_id: strategy?.strategy_id ?? "baseline",
    recipe: strategy?.actions.map(({ method }) => method).join(" + ") ?? "none",
    sampler: strategy?.origin.sampler,
    mode: strategy?.origin.mode,
    seed: record.seed,
  });
  const note = tags({
    "mlflow.note.content": noteContent(study, trial_id),
    "mlflow.source.git.commit": record.provenance?.code_commit,
  });
  return [
    { to, kind: "log", data: { params: said, tags: note } },
    { to, kind: "status", status: "RUNNING", end_time: null },
  ];
}

/** What a written artifact says of its stage. */
export function describeArtifact(study: KnownStudy, record: Of<"artifact_written">): Effect[] {
  const { study_id, trial_id, artifact, at } = record;
  const to = { study_id, trial_id };
  const stage = study.trials.get(trial_id)?.stages.at(-1) ?? "baseline";
  const fp16_bytes = study.opened?.facts.model.fp16_bytes;
  const metrics = points({
    [`${stage}/model_size_mb`]: artifact.size_bytes / 1e6,
    [`${stage}/compression_ratio`]: fp16_bytes === undefined
      ? null
      : fp16_bytes / artifact.size_bytes,
    [`${stage}/weight_bits`]: artifact.weight_bits,
    [`${stage}/parameters`]: artifact.model?.parameters ?? null,
    [`${stage}/minimum_cosine`]: artifact.verification?.minimum_cosine ?? null,
  }, Date.parse(at));
  const said = tags({
    "pare.artifact_id": artifact.artifact_id,
    "pare.artifact_location": artifact.location,
    "pare.weights_id": artifact.weights_id,
  });
  return [
    { to, kind: "log", data: { metrics, tags: said } },
    { to, kind: "text", path: `stages/${stage}.json`, text: jsonText(artifact) },
  ];
}

const STATUS: Record<Trial["state"], RunStatus> = {
  running: "RUNNING",
  completed: "FINISHED",
  stopped: "FINISHED", // a gate's decision is a result
  invalid: "FAILED",
  failed: "FAILED",
  cancelled: "KILLED",
};

/** Knobs by stage, as they were resolved: `gptq.bits`. */
function knobsOf({ actions }: Trial): Record<string, string | number | boolean> {
  const names = stageNames(actions);
  return Object.fromEntries(
    actions.flatMap((action, i) =>
      Object.entries(action.params).map(([knob, value]) => [`${names[i]}.${knob}`, value])
    ),
  );
}

function secondsOf({ spans }: Trial): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { name, seconds } of spans) {
    sums[`seconds/${name}`] = (sums[`seconds/${name}`] ?? 0) + seconds;
  }
  return sums;
}

/** How a study's kind of run names its benchmarks; null: its opening is not known. */
function benchmarksOf({ opened }: KnownStudy): NamedBenchmarks | null {
  return opened === null ? null : kindOf(opened.request).benchmarks(opened.request);
}

/** Scores of the core benchmarks: those that the study's kind of run names, else all. */
function coreOf<S>(study: KnownStudy, scores: ReadonlyMap<string, S>): ReadonlyMap<string, S> {
  const core = benchmarksOf(study)?.core ?? null;
  if (core === null) return scores;
  return new Map([...scores].filter(([task]) => core.includes(task)));
}

/** Scores on the highest rung that a trial reached, under the names of a staged benchmark. */
function benchmarkFigures(study: KnownStudy, trial: Trial): Record<string, number> {
  if (trial.fidelity === null) return {};
  const scores = coreOf(study, measuredScores(trial.measurements, trial.fidelity));
  const stage = stageNames(trial.actions).at(-1);
  if (stage === undefined) return baselineFigures(scores);
  const baseline = study.baseline.get(trial.fidelity) ?? new Map();
  const max_accuracy_drop = study.opened?.spec.constraints.max_accuracy_drop ?? 0;
  return stageFigures(stage, { scores, baseline, max_accuracy_drop });
}

function saidOf({ state, failure, fidelity, constraints, gates }: Trial) {
  return tags({
    "pare.state": state,
    "pare.fidelity": fidelity,
    "pare.failure": failure?.kind,
    "pare.failure_message": failure?.message,
    "pare.failure_hint": failure?.hint,
    ...Object.fromEntries(
      constraints.map(({ constraint, verdict }) => [`pare.constraint.${constraint}`, verdict]),
    ),
    ...Object.fromEntries(
      gates.map(({ gate, decision, reason }) => [`pare.gate.${gate}`, `${decision}: ${reason}`]),
    ),
  });
}

/** What the end of a trial writes: its figures, its verdicts, its checkpoint where all are asked for. */
export function describeTrialClosing(
  study: KnownStudy,
  record: Of<"trial_closed">,
  checkpoints: Checkpoints,
): Effect[] {
  const { trial, at } = record;
  const to: Recipient = { study_id: trial.study_id, trial_id: trial.trial_id };
  const time = Date.parse(at);
  const benchmarks = benchmarkFigures(study, trial);
  const reward = trial.reward === null ? {} : { reward: trial.reward.value };
  const metrics = points({ ...benchmarks, ...reward, ...secondsOf(trial) }, time);
  const effects: Effect[] = [
    { to, kind: "log", data: { metrics, params: params(knobsOf(trial)), tags: saidOf(trial) } },
    { to, kind: "text", path: "trial.json", text: jsonText(trial) },
    ...(checkpoints === "all" ? checkpointFiles(study, trial.trial_id) : []),
    {
      to,
      kind: "status",
      status: STATUS[trial.state],
      end_time: Date.parse(trial.finished_at ?? at),
    },
  ];
  return trial.strategy === null ? [...effects, ...baselineEffects(study, trial, time)] : effects;
}

/** The baseline as an artifact of its own on the study's run, and its scores beside it. */
function baselineEffects(study: KnownStudy, trial: Trial, time: number): Effect[] {
  if (trial.state !== "completed") return [];
  const to = { study_id: trial.study_id, trial_id: null };
  const scores = measuredScores(trial.measurements, FULL);
  const figures = groupFigures(benchmarksOf(study)?.groups ?? [], scores);
  return [
    {
      to,
      kind: "log",
      data: { metrics: points({ ...baselineFigures(coreOf(study, scores)), ...figures }, time) },
    },
    { to, kind: "text", path: "baseline/results.json", text: jsonText(trial.measurements) },
  ];
}
