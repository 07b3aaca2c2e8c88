import {
  type CacheCost,
  cacheCrossing,
  contextWords,
  type JournalRecord,
  type MeasuredSettings,
  type PayingSetting,
  payingSettings,
  type TimedCache,
  timesCompared,
} from "../../../core/mod.ts";
import { bytes, withError } from "../view/number_text.ts";
import { checkpointOf, type StudyView } from "../view/study_view.ts";

const COSTS: Readonly<Record<CacheCost, readonly [less: string, not: string]>> = {
  prefill: ["reads a prompt faster", "reads the longest prompt not surely faster"],
  decode: ["decodes faster", "decodes not surely faster after the longest prompt"],
  bytes: ["is smaller", "is no smaller after the longest prompt"],
};

/** From which length of the prompt on a setting costs less than the full cache; rows: of each setting beside. */
export function crossingText(name: string, full: string, rows: readonly TimedCache[]): string {
  const own = rows.filter(({ setting }) => setting === name);
  const said = (["bytes", "decode", "prefill"] as const).map((cost) => {
    const from = cacheCrossing(own, cost, timesCompared(rows));
    const [less, not] = COSTS[cost];
    return from === null ? not : `${less} from ${from} tokens on`;
  });
  return `${name}, beside ${full}: ${said.join("; ")}`;
}

type TimedCaches = Extract<JournalRecord, { type: "caches_timed" }>;

/** The settings of each runtime as they were last measured on an artifact; empty: never. */
function timedOn(view: StudyView, artifact_id: string | undefined): TimedCaches[] {
  const own = view.caches_timed.filter((one) => one.artifact_id === artifact_id);
  return [...new Map(own.map((one) => [one.runtime, one])).values()];
}

/** What a setting scores beside the full cache, and where that is surely less. */
function scoreWords({ scores, loses }: PayingSetting): string {
  if (scores.length === 0) return "not scored";
  const said = scores.map((row) =>
    `${row.task} ${
      withError({
        ...row,
        value: row.difference ?? 0,
        standard_error: row.difference_standard_error,
      })
    }`
  );
  const surely = loses.length === 0 ? "" : `, surely less on ${loses.join(", ")}`;
  return `its score less that of the full cache: ${said.join(", ")}${surely}`;
}

const PAYS: Readonly<Record<CacheCost, string>> = {
  bytes: "a smaller cache",
  decode: "faster decoding",
  prefill: "faster reading",
};

interface ShownSettings extends MeasuredSettings {
  /** Which setting the others are held against. */
  readonly full: string;
  readonly version: string;
  readonly launches?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The settings of a runtime that pay on some weights, a sentence each: from which length of the prompt on, at which loss of quality. */
export function payingTexts(
  { full, launches = {}, version, ...measured }: ShownSettings,
): string[] {
  const beside = `beside ${full}`;
  const pays = payingSettings(measured);
  if (pays.length === 0) return [`In ${version} no other setting surely pays ${beside}.`];
  return pays.map((one) => {
    const costs = (Object.keys(PAYS) as CacheCost[]).flatMap((cost) => {
      const from = one.from[cost];
      return from === undefined ? [] : [`${PAYS[cost]} from ${from} tokens on`];
    });
    const words = launches[one.setting] ?? [];
    const told = words.length === 0 ? "" : ` (\`${words.join(" ")}\`)`;
    return `In ${version} ${one.setting}${told} pays ${beside}: ${costs.join(", ")}; ${
      scoreWords(one)
    }.`;
  });
}

/**
 * What the recommended trial's keys and values take at the study's context, else the original's, and from
 * which length on its policy saves bytes: by arithmetic. Of time it says what was measured of its weights in
 * runtimes whose settings were tried; a policy of torch's is emulated and never timed.
 */
export function contextSentences(view: StudyView): string[] {
  const original = view.trials.find(({ strategy }) => strategy === null);
  const trial = view.trials.find(({ trial_id }) => trial_id === view.recommended) ?? original;
  if (trial === undefined) return [];
  const artifact = trial === original
    ? [...view.artifacts.values()].find(({ action }) => action === null)
    : checkpointOf(view, trial.trial_id);
  const measured = timedOn(view, artifact?.weights_id ?? artifact?.artifact_id)
    .flatMap((one) => payingTexts({ ...one, full: one.settings[0]?.name ?? "the first" }));
  const counted = countedSentences(view, trial, original);
  const unknown = counted.length > 1 && measured.length === 0
    ? [
      "Whether it saves time is not known: torch emulates what is kept. `pare caches` measures a " +
      "runtime's own settings of its cache.",
    ]
    : [];
  return [...counted, ...unknown, ...measured];
}

type ViewedTrial = StudyView["trials"][number];

/** Bytes at the study's context, and from which length on a policy takes fewer; empty: no context was asked for. */
function countedSentences(
  { spec: { context_tokens } }: StudyView,
  trial: ViewedTrial,
  original: ViewedTrial | undefined,
): string[] {
  const of = (metric: string, one: ViewedTrial | undefined = trial) =>
    one?.measurements.findLast((row) => row.metric === metric)?.value ?? null;
  const [kv, memory] = [of("kv_bytes_at_context"), of("memory_bytes_at_context")];
  if (context_tokens === undefined || kv === null || memory === null) return [];
  const at = contextWords(context_tokens);
  const beside = (metric: string) =>
    trial === original ? "" : ` against ${bytes(of(metric, original))} of the original`;
  const counted =
    `At ${at} keys and values take ${bytes(kv)}${beside("kv_bytes_at_context")}; with ` +
    `the weights that is ${bytes(memory)}${beside("memory_bytes_at_context")}, by arithmetic.`;
  const crossing = of("kv_crossing_tokens");
  if (crossing === null) return [counted];
  const uncut = leftOf(trial) !== null && leftOf(trial)! >= (leftOf(original) ?? Infinity);
  return [counted, paysFrom(crossing, context_tokens), ...(uncut ? [UNCUT] : [])];
}

const UNCUT =
  "No context of the study's benchmarks was longer than what it keeps: its score says nothing of " +
  "what that setting loses.";

/** Bytes of the cache that were left of the benchmarks' contexts, in the mean. */
function leftOf(trial: ViewedTrial | undefined): number | null {
  return trial?.measurements.findLast(({ metric, task, slice }) =>
    metric === "context_kv_bytes" && task === null && slice === null
  )?.value ?? null;
}

function paysFrom(crossing: number, context_tokens: number): string {
  const pays = crossing <= context_tokens ? "" : `, which ${contextWords(context_tokens)} are not`;
  return `Its cache setting takes fewer bytes than the full cache from ${
    contextWords(crossing)
  } on${pays}.`;
}
