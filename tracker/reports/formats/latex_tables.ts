import { isDecisive, onRung, qualityMetric, rungNames, trialName } from "../../../core/mod.ts";
import { signedText } from "../../view/difference_text.ts";
import { bytes } from "../../view/number_text.ts";
import type { StudyView } from "../../view/study_view.ts";
import { trialColumns } from "../../view/trial_columns.ts";
import type { TrialRow } from "../../view/trial_rows.ts";
import { titleOf } from "../answer_blocks.ts";
import { escapeTex } from "../limit_blocks.ts";

/** A star where the paired interval does not hold 0; nothing where it does, or is not known. */
function mark({ difference }: TrialRow): string {
  const interval = difference?.interval ?? null;
  if (interval === null || (interval[0] <= 0 && interval[1] >= 0)) return "";
  return "$^{*}$";
}

function differenceCell(row: TrialRow): string {
  const { difference } = row;
  if (row.baseline || difference === null) return "--";
  const value = signedText(difference.metric, difference.value).replace(" %", "\\,\\%");
  return `$${value}$${mark(row)}`;
}

/** A cell of text or figures; a minus is set as one. */
function cell(text: string): string {
  return /^-\d/.test(text) ? `$${text}$` : escapeTex(text);
}

interface Columns {
  readonly heads: readonly string[];
  /** As LaTeX aligns them. */
  readonly align: string;
  readonly cells: (row: TrialRow) => string[];
}

function booktabs(caption: string, label: string, columns: Columns, rows: readonly TrialRow[]) {
  const lines = rows.map((row) => `    ${columns.cells(row).join(" & ")} \\\\`);
  return `\\begin{table}
  \\centering
  \\caption{${caption}}
  \\label{${label}}
  \\begin{tabular}{${columns.align}}
    \\toprule
    ${columns.heads.map(escapeTex).join(" & ")} \\\\
    \\midrule
${lines.join("\n")}
    \\bottomrule
  \\end{tabular}
\\end{table}
`;
}

/** Samples behind the quality of trials that all were asked the same. */
function samplesOf({ spec }: StudyView, rows: readonly TrialRow[]): number {
  const metric = qualityMetric(spec);
  return Math.max(0, ...rows.map(({ figures }) => figures[metric]?.n ?? 0));
}

/**
 * The study's trials evaluated in full as a LaTeX table (`\usepackage{booktabs}`): the recommended one is bold, a star
 * says that the paired 95 % interval of the difference to the baseline does not hold 0.
 */
export function latexTables(view: StudyView): string {
  const shown = trialColumns(view);
  const columns: Columns = {
    heads: ["trial", "recipe", ...shown.map(({ heading }) => heading), "difference"],
    align: `ll${"r".repeat(shown.length + 1)}`,
    cells: (row) => {
      const name = trialName(row.number);
      const named = row.trial_id === view.recommended ? `\\textbf{${name}}` : name;
      const figures = shown.map(({ cell: text }) => cell(text(row)));
      return [named, escapeTex(row.recipe), ...figures, differenceCell(row)];
    },
  };
  const label = `tab:${view.study_id.replaceAll(/[^A-Za-z0-9-]/g, "-")}`;
  const full = view.rows.filter(({ fidelity }) => isDecisive(fidelity));
  const whole = `${escapeTex(titleOf(view))}. The original as 16-bit floats takes ` +
    `${escapeTex(bytes(view.facts.model.fp16_bytes))}. Difference: to the baseline, on the same ` +
    `${samplesOf(view, full)} samples; $^{*}$: its paired 95\\,\\% interval does not hold 0. ` +
    (view.recommended === null ? "No trial is recommended." : "Bold: recommended.");
  // Trials of a lower rung were asked other samples: each rung has a table of its own.
  const rungs = rungNames(view.spec).filter((rung) => !isDecisive(rung)).reverse();
  const lower = rungs.flatMap((rung) => {
    const rows = view.rows.filter(({ fidelity }) => fidelity === rung);
    if (rows.length === 0) return [];
    const caption =
      `${escapeTex(titleOf(view))}: trials evaluated ${escapeTex(onRung(rung))} alone. ` +
      `Difference: to the baseline, on the same ${samplesOf(view, rows)} samples.`;
    return [booktabs(caption, `${label}-${rung}`, columns, rows)];
  });
  const tables = [...(full.length === 0 ? [] : [booktabs(whole, label, columns, full)]), ...lower];
  return `% \\usepackage{booktabs}\n${tables.join("\n")}`;
}
