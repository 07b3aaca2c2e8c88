import {
  benchmarkComparison,
  type JournalRecord,
  type StageDecision,
  stagesPlan,
} from "../../../../core/mod.ts";
import { type Effect, jsonText, points, tags } from "./effects.ts";
import type { KnownStudy } from "./known_study.ts";

type Of<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

const flag = (passed: boolean): number => passed ? 1 : 0;

/** What was measured of behaviour, whether it is judged or not; of retention what is not judged is none. */
function measuredFigures(
  stage: string,
  { about, subject, value, score }: StageDecision,
): Record<string, number | null> {
  if (about === "edge_of_chaos") return { [`${stage}/edge_of_chaos/accuracy`]: score ?? value };
  return about === "ethics" ? { [`${stage}/eudaimonia/${subject}`]: value } : {};
}

/** Each domain's mean retention: the requirement's `expert/{domain}/retention`. */
function expertFigures(stage: string, rows: readonly StageDecision[]): Record<string, number> {
  const known = rows.flatMap(({ about, subject, value }) => {
    const [domain, benchmark] = subject?.split("/") ?? [];
    return about === "expert" && benchmark !== undefined && value !== null
      ? [{ domain: domain!, value }]
      : []; // a mean has the domain for its subject, and the name already
  });
  return Object.fromEntries(
    [...Map.groupBy(known, ({ domain }) => domain)].map(([domain, own]) => [
      `${stage}/expert/${domain}/retention`,
      own.reduce((sum, { value }) => sum + value, 0) / own.length,
    ]),
  );
}

/** Figures of one check of a stage, under the names that the requirement logs them by. */
function checkFigures(stage: string, row: StageDecision): Record<string, number | null> {
  const { about, subject, value, score, decision } = row;
  if (decision === "not_applicable") return measuredFigures(stage, row);
  const passed = flag(decision === "passed");
  switch (about) {
    case "core":
      return subject === null ? { [`${stage}/retention`]: value } : {
        [`${stage}/${subject}`]: score,
        [`${stage}/core/${subject}`]: score,
        [`${stage}/retention/${subject}`]: value,
        [`${stage}/degradation/${subject}`]: value === null ? null : 1 - value,
        [`${stage}/passed/${subject}`]: passed,
      };
    case "expert":
      return {
        [`${stage}/expert/${subject}`]: score,
        [`${stage}/expert/${subject}/retention`]: value,
        [`${stage}/expert/${subject}/passed`]: passed,
      };
    case "cumulative":
      return { [`${stage}/retention/cumulative`]: value };
    case "edge_of_chaos":
    case "ethics":
      return measuredFigures(stage, row);
    case "size":
      return { [`${stage}/model_size_mb`]: value === null ? null : value / 1e6 };
    default:
      return {};
  }
}

/** All figures of one attempt: its checks, and their sums. */
function attemptFigures(
  stage: string,
  rows: readonly StageDecision[],
  fp16_bytes: number | undefined,
): Record<string, number | null> {
  const failed = rows.filter(({ decision }) => decision === "failed");
  const chaos = rows.filter(({ about, decision }) =>
    about === "edge_of_chaos" && decision !== "not_applicable"
  );
  const bytes = rows.find(({ about }) => about === "size")?.value ?? null;
  const benchmarks = failed.filter(({ about }) => about === "core" || about === "expert");
  return {
    ...expertFigures(stage, rows),
    ...Object.assign({}, ...rows.map((row) => checkFigures(stage, row))),
    ...chaos.length === 0 ? {} : {
      [`${stage}/edge_of_chaos/passed`]: flag(chaos.every(({ decision }) => decision === "passed")),
    },
    [`${stage}/compression_ratio`]: bytes === null || fp16_bytes === undefined
      ? null
      : fp16_bytes / bytes,
    [`${stage}/overall_passed`]: flag(rows.some(({ decision }) => decision === "advance")),
    [`${stage}/num_failed`]: failed.length,
    [`${stage}/num_failed_benchmarks`]: benchmarks.length,
  };
}

/** `seedlm`, then `seedlm_retry`, `seedlm_retry2`; none is the name of another stage. */
function attemptName({ stage, attempt }: StageDecision, stages: readonly string[]): string {
  if (attempt <= 1) return stage;
  let name = `${stage}_retry${attempt === 2 ? "" : attempt - 1}`;
  while (stages.includes(name)) name += "_";
  return name;
}

/** What a part of the ledger writes into the study's run. */
export function describeStages(study: KnownStudy, record: Of<"stages_decided">): Effect[] {
  const to = { study_id: record.study_id, trial_id: null };
  const { facts, request } = study.opened ?? {};
  const plan = request === undefined ? null : stagesPlan(request); // no other kind decides stages
  const names = plan?.stages.map(({ name }) => name) ?? [];
  const attempts = Map.groupBy(
    record.decisions.filter(({ attempt }) => attempt > 0),
    (row) => attemptName(row, names),
  );
  const effects = [...attempts].flatMap(([name, rows]): Effect[] => {
    const figures = attemptFigures(name, rows, facts?.model.fp16_bytes);
    return [
      { to, kind: "log", data: { metrics: points(figures, Date.parse(record.at)) } },
      { to, kind: "text", path: `stages/${name}.json`, text: jsonText(rows) },
    ];
  });
  const shipped = record.decisions.find(({ decision }) => decision === "ship");
  if (shipped === undefined || plan === null) return effects;
  const table = benchmarkComparison(plan, study.decisions);
  const said = {
    "pare.shipped_stage": shipped.stage,
    "pare.shipped_artifact": shipped.to_artifact,
  };
  return [
    ...effects,
    { to, kind: "log", data: { tags: tags(said) } },
    { to, kind: "text", path: "stages/benchmark_comparison.json", text: jsonText(table) },
  ];
}
