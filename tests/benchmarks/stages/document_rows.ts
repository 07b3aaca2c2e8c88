/** What became of the requirement's document: rows that are kept, and the tables that are read. */
import { z } from "zod";
import type { Spec, StageDecision, Trial } from "../../../core/mod.ts";
import { ownRow } from "../../../core/evidence/quality.ts";
import { ORIGINAL } from "../../../core/runs/stages/standing.ts";
import { sizesOf } from "../../../tracker/show/stages/staged_rows.ts";
import type { StudyView } from "../../../tracker/show/view/study_view.ts";

const Interval = z.tuple([z.number(), z.number()]).nullable();

/** A benchmark after an attempt: value is retention above guessing. */
const Kept = z.object({
  benchmark: z.string(),
  score: z.number(),
  value: z.number(),
  interval: Interval,
  samples: z.number(),
});

const Attempt = z.object({
  stage: z.string(),
  attempt: z.number(),
  /** Of its last action, by name. */
  params: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  decision: z.string(),
  /** Checks that failed, such as "core lambada". */
  failed: z.array(z.string()),
  /** Mean retention of the core that could be judged; null: it was not measured. */
  core: z.object({ value: z.number(), interval: Interval, samples: z.number() }).nullable(),
  benchmarks: z.array(Kept),
  /** By domain and benchmark, such as "communication/lambada". */
  experts: z.array(Kept),
  bytes: z.number().nullable(),
  formula_bytes: z.number().nullable(),
  expected_ratio: z.number().nullable(),
  ratio: z.number().nullable(),
  cumulative_ratio: z.number().nullable(),
  compress_seconds: z.number(),
  /** Wall time of the whole attempt. */
  seconds: z.number(),
});

const Original = z.object({
  bytes: z.number(),
  seconds: z.number(),
  benchmarks: z.array(z.object({ benchmark: z.string(), score: z.number(), samples: z.number() })),
  /** Benchmarks that judge nothing, each with its reason. */
  silent: z.array(z.object({ benchmark: z.string(), reason: z.string() })),
});

/** A run of the document, as it is kept. */
export const DocumentRun = z.object({
  study_id: z.string(),
  cores: z.number(),
  original: Original,
  attempts: z.array(Attempt),
  shipped: z.object({ stage: z.string(), artifact_id: z.string(), bytes: z.number() }).nullable(),
});
export type DocumentRun = z.infer<typeof DocumentRun>;

const seconds = ({ started_at, finished_at }: Trial) =>
  finished_at === null ? 0 : (Date.parse(finished_at) - Date.parse(started_at)) / 1000;

/** Benchmarks that could be judged. */
function keptOf(checks: readonly StageDecision[], wanted: "core" | "expert") {
  return checks.filter(({ about, value }) => about === wanted && value !== null).map((row) => ({
    benchmark: row.subject!,
    score: row.score!,
    value: row.value!,
    interval: row.interval,
    samples: row.samples!,
  }));
}

function attemptRow(view: StudyView, decided: StageDecision): DocumentRun["attempts"][number] {
  const { stage, attempt, trial_id } = decided;
  const same = (row: { stage: string; attempt: number }) =>
    row.stage === stage && row.attempt === attempt;
  const checks = view.stage_decisions.filter(same);
  const trial = view.trials.find((one) => one.trial_id === trial_id);
  const size = sizesOf(view).find(same);
  const mean = checks.find(({ about }) => about === "cumulative");
  const failed = checks.filter((row) => row.decision === "failed");
  const applied = trial?.spans.filter(({ phase }) => phase === "apply") ?? [];
  return {
    ...{ stage, attempt, decision: decided.decision },
    params: trial?.actions.at(-1)?.params ?? {},
    failed: failed.map(({ about, subject }) => subject === null ? about : `${about} ${subject}`),
    core: mean === undefined ? null : {
      value: mean.value!, // a check of retention has both
      interval: mean.interval,
      samples: mean.samples!,
    },
    benchmarks: keptOf(checks, "core"),
    experts: keptOf(checks, "expert"),
    bytes: size?.bytes ?? null,
    formula_bytes: size?.formula_bytes ?? null,
    expected_ratio: size?.expected_ratio ?? null,
    ratio: size?.ratio ?? null,
    cumulative_ratio: size?.cumulative_ratio ?? null,
    compress_seconds: applied.reduce((sum, span) => sum + span.seconds, 0),
    seconds: trial === undefined ? 0 : seconds(trial),
  };
}

/** Scores of the original, each benchmark's on its highest rung. */
function originalScores({ measurements }: Trial, { tasks }: Spec) {
  return tasks.flatMap((plan) => {
    const last = measurements.findLast(({ task, metric }) =>
      task === plan.task && metric === "accuracy"
    );
    const own = ownRow(measurements.filter(({ fidelity }) => fidelity === last?.fidelity), plan);
    return own === undefined
      ? []
      : [{ benchmark: plan.task, score: own.value, samples: own.n ?? 0 }];
  });
}

/** A run's outcome; of one that was stopped, the attempts that were decided, and nothing shipped. */
export function documentRun(view: StudyView, cores: number): DocumentRun {
  const { stage_decisions: ledger, trials, spec, facts, artifacts } = view;
  const ship = ledger.find(({ decision }) => decision === "ship");
  const baseline = trials.find(({ strategy }) => strategy === null)!; // a run begins with it
  const first = ledger.filter(({ attempt, about }) => attempt > 0 && about === "core");
  const quiet = first.filter(({ decision, subject }) =>
    decision === "not_applicable" && subject !== null
  ).map(({ subject, reason }) => [subject!, reason] as const);
  const artifact = artifacts.get(ship?.to_artifact ?? "");
  return {
    ...{ study_id: view.study_id, cores },
    original: {
      bytes: facts.model.fp16_bytes,
      seconds: seconds(baseline),
      benchmarks: originalScores(baseline, spec),
      silent: [...new Map(quiet)].map(([benchmark, reason]) => ({ benchmark, reason })),
    },
    attempts: ledger.filter(({ about }) => about === "attempt").map((row) => attemptRow(view, row)),
    shipped: ship === undefined || artifact === undefined ? null : {
      stage: ship.stage,
      artifact_id: artifact.artifact_id,
      bytes: artifact.size_bytes,
    },
  };
}

const WORDS: Readonly<Record<string, string>> = {
  advance: "passed",
  retry: "failed, tried again",
  skip: "failed, left out",
  roll_back: "failed, rolled back",
  abort: "failed, the run ended",
};

const megabytes = (bytes: number | null) => bytes === null ? "–" : `${(bytes / 1e6).toFixed(1)} MB`;
const times = (ratio: number | null) => ratio === null ? "–" : `${ratio.toFixed(2)} ×`;
const minutes = (value: number) => {
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
};

type Figure = DocumentRun["attempts"][number]["core"];

function keptText(kept: Figure): string {
  if (kept === null) return "not measured";
  const range = kept.interval?.map((end) => end.toFixed(2)).join(" to ");
  return `${kept.value.toFixed(2)} (${range}), ${kept.samples} samples`;
}

/** The expert's benchmark that keeps least. */
function leastText(experts: DocumentRun["attempts"][number]["experts"]): string {
  const [least] = experts.toSorted((a, b) => a.value - b.value);
  return least === undefined ? "not measured" : `${least.benchmark}: ${keptText(least)}`;
}

/** The attempts as Markdown, in their order. */
export function documentTable({ original, attempts, shipped }: DocumentRun): string {
  const head = [
    "stage, attempt",
    "expected",
    "on disk",
    "by formula",
    "core keeps (95 %)",
    "least expert keeps",
  ];
  const rows = attempts.map((one, index) => {
    const last = attempts.findLastIndex(({ stage, decision }) =>
      stage === shipped?.stage && decision === "advance"
    );
    const decided = WORDS[one.decision] ?? one.decision;
    return [
      `${one.stage} ${one.attempt}`,
      one.expected_ratio === null ? "–" : `${one.expected_ratio} ×`,
      one.bytes === null ? "–" : `${megabytes(one.bytes)}, ${times(one.cumulative_ratio)}`,
      megabytes(one.formula_bytes),
      keptText(one.core),
      leastText(one.experts),
      index === last ? `${decided}, shipped` : decided,
      one.compress_seconds === 0 ? "made before" : minutes(one.compress_seconds),
      minutes(one.seconds),
    ];
  });
  const none = shipped?.stage === ORIGINAL ? "original, shipped" : "original";
  const took = minutes(original.seconds);
  const first = [none, "", megabytes(original.bytes), "", "", "", "", "", took];
  const names = [...head, "decision", "compressed in", "whole attempt"];
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(names), line(names.map(() => "---")), ...[first, ...rows].map(line)].join("\n");
}
