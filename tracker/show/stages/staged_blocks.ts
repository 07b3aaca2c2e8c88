import {
  benchmarkComparison,
  type StageDecision,
  type StageSize,
  stagesPlan,
} from "../../../core/mod.ts";
import { bytes, number } from "../view/number_text.ts";
import { sizesOf } from "./staged_rows.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, list, paragraph, table } from "../reports/blocks.ts";

/** The curve of a staged study: quality by how many times smaller each attempt is. */
export interface StagedFigure {
  readonly svg: string;
  readonly narrow: string;
  readonly file: string;
}

const WORDS: Partial<Record<StageDecision["decision"], string>> = {
  advance: "passed",
  roll_back: "failed, rolled back",
  retry: "failed, tried again",
  skip: "left out",
  abort: "failed, the run ended",
};

/** The core's mean with its interval, as the ledger's row of the attempt tells it. */
function coreText(row: StageDecision | undefined): string {
  if (row?.value === null || row?.value === undefined) return "–";
  const range = row.interval?.map((end) => end.toFixed(3)).join(" to ");
  return range === undefined ? row.value.toFixed(3) : `${row.value.toFixed(3)} (${range})`;
}

function attemptRow(
  decided: StageDecision,
  checks: readonly StageDecision[],
  size: StageSize | undefined,
): string[] {
  const failed = checks.filter(({ decision }) => decision === "failed")
    .map(({ about, subject }) => subject === null ? about : `${about} ${subject}`);
  const times = (value: number | null | undefined) =>
    value === null || value === undefined ? "–" : `${value.toFixed(2)} ×`;
  return [
    `${decided.stage} ${decided.attempt}`,
    WORDS[decided.decision] ?? decided.decision,
    size === undefined ? "–" : bytes(size.bytes),
    bytes(size?.formula_bytes),
    size?.expected_ratio === null || size === undefined ? "–" : `${number(size.expected_ratio)} ×`,
    times(size?.ratio),
    times(size?.cumulative_ratio),
    coreText(checks.find(({ about }) => about === "cumulative")),
    failed.join(", ") || "–",
  ];
}

function attemptTable(view: StudyView): Block {
  const { stage_decisions: ledger } = view;
  const sizes = sizesOf(view);
  const rows = ledger.filter(({ about }) => about === "attempt").map((decided) => {
    const same = (one: { stage: string; attempt: number }) =>
      one.stage === decided.stage && one.attempt === decided.attempt;
    return attemptRow(decided, ledger.filter(same), sizes.find(same));
  });
  const head = [
    ...["attempt", "gate", "on disk", "by formula", "expected", "to before", "to 2 bytes a weight"],
    ...["core keeps", "failed checks"],
  ];
  return table(head, rows, "The core's mean retention above guessing, with its 95 % interval.");
}

function benchmarkRows(view: StudyView): Block[] {
  const { columns, data } = benchmarkComparison(stagesPlan(view.request), view.stage_decisions);
  const judged = data.filter((row) => row.slice(1).some((cell) => cell !== null));
  if (judged.length === 0) return [];
  const cell = (value: string | number | null) =>
    typeof value === "number" ? value.toFixed(3) : value ?? "–";
  const head = columns.map((column, i) =>
    i < 2 || i === columns.length - 1 ? column.toLowerCase() : column
  );
  return [table(head, judged.map((row) => row.map(cell)), "Scores of each stage's last attempt.")];
}

/** What a staged study has over a search: its attempts, the curve, the core stage by stage. */
export function stagedBlocks(view: StudyView, figure: StagedFigure | null): Block[] {
  if (view.stage_decisions.length === 0) {
    return [heading(2, "The stages"), paragraph("No stage is decided yet.")];
  }
  const why = sizesOf(view).flatMap(({ stage, attempt, why_not }) =>
    why_not === null ? [] : [`${stage} ${attempt}: ${why_not}`]
  );
  const caption =
    "Quality over the compression ratio on disk, by set of benchmarks. Bars are 95 % " +
    "intervals of the paired retention, red lines what a stage must keep.";
  return [
    heading(2, "The stages"),
    attemptTable(view),
    ...list(why),
    ...figure === null ? [] : [{ block: "figure" as const, ...figure, caption }],
    ...benchmarkRows(view),
  ];
}
