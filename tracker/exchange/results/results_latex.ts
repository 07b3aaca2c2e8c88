import { FULL_CACHE } from "../../../core/mod.ts";
import {
  bestRows,
  ENDLESS,
  type ResultRow,
  type ResultTable,
  shownValue,
} from "../../show/sweep/result_table.ts";
import { fittedTable } from "../../show/reports/formats/latex_tables.ts";
import { escapeTex } from "../../show/reports/limit_blocks.ts";
import { type ComparedRows, isBetter, isTold } from "./compared_rows.ts";

/**
 * Marks of our rows by trial and benchmark: what is told from the full cache, or from every other method,
 * where none is lacking that a reader would ask for.
 */
function marksOf(compared: readonly ComparedRows[], whole: boolean): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  const rows = Map.groupBy(compared, ({ ours }) => ours.trial_id);
  for (const [trial_id, all] of rows) {
    const tasks = new Set(all.flatMap(({ tasks }) => tasks.map(({ task }) => task)));
    for (const task of tasks) {
      const of = (isFull: boolean) =>
        all.filter(({ theirs }) => (theirs.method === FULL_CACHE) === isFull)
          .flatMap((one) => one.tasks.filter((other) => other.task === task));
      const others = of(false);
      const better = whole && others.length > 0 &&
        others.every((one) => isTold(one) && isBetter(one));
      const lost = of(true).some((one) => isTold(one) && !isBetter(one));
      const mark = `${better ? "^{*}" : ""}${lost ? "_{\\downarrow}" : ""}`;
      if (mark !== "") marks.set(`${trial_id} ${task}`, `\\rlap{$${mark}$}`);
    }
  }
  return marks;
}

/** Benchmarks whose names stand side by side; those of more are turned, or a page could not hold them. */
const STRAIGHT = 6;

/**
 * The table for a paper (`\usepackage{booktabs,graphicx}`): bold is the best of a budget; a star, better than
 * every other method of that budget; an arrow, worse than the full cache: by both tests after Holm.
 */
export function resultsLatex(
  table: ResultTable,
  compared: readonly ComparedRows[],
  verdict: string | null,
): string {
  const { tasks, rows, model, untold, lacking } = table;
  const best = bestRows(table);
  const marks = marksOf(compared, lacking.length === 0);
  const averaged = rows.some(({ average }) => average !== null);
  const names = tasks.map(({ task }) => task);
  const turned = names.length > STRAIGHT ? (name: string) => `\\rotatebox{90}{${name}}` : String;
  const head = [
    ...["Method", "Budget"],
    ...[...names, ...(averaged ? ["Avg"] : [])].map((name) => turned(escapeTex(name))),
  ];
  const shown = (row: ResultRow, text: string, at: number) =>
    best.has(`${row.trial_id} ${at}`) ? `\\textbf{${text}}` : text;
  const lines = rows.map((row) => {
    const figures = row.cells.map((one, at) => {
      const task = tasks[at]!;
      const mark = marks.get(`${row.trial_id} ${task.task}`) ?? "";
      return one === null ? "--" : shown(row, shownValue(one.value, task), at) + mark;
    });
    const average = row.average === null
      ? "--"
      : shown(row, (100 * row.average).toFixed(1), tasks.length);
    const budget = row.budget === ENDLESS ? "$\\infty$" : escapeTex(row.budget);
    const cells = [escapeTex(row.method), budget, ...figures, ...(averaged ? [average] : [])];
    return cells.join(" & ");
  });
  const guessing = untold.length === 0
    ? ""
    : ` The full cache is not told from guessing on ${untold.map(escapeTex).join(", ")}.`;
  const marked = compared.length === 0
    ? ""
    : (lacking.length === 0
      ? " A star: better than every other method of the budget; an arrow"
      : " An arrow") +
      ": worse than the full cache (paired $t$ and paired bootstrap, Holm over benchmarks, $p < 0.05$).";
  const told = verdict === null ? "" : ` ${escapeTex(verdict)}`;
  return `% \\usepackage{booktabs,graphicx}\n` + fittedTable({
    caption: `${escapeTex(model)}: cache policies by budget, the best of each budget in bold.` +
      marked + guessing + told,
    label: "tab:caches",
    align: ["l", "l", ...Array<string>(head.length - 2).fill("r")],
    head,
    lines,
  });
}
