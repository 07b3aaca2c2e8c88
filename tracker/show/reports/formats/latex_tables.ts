import { isDecisive, onRung, qualityMetric, rungNames, trialName } from "../../../../core/mod.ts";
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
  readonly align: readonly string[];
  readonly cells: (row: TrialRow) => string[];
}

/** Characters of a recipe that a line of its column takes, and lines that a page's table may have. */
const RECIPE_LINE = 24;
const MOST_LINES = 36;

/** Rows in tables that each fit a page: a long recipe takes several lines. */
function pagesOf(rows: readonly TrialRow[]): TrialRow[][] {
  const pages: TrialRow[][] = [];
  let lines = MOST_LINES;
  for (const row of rows) {
    const needed = Math.max(1, Math.ceil(row.recipe.length / RECIPE_LINE));
    if (lines + needed > MOST_LINES) {
      pages.push([]);
      lines = 0;
    }
    pages.at(-1)!.push(row);
    lines += needed;
  }
  return pages;
}

/** Columns of which a row has something: an empty one only takes width. */
function filled({ heads, align, cells }: Columns, rows: readonly TrialRow[]): Columns {
  const all = rows.map(cells);
  const kept = heads.map((_, at) => at < 2 || all.some((row) => !/^(--|–)$/.test(row[at]!)));
  const of = <Part>(parts: readonly Part[]) => parts.filter((_, at) => kept[at]);
  return { heads: of(heads), align: of(align), cells: (row) => of(cells(row)) };
}

/** Tables of a page each, shrunk to the width of the text where they are wider. */
function booktabs(
  caption: string,
  label: string,
  of: Columns,
  rows: readonly TrialRow[],
): string[] {
  const columns = filled(of, rows);
  return pagesOf(rows).map((page, at) =>
    at === 0
      ? pageTable(caption, label, columns, page)
      : pageTable(`(continued, part ${at + 1})`, `${label}-${at + 1}`, columns, page)
  );
}

function pageTable(caption: string, label: string, columns: Columns, rows: readonly TrialRow[]) {
  return fittedTable({
    ...{ caption, label, align: columns.align, head: columns.heads.map(escapeTex) },
    lines: rows.map((row) => columns.cells(row).join(" & ")),
  });
}

/** A table in LaTeX (`booktabs`, `graphicx`), shrunk to the width of the text where it is wider. */
export function fittedTable({ caption, label, align, head, lines }: {
  readonly caption: string;
  readonly label: string;
  readonly align: readonly string[];
  /** Cells as LaTeX has them; a line has them joined. */
  readonly head: readonly string[];
  readonly lines: readonly string[];
}): string {
  return `\\begin{table}
  \\centering
  \\caption{${caption}}
  \\label{${label}}
  \\vspace{4pt}
  \\footnotesize
  \\setlength{\\tabcolsep}{3pt}
  \\sbox0{\\begin{tabular}{${align.join("")}}
    \\toprule
    ${head.join(" & ")} \\\\
    \\midrule
${lines.map((line) => `    ${line} \\\\`).join("\n")}
    \\bottomrule
  \\end{tabular}}
  \\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi
\\end{table}
`;
}

/** Samples behind the quality of trials that all were asked the same. */
function samplesOf({ spec }: StudyView, rows: readonly TrialRow[]): number {
  const metric = qualityMetric(spec);
  return Math.max(0, ...rows.map(({ figures }) => figures[metric]?.n ?? 0));
}

/**
 * The study's trials evaluated in full as LaTeX tables that fit a page (`\usepackage{array,booktabs,graphicx}`), a
 * column that no trial has left out: the recommended one is bold, a star says that the paired 95 % interval of the difference to the baseline does not hold 0.
 */
export function latexTables(view: StudyView): string {
  const shown = trialColumns(view);
  const columns: Columns = {
    heads: ["trial", "recipe", ...shown.map(({ heading }) => heading), "difference"],
    align: [
      ...["l", ">{\\raggedright\\arraybackslash}p{0.22\\linewidth}"],
      ...Array<string>(shown.length + 1).fill("r"),
    ],
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
    return booktabs(caption, `${label}-${rung}`, columns, rows);
  });
  const tables = [...(full.length === 0 ? [] : booktabs(whole, label, columns, full)), ...lower];
  return `% \\usepackage{array,booktabs,graphicx}\n${tables.join("\n")}`;
}
