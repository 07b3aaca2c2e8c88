import { type Measurement, type Trial, trialName } from "../../../core/mod.ts";
import { bytes, number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, list, table } from "./blocks.ts";

const head = (cached: boolean): string[] => [
  "trial",
  "decode ms/token (quartiles)",
  "roofline",
  "× roofline",
  "decode tokens/s",
  "prefill tokens/s (quartiles)",
  "host memory",
  "GPU memory",
  ...(cached ? ["KV cache"] : []),
  "J/1k tokens ± SE",
  "g CO2/1k tokens",
];

function rowOf({ measurements }: Trial, metric: string): Measurement | undefined {
  return measurements.findLast((one) => one.metric === metric && one.slice === null);
}

/** A median with its quartiles, which older trials have not, marked where it was only emulated. */
function withQuartiles(row: Measurement | undefined): string {
  if (row === undefined) return "–";
  const { value, spread, provenance } = row;
  const around = spread === undefined
    ? ""
    : ` (${number(spread.lower_quartile)} to ${number(spread.upper_quartile)})`;
  return `${number(value)}${around}${provenance === "emulated" ? ", emulated" : ""}`;
}

function withError(row: Measurement | undefined): string {
  if (row === undefined) return "–";
  const error = row.standard_error === null ? "" : ` ± ${number(row.standard_error, 2)}`;
  return `${number(row.value)}${error}`;
}

function speedRow(trial: Trial, cached: boolean): string[] {
  const latency = rowOf(trial, "latency_ms");
  const roofline = rowOf(trial, "roofline_ms");
  const times = latency === undefined || roofline === undefined
    ? null
    : latency.value / roofline.value;
  return [
    trialName(trial.number),
    withQuartiles(latency),
    number(roofline?.value),
    number(times),
    number(rowOf(trial, "decode_tokens_per_s")?.value),
    withQuartiles(rowOf(trial, "prefill_tokens_per_s")),
    bytes(rowOf(trial, "memory_bytes")?.value ?? null),
    bytes(rowOf(trial, "gpu_memory_bytes")?.value ?? null),
    ...(cached ? [bytes(rowOf(trial, "kv_bytes")?.value ?? null)] : []),
    withError(rowOf(trial, "energy_j_per_1k_tokens")),
    number(rowOf(trial, "co2_g_per_1k_tokens")?.value),
  ];
}

/** Why trials are no faster though less of them is left, a sentence each with the trials it is of. */
function noFaster({ artifacts }: StudyView, timed: readonly Trial[]): Block[] {
  const said = new Map<string, Set<string>>();
  for (const { artifact_ids, number } of timed) {
    for (const { no_faster } of artifact_ids.flatMap((id) => artifacts.get(id)?.changes ?? [])) {
      if (no_faster === undefined) continue;
      said.set(no_faster, (said.get(no_faster) ?? new Set()).add(trialName(number)));
    }
  }
  return list([...said].map(([sentence, trials]) => `${[...trials].join(", ")}: ${sentence}.`));
}

/** How each trial ran: prefill and decode apart, beside what memory's bandwidth allows. */
export function speedBlocks(view: StudyView): Block[] {
  const timed = view.trials.filter((trial) => rowOf(trial, "latency_ms") !== undefined);
  const last = timed.at(-1);
  if (last === undefined) return [];
  const said = (metric: string) => rowOf(last, metric)?.method ?? "not measured";
  const cache = timed.flatMap((trial) => rowOf(trial, "kv_bytes") ?? []).at(-1);
  const cached = cache !== undefined;
  return [
    heading(2, "Speed, memory and energy"),
    table(
      head(cached),
      timed.map((trial) => speedRow(trial, cached)),
      `Latency: ${said("latency_ms")}. Roofline: the time that reading the weights of a token ` +
        `takes, ${said("roofline_ms")}. Host memory: ${said("memory_bytes")}. Energy: ` +
        `${said("energy_j_per_1k_tokens")}. CO2: ${said("co2_g_per_1k_tokens")}.` +
        (cached ? ` KV cache: ${cache.method}.` : ""),
    ),
    ...noFaster(view, timed),
  ];
}
