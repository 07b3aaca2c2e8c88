import type { JournalRecord, Measurement } from "../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "./change.ts";

type RecordOf<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

const TABLE = "runtime_timings";

/** What is known of a trial's timing and not of the original's. */
const OF_TRIALS = {
  latency_ratio: null,
  latency_ratio_standard_error: null,
  baseline_precision: null,
  baseline_latency_ms: null,
  roofline_ms: null,
  decode_tokens_per_s: null,
  prefill_tokens_per_s: null,
  memory_bytes: null,
  runtime_kl: null,
  runtime_accuracy_change: null,
} as const;

function settings(numerics: Measurement["numerics"]): Row {
  return {
    inference_precision: numerics?.inference_precision ?? null,
    kv_precision: numerics?.kv_precision ?? null,
    activation_group: numerics?.activation_group ?? null,
    threads: numerics?.threads ?? null,
  };
}

/** The original in every runtime at hand, as a study began. */
export function originalRows(
  { study_id, facts: { runtimes = [] } }: RecordOf<"study_opened">,
  position: number,
): Change[] {
  return adds(
    TABLE,
    runtimes.map(({ runtime, precision, numerics, latency_ms, standard_error, ...one }) => ({
      ...{ study_id, trial_id: null, position, happened_at: moment(one.at), runtime },
      ...settings(numerics),
      inference_precision: numerics?.inference_precision ?? precision,
      ...{ latency_ms, standard_error, n: one.passes, bytes_read: one.bytes_read },
      ...OF_TRIALS,
      busy_cores: one.busy_cores ?? null,
      reason: one.reason,
    })),
  );
}

/** A trial in another runtime than its study's: the last timing stands. */
export function timedInRuntimeRows(
  { study_id, trial_id, runtime, at, measurements, reason }: RecordOf<"timed_in_runtime">,
  position: number,
): Change[] {
  // Of tasks the figure over all of them; what is timed is of none.
  const of = (metric: string) =>
    measurements.findLast((row) => row.metric === metric && row.task === null);
  const value = (metric: keyof typeof OF_TRIALS) => of(metric)?.value ?? null;
  const latency = of("latency_ms");
  const beside = of("baseline_latency_ms");
  return [
    { op: "forget", tables: [TABLE], where: { study_id, trial_id, runtime } },
    ...adds(TABLE, [{
      ...{ study_id, trial_id, position, happened_at: moment(at), runtime },
      ...settings(latency?.numerics ?? null),
      latency_ms: latency?.value ?? null,
      standard_error: latency?.standard_error ?? null,
      n: latency?.n ?? null,
      latency_ratio: value("latency_ratio"),
      latency_ratio_standard_error: of("latency_ratio")?.standard_error ?? null,
      baseline_precision: beside?.numerics?.inference_precision ?? null,
      baseline_latency_ms: beside?.value ?? null,
      roofline_ms: value("roofline_ms"),
      decode_tokens_per_s: value("decode_tokens_per_s"),
      prefill_tokens_per_s: value("prefill_tokens_per_s"),
      bytes_read: null,
      memory_bytes: value("memory_bytes"),
      busy_cores: latency?.busy_cores ?? null,
      runtime_kl: value("runtime_kl"),
      runtime_accuracy_change: value("runtime_accuracy_change"),
      reason,
    }]),
  ];
}

/** Settings of a runtime's cache: a row a setting and length of the prompt, or one with why there is none. */
export function cacheRows(record: RecordOf<"caches_timed">, position: number): Change[] {
  const { study_id, artifact_id, runtime, version, threads, load_average, seed } = record;
  const own = { study_id, artifact_id, position, timed_at: moment(record.at), runtime };
  const how = { runtime_version: version, threads, load_average, seed };
  const paramsOf = (setting: string) => {
    const params = record.settings.find(({ name }) => name === setting)?.params ?? {};
    return Object.entries(params).map(([knob, value]) => `${knob}=${value}`).join(",");
  };
  const measured = record.caches.map((row) => ({
    ...own,
    ...how,
    ...row,
    params: paramsOf(row.setting),
    kv_precision: record.numerics[row.setting]?.kv_precision ?? null,
    bytes_method: record.bytes_method,
  }));
  const refused = record.refused.map((row) => ({
    ...own,
    ...how,
    ...row,
    params: paramsOf(row.setting),
  }));
  const scores = (record.scores ?? []).map((row) => ({
    ...own,
    ...row,
    params: paramsOf(row.setting),
  }));
  return [...adds("cache_timings", [...measured, ...refused]), ...adds("cache_scores", scores)];
}
