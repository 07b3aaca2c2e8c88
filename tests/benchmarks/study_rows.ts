import { type Trial, trialName } from "../../core/mod.ts";
import { textTable } from "../../tracker/show/terminal/table.ts";
import { recipeText } from "../../tracker/show/view/trial_rows.ts";
import type { StudyView } from "../../tracker/show/view/study_view.ts";
import type { BareResult } from "./bare_request.ts";
import type { BenchRow } from "./bench_table.ts";
import type { MeasuredStudy } from "./measured_study.ts";
import type { BareRun } from "./run_bare.ts";
import { type Account, type Part, totals } from "./span_account.ts";

const BARE = "bare Python script";

/** Phases of both sides that do the same work: names in the account, names in the bare script. */
const PHASES: readonly { what: string; own: RegExp; bare: readonly string[] }[] = [
  {
    what: "compress: load, quantize, write",
    own: /^apply: (?!start|import|end)/,
    bare: ["load", "quantize", "round", "write"],
  },
  { what: "evaluate", own: /^evaluate: evaluate$/, bare: ["evaluate"] },
  {
    what: "load for evaluation, compile for speed",
    own: /^(evaluate|speed): load$/,
    bare: ["compile"],
  },
  {
    what: "generate: warm-up and timing",
    own: /^speed: (warm-up|speed)$/,
    bare: ["warm-up", "speed"],
  },
  { what: "process starts and imports", own: /: (start|import|end)$/, bare: ["import"] },
];

function secondsOf(parts: readonly Part[], names: RegExp): number {
  return parts.filter(({ name }) => names.test(name))
    .reduce((total, { seconds }) => total + seconds, 0);
}

/** The study's time beside the bare script's, whole and by phase. */
export function timeRows(
  study: Pick<MeasuredStudy, "command_seconds" | "load" | "view">,
  account: Account,
  bare: BareRun | null,
): BenchRow[] {
  const { view, command_seconds, load } = study;
  const of = bare === null ? "" : `; peer: one process, ${bare.result.trials.length} trials, run ` +
    `once, load average ${bare.load.toFixed(1)}`;
  const when = load === null ? "run before" : `run once, load average ${load.toFixed(1)}`;
  const how = `study ${view.study_id} of ${view.trials.length} trials, ${when}; from its journal ` +
    `and its trials' own spans; the graph's export (${
      account.exported.toFixed(0)
    } s) is left out ` +
    `on both sides${of}`;
  const peer_name = bare === null ? "–" : BARE;
  const peer = bare?.result.seconds ?? null;
  const all = account.total - account.exported;
  const parts = [...account.parts, ...account.libraries];
  const rows: BenchRow[] = [
    { what: "study, whole", figure: all, unit: "s", peer, peer_name, how },
    {
      what: "study, verification left out",
      figure: all - account.verification,
      unit: "s",
      peer,
      peer_name,
      how,
    },
    {
      what: "outside library calls",
      figure: 100 * account.share,
      unit: "%",
      goal: { at_most: 5 },
      how: "share of the study's time less verification that lies in no library's call or import",
    },
    {
      what: "  of it the rounding of rtn and int8",
      figure: secondsOf(account.parts, /^apply: quantize$/),
      unit: "s",
      peer: bare === null ? null : bare.result.phases["round"] ?? 0,
      peer_name: "llm-compressor's oneshot",
      how: "arithmetic of pare's own methods: work, but no library's; included in the share above",
    },
    { what: "verification", figure: account.verification, unit: "s", how },
    ...PHASES.map(({ what, own, bare: names }): BenchRow => ({
      what: `  ${what}`,
      figure: secondsOf(parts, own),
      unit: "s",
      peer: bare === null
        ? null
        : names.reduce((total, name) => total + (bare.result.phases[name] ?? 0), 0),
      peer_name,
      how,
    })),
  ];
  if (command_seconds === null) return rows;
  const whole =
    `from the start of the command to its end, with set-up checks and the report; ${when}`;
  return [{ what: "command", figure: command_seconds, unit: "s", how: whole }, ...rows];
}

function measured(trial: Trial, metric: string) {
  return trial.measurements.find((row) => row.metric === metric);
}

/** Latencies beside what reading the weights once a token would take: baseline, then the front. */
export function rooflineRows(view: StudyView): BenchRow[] {
  const baseline = view.trials.find(({ strategy, state }) =>
    strategy === null && state === "completed"
  );
  const front = view.front.flatMap((id) =>
    view.trials.find(({ trial_id }) => trial_id === id) ?? []
  );
  const shown = [...new Set([...(baseline === undefined ? [] : [baseline]), ...front])];
  return shown.flatMap((trial) => {
    const latency = measured(trial, "latency_ms");
    const roofline = measured(trial, "roofline_ms");
    if (latency === undefined || roofline === undefined) return [];
    const role = trial.trial_id === view.recommended
      ? "recommended"
      : trial === baseline
      ? "baseline"
      : "front";
    const number = trialName(trial.number);
    return [{
      what: `latency ${number} ${recipeText(trial)} (${role})`,
      figure: latency.value,
      unit: "ms/token" as const,
      peer: roofline.value,
      peer_name: "roofline",
      how: `${latency.runtime}: ${latency.method}; roofline: ${roofline.method}`,
    }];
  });
}

const shown = (value: number | null | undefined, digits: number) =>
  value === null || value === undefined ? "–" : value.toFixed(digits);

/** Both sides' answers: the same work gives nearly the same figures. */
export function answersTable(view: StudyView, { trials }: BareResult): string {
  const rows = trials.flatMap(({ trial_id, scores, latency_ms }) => {
    const trial = view.trials.find((one) => one.trial_id === trial_id);
    if (trial === undefined) return [];
    const last = scores.at(-1) ?? {};
    return Object.entries(last).map(([task, value], index) => {
      const own = trial.measurements.findLast((row) =>
        row.task === task && (row.metric === "accuracy" || row.metric === "perplexity")
      );
      const first = index === 0;
      return [
        first ? trialName(trial.number) : "",
        first ? recipeText(trial) : "",
        task,
        shown(own?.value, 3),
        shown(value, 3),
        first ? shown(measured(trial, "latency_ms")?.value, 2) : "",
        first ? shown(latency_ms, 2) : "",
      ];
    });
  });
  const head = ["trial", "recipe", "task", "pare", "bare", "ms/token pare", "ms/token bare"];
  return textTable(head, rows);
}

/** What lies outside the library calls, and what the library calls are: the largest parts. */
export function partsText(account: Account, most = 12): string {
  const line = ({ name, seconds }: Part) =>
    `  ${name.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s  ` +
    `${(100 * seconds / account.total).toFixed(1).padStart(5)} %`;
  const list = (parts: readonly Part[]) => {
    const kept = parts.slice(0, most);
    const rest = parts.slice(most).map(({ seconds }) => ({ name: "other", seconds }));
    return [...kept, ...totals(rest)].map(line).join("\n");
  };
  return `Outside library calls, by span (share of the study):\n${list(account.parts)}\n\n` +
    `Library calls, by span:\n${list(account.libraries)}`;
}
