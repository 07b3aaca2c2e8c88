import {
  type CacheCost,
  costShare,
  type KnobValue,
  type ScoredCache,
  type TimedCache,
  timesCompared,
  UsageError,
} from "../../../core/mod.ts";
import { crossingText, payingTexts } from "../../show/caches/cache_words.ts";
import { contextTokens, parseWhole } from "../../ground/terminal/parse_values.ts";
import { openLab } from "../../session/lab.ts";
import { checkedCaches, type MeasuredCaches } from "../../session/study_caches.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { textTable } from "../../show/terminal/table.ts";
import { bytes, number, withError } from "../../show/view/number_text.ts";
import { knobGrid, listedWords } from "../input/knob_list.ts";
import { sessionOf } from "../study/sensitivity.ts";

/** What `pare caches` may be told. */
export interface CachesCommandOptions {
  store?: string;
  runtime?: string;
  context?: string;
  setting?: string[];
  newTokens?: string;
  passes?: string;
  dataset?: string;
  scores?: boolean;
  samples?: string;
  json?: boolean;
}

/** An interval whose ends are so many times apart is no figure: two pairs on a busy machine give such. */
const TELLS_NOTHING = 100;

/** A trial, such as STUDY/t03 or t03 of the latest study. */
const TRIAL = /^(?:(.+)\/)?(t\d+)$/;

/** `1k` and `2048` as tokens. */
export function parseContexts(list: string): number[] {
  return listedWords(list).map((word) => {
    const tokens = contextTokens(word);
    if (tokens !== null) return tokens;
    throw new UsageError(
      `Cannot take --context as lengths of a prompt: it is such as 1k,2k,4096, not "${list}"`,
    );
  });
}

/** A figure of a setting, the full cache's of the same minutes, and their ratio with its interval. */
function beside(row: TimedCache, cost: Exclude<CacheCost, "bytes">): string {
  const { value, low, high } = costShare(row, cost);
  const interval = !Number.isFinite(high)
    ? ""
    : high > TELLS_NOTHING * low
    ? ` (${row.passes} pairs do not tell)`
    : ` (${number(low, 2)} to ${number(high, 2)})`;
  const both = `${number(row[`${cost}_ms`])} : ${number(row[`full_${cost}_ms`])}`;
  return `${both} = ${number(value, 2)}×${interval}`;
}

/** The full cache at one length: its milliseconds stand beside each setting's, of the same minutes. */
function fullRow(name: string, { context_tokens, full_kept_bytes }: TimedCache): string[] {
  const all = bytes(full_kept_bytes);
  return [`${context_tokens}`, name, "", "", all, all];
}

/** What each setting scored, and what it is less than the full cache on the same samples. */
function scoresText(scores: readonly ScoredCache[]): string[] {
  if (scores.length === 0) return [];
  const rows = scores.map((row) => [
    row.task,
    row.setting,
    row.metric,
    withError(row),
    row.difference === null
      ? "–"
      : withError({ ...row, value: row.difference, standard_error: row.difference_standard_error }),
    `${row.n}`,
  ]);
  const head = ["benchmark", "setting", "metric", "score", "less the full cache", "samples"];
  const silent = scores.filter(({ difference, value }) => difference === null && value === 0)
    .map(({ task }) => `${task} tells no setting apart: the full cache itself scores 0`);
  return ["", textTable(head, rows), ...silent];
}

/** Settings by length of the prompt, what could not be measured, and the crossing points. */
export function cachesText(measured: MeasuredCaches): string {
  const { caches, full, refused, runtime_version, threads, load_average } = measured;
  const lengths = [...Map.groupBy(caches, ({ context_tokens }) => context_tokens)]
    .sort(([a], [b]) => a - b);
  const table = textTable(
    ["prompt", "setting", "prefill ms", "decode ms/token", "cache", "at most"],
    lengths.flatMap(([, rows]) => [
      fullRow(full, rows[0]!),
      ...rows.map((row) => [
        `${row.context_tokens}`,
        row.setting,
        beside(row, "prefill"),
        beside(row, "decode"),
        bytes(row.kept_bytes),
        bytes(row.prompt_bytes),
      ]),
    ]),
  );
  const crossings = [...new Set(caches.map(({ setting }) => setting))]
    .map((name) => crossingText(name, full, caches));
  return [
    ...(caches.length === 0 ? [] : [table, ""]),
    ...crossings,
    ...refused.map(({ setting, reason }) => `${setting} was not measured: ${reason}`),
    ...scoresText(measured.scores ?? []),
    "",
    ...payingTexts({ ...measured, version: runtime_version }),
    ...(measured.unscored === undefined ? [] : [measured.unscored]),
    "",
    `${runtime_version}, ${threads} threads, load ${
      number(load_average, 2)
    }; ms are the setting's : those of ${full} in turn, ` +
    "their ratio with its 95 % interval",
    `faster: where the interval that holds for all ${timesCompared(caches)} comparisons with ` +
    "95 % lies below 1, at that length and at every longer one",
    `cache: after the last token; at most: once the prompt is read (${measured.bytes_method})`,
  ].join("\n");
}

/** `pare caches`: what a runtime's settings of the cache cost, by the length of the prompt. */
export async function cachesCommand(
  name: string | undefined,
  options: CachesCommandOptions,
): Promise<void> {
  const whole = (text: string | undefined, flag: string, least: number) =>
    text === undefined ? undefined : parseWhole(text, flag, least);
  const asked = {
    runtime: options.runtime,
    contexts: options.context === undefined ? undefined : parseContexts(options.context),
    settings: options.setting?.flatMap<string | Record<string, KnobValue>>((one) =>
      one.includes("=") ? knobGrid(one, "--setting") : [one]
    ),
    new_tokens: whole(options.newTokens, "--new-tokens", 1),
    passes: whole(options.passes, "--passes", 1),
    scores: options.scores === true || options.dataset !== undefined,
    samples: whole(options.samples, "--samples", 1),
  };
  const given = Object.fromEntries(
    Object.entries(asked).filter(([, value]) => value !== undefined),
  );
  const [, study, trial] = TRIAL.exec(name ?? "") ?? [];
  const screen = createLiveView(standardScreen(), () => Date.now());
  await using lab = await openLab({
    chooseRuntimes: "no",
    onSetup: (line) => screen.progressLine(line),
    onEvent: screen.onEvent,
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  // What is wrong with a setting is said before a model is looked at.
  const { runtime } = checkedCaches(lab.registry.runtimes, given);
  const session = await sessionOf(lab, trial === undefined ? name : study, {
    runtime: runtime.name,
    ...(options.dataset === undefined ? {} : { dataset: options.dataset }),
  });
  const measured = await session.caches({
    ...given,
    ...(trial === undefined ? {} : { trial }),
    onEvent: screen.onEvent,
  });
  screen.finish();
  if (options.json === true) {
    const { caches, refused, scores, ...rest } = measured;
    const rows = { caches: [...caches], refused: [...refused] };
    const scored = scores === undefined ? {} : { scores: [...scores] };
    console.log(jsonText("caches", { ...rest, ...rows, ...scored }));
    return;
  }
  console.log(cachesText(measured));
  console.log(
    `\nSELECT * FROM cache_timings WHERE study_id = '${session.study_id}' has every figure`,
  );
}
