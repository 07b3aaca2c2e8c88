import { FULL_CACHE } from "../../../core/mod.ts";
import { bytes } from "../view/number_text.ts";
import { bestRows, type ResultRow, type ResultTable, shownValue } from "./result_table.ts";

/** Lines that say how the table is to be read, a sentence each. `best`: how the best of a budget is marked. */
export function resultNotes(
  { tasks, untold, lacking, rows }: ResultTable,
  best = "is bold",
): string[] {
  const shares = tasks.filter(({ share }) => share).length;
  const [full, ...cells] = rows;
  const whole = cells.filter(({ kv_bytes }) => kv_bytes !== null && kv_bytes === full?.kv_bytes)
    .map(({ method, budget }) => `${method} ${budget}`);
  const measured = Math.max(...rows.map(({ cells }) => Math.max(...cells.map((c) => c?.n ?? 0))));
  return [
    "A budget counts tokens that a head of keys and values keeps of a prompt, the first and last " +
    "included; bytes are counted from the tensors that are kept.",
    `Of at most ${measured} samples a benchmark${
      shares > 0
        ? `; scores in percent, Avg over those${untold.length > 0 ? " without †" : ""}`
        : ""
    }; the best of each budget ${best}.`,
    ...(whole.length === 0 ? [] : [
      `Nothing was cut by ${whole.join(", ")}: no context is longer than the budget.`,
    ]),
    ...(untold.length === 0 ? [] : [
      `The full cache itself is not told from guessing on ${untold.join(", ")} (†): no ` +
      "difference there says anything of a method.",
    ]),
    ...(lacking.length === 0 ? [] : [
      `Not run under these settings: ${lacking.join(", ")}. A method is not called better than ` +
      "others that were not run.",
    ]),
  ];
}

/** A name with what marks a benchmark that tells nothing. */
export const headed = (task: string, { untold }: ResultTable): string =>
  untold.includes(task) ? `${task}†` : task;

/** `RESULTS.md`: methods by budgets, benchmarks in columns, the best in bold. */
export function resultsMarkdown(table: ResultTable): string {
  const { tasks, rows, model } = table;
  const best = bestRows(table);
  const averaged = rows.some(({ average }) => average !== null);
  const head = [
    ...["Method", "Budget", "KV cache"],
    ...tasks.map(({ task }) => headed(task, table)),
    ...(averaged ? ["Avg"] : []),
  ];
  const bold = (text: string, row: ResultRow, at: number) =>
    best.has(`${row.trial_id} ${at}`) ? `**${text}**` : text;
  const lines = rows.map((row) => {
    const figures = row.cells.map((one, at) =>
      one === null ? "–" : bold(shownValue(one.value, tasks[at]!), row, at)
    );
    const average = row.average === null ? "–" : (100 * row.average).toFixed(1);
    const name = row.method === FULL_CACHE ? "Full" : row.method;
    const last = averaged ? [bold(average, row, tasks.length)] : [];
    return [name, row.budget, bytes(row.kv_bytes), ...figures, ...last];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    `# Results: ${model}`,
    "",
    line(head),
    line(head.map(() => "---")),
    ...lines.map(line),
    "",
    ...resultNotes(table).map((note) => `- ${note}`),
    "",
  ].join("\n");
}
