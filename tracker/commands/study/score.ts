import { Judge, UsageError } from "../../../core/mod.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";
import { openLab } from "../../session/lab.ts";
import type { TrialScored } from "../../session/score_study.ts";
import type { Figure } from "../../lab/scoring/score_differences.ts";
import { type JudgeOptions, judgesAsked } from "../input/judge_options.ts";

/** What `pare score` may be told. */
export interface ScoreCommandOptions extends JudgeOptions {
  store?: string;
  task?: string;
  rescore?: boolean;
  scorer?: string;
  param?: string[];
  plugin?: string[];
  json?: boolean;
}

/** Samples that are named where some changed. */
const NAMED = 10;

/** A knob's value as JSON has it; what is none is a text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function paramsOf(given: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(given.map((one) => {
    const at = one.indexOf("=");
    if (at > 0) return [one.slice(0, at), valueOf(one.slice(at + 1))];
    throw new UsageError(`Cannot read --param ${one}: it must be NAME=VALUE`);
  }));
}

/** t03 of study/t03. */
const shortName = (trial_id: string) => trial_id.split("/").at(-1)!;

function figureText(figure: Figure | null): string {
  if (figure === null) return "";
  const { value, interval } = figure;
  const range = interval === null ? "" : ` (${number(interval[0])} to ${number(interval[1])})`;
  return `${number(value)}${range}`;
}

/** What changed, a row a trial, rung, scorer and metric. */
export function scoreTable(rows: readonly TrialScored[]): string {
  const table = textTable(
    [
      "trial",
      "rung",
      "scorer",
      "metric",
      "n",
      "now (95 %)",
      "earlier (95 %)",
      "by",
      "change (95 %)",
    ]
      .concat("changed"),
    rows.map((row) => [
      shortName(row.trial_id),
      row.fidelity,
      `${row.scorer} ${row.scorer_version}`,
      row.metric,
      String(row.now.n),
      figureText(row.now),
      figureText(row.earlier),
      row.earlier_by ?? "",
      figureText(row.difference),
      row.changed === null ? "" : String(row.changed.length),
    ]),
  );
  const notes = rows.flatMap(notesOf);
  return [table, ...notes].join("\n");
}

/** What a reader must know of a comparison: other scorers, other samples. */
function notesOf(row: TrialScored): string[] {
  const { earlier_by, earlier, now, changed, scorer, scorer_version } = row;
  const name = `${shortName(row.trial_id)} ${row.fidelity}`;
  const by = earlier_by;
  const other = by !== null && by !== `${scorer} ${scorer_version}`;
  const ids = changed ?? [];
  const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : "";
  return [
    ...(ids.length === 0
      ? []
      : [`${name}: samples ${ids.slice(0, NAMED).join(", ")}${more} score otherwise`]),
    ...(other
      ? [`${name}: ${by} and ${scorer} ${scorer_version} are two rules: the change is theirs`]
      : []),
    ...(earlier !== null && earlier.n !== now.n
      ? [`${name}: ${earlier.n} samples were scored before, ${now.n} now: the change is over both`]
      : []),
  ];
}

/** Whether figures are by these scores from now on. */
function whatCounts({ task, scorer, scorer_version, beside_because }: TrialScored): string {
  const by = `${scorer} ${scorer_version}`;
  return beside_because === null
    ? `Figures of ${task} are by ${by} from now on; what was decided stays. The earlier ones: ` +
      "SELECT * FROM earlier_measurements"
    : `The scores by ${by} stand beside those of ${task}, as ${beside_because}: ` +
      "SELECT * FROM scorings";
}

/** `pare score`: the answers that a study keeps, scored again beside their earlier scores. */
export async function scoreCommand(
  study: string | undefined,
  options: ScoreCommandOptions,
): Promise<void> {
  const screen = createLiveView(standardScreen(), () => Date.now());
  const { judge, panel = [], rubric } = judgesAsked(options);
  const rescore = options.rescore === true || rubric !== undefined;
  if (rescore && (judge === undefined || options.scorer !== undefined)) {
    throw new UsageError(
      "Cannot judge kept answers without --judge-endpoint URL, or by a --scorer: --judge names a rubric",
    );
  }
  if (options.task === undefined && !rescore) {
    throw new UsageError("Cannot score without --task NAME (or --rescore, of all that is written)");
  }
  await using lab = await openLab({
    onSetup: (line) => screen.progressLine(line),
    onEvent: screen.onEvent,
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  const rows = await lab.score(study, {
    ...(options.task === undefined ? {} : { task: options.task }),
    params: { ...paramsOf(options.param ?? []), ...(rubric === undefined ? {} : { rubric }) },
    rescore,
    plugins: options.plugin ?? [],
    ...(options.scorer === undefined ? {} : { scorer: options.scorer }),
    ...(judge === undefined ? {} : { judge: Judge.parse(judge) }),
    panel: panel.map((one) => Judge.parse(one)),
  });
  screen.finish();
  if (options.json === true) {
    console.log(JSON.stringify(rows, null, 2));
    return;
  }
  console.log(scoreTable(rows));
  for (const said of new Set(rows.map(whatCounts))) console.log(`\n${said}`);
}
