import type { OwnShown } from "../kinds/own_shown.ts";
import { heading, list, table } from "../reports/blocks.ts";
import { bytes } from "../view/number_text.ts";
import { bestRows, type ResultRow, resultTable, shownValue } from "./result_table.ts";
import { headed, resultNotes, resultsMarkdown } from "./results_markdown.ts";

const RESULTS = "RESULTS.md";

/** What a sweep shows beside others: its methods by budgets and benchmarks. */
export const sweepShown: OwnShown = {
  blocks(view) {
    const found = resultTable(view);
    if (found === null || found.tasks.length === 0) return [];
    const { tasks, rows } = found;
    const best = bestRows(found);
    const mark = (row: ResultRow, at: number) => best.has(`${row.trial_id} ${at}`) ? " *" : "";
    return [
      heading(2, "Methods by budgets"),
      table(
        ["trial", "method", "budget", "KV cache", ...tasks.map(({ task }) => headed(task, found))],
        rows.map((row) => [
          ...[row.name, row.method, row.budget, bytes(row.kv_bytes)],
          ...row.cells.map((one, at) =>
            one === null ? "–" : shownValue(one.value, tasks[at]!) + mark(row, at)
          ),
        ]),
      ),
      ...list(resultNotes(found, "has a star")),
    ];
  },
  files(view) {
    const found = resultTable(view);
    return { [RESULTS]: found === null ? null : resultsMarkdown(found) };
  },
  ended: (_, folder) => `Results         ${folder}/${RESULTS}`,
};
