import {
  type CacheCost,
  cacheCrossing,
  contextWords,
  type JournalRecord,
  type TimedCache,
  timesCompared,
} from "../../../core/mod.ts";
import { bytes } from "../view/number_text.ts";
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

/** The settings of a runtime's cache as they were last measured on an artifact; undefined: never. */
function timedOn(view: StudyView, artifact_id: string | undefined): TimedCaches | undefined {
  return view.caches_timed.findLast((one) => one.artifact_id === artifact_id);
}

/**
 * What the recommended trial's keys and values take at the study's context, else the original's, and from
 * which length on its policy saves bytes: by arithmetic. Of time it says what was measured of its weights in a
 * runtime whose cache is set; a policy of torch's is emulated and never timed. Empty: no context was asked for.
 */
export function contextSentences(view: StudyView): string[] {
  const { context_tokens } = view.spec;
  if (context_tokens === undefined) return [];
  const original = view.trials.find(({ strategy }) => strategy === null);
  const trial = view.trials.find(({ trial_id }) => trial_id === view.recommended) ?? original;
  const of = (metric: string, one = trial) =>
    one?.measurements.findLast((row) => row.metric === metric)?.value ?? null;
  const [kv, memory] = [of("kv_bytes_at_context"), of("memory_bytes_at_context")];
  if (trial === undefined || kv === null || memory === null) return [];
  const at = contextWords(context_tokens);
  const beside = (metric: string) =>
    trial === original ? "" : ` against ${bytes(of(metric, original))} of the original`;
  const counted =
    `At ${at} keys and values take ${bytes(kv)}${beside("kv_bytes_at_context")}; with ` +
    `the weights that is ${bytes(memory)}${beside("memory_bytes_at_context")}, by arithmetic.`;
  const crossing = of("kv_crossing_tokens");
  return [counted, ...(crossing === null ? [] : [paysFrom(crossing, context_tokens)]), ...timed()];

  function timed(): string[] {
    const artifact = trial === original
      ? [...view.artifacts.values()].find(({ action }) => action === null)
      : checkpointOf(view, trial!.trial_id);
    const weights = artifact?.weights_id ?? artifact?.artifact_id;
    const found = timedOn(view, weights);
    if (found === undefined) {
      if (crossing === null) return [];
      return [
        "Whether it saves time is not known: torch emulates what is kept. `pare caches` measures a " +
        "runtime's own settings of its cache.",
      ];
    }
    const [full] = found.settings;
    const settings = [...new Set(found.caches.map(({ setting }) => setting))];
    return [
      `Measured of these weights in ${found.version} with its own settings of the cache: ${
        settings.map((name) => crossingText(name, full?.name ?? "", found.caches)).join(". ")
      }.`,
    ];
  }
}

function paysFrom(crossing: number, context_tokens: number): string {
  const pays = crossing <= context_tokens ? "" : `, which ${contextWords(context_tokens)} are not`;
  return `Its cache setting takes fewer bytes than the full cache from ${
    contextWords(crossing)
  } on${pays}.`;
}
