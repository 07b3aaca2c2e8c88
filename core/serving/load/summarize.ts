import type { LoadPercentiles, LoadRequest, LoadSummary } from "./schema.ts";

/** What an answer may take at most; null: no limit. */
export interface LoadLimits {
  readonly first_token_ms: number | null;
  readonly between_tokens_ms: number | null;
}

/** The value below which a share of the sorted ones lies, between two of them in proportion. */
function quantile(sorted: readonly number[], share: number): number | null {
  if (sorted.length === 0) return null;
  const at = share * (sorted.length - 1);
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - Math.floor(at));
}

function percentiles(values: readonly (number | null)[]): LoadPercentiles {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const of = (share: number) => quantile(sorted, share);
  const sum = sorted.reduce((total, value) => total + value, 0);
  const mean = sorted.length === 0 ? null : sum / sorted.length;
  return { mean, p50: of(0.5), p90: of(0.9), p95: of(0.95), p99: of(0.99) };
}

/** Whether an answer kept to the limits. One without a token had no first one; one of one token, no gap. */
function keeps(
  { first_token_ms, between_tokens_ms }: LoadRequest,
  limits: LoadLimits,
): boolean {
  return (limits.first_token_ms === null ||
    (first_token_ms ?? Infinity) <= limits.first_token_ms) &&
    (limits.between_tokens_ms === null || (between_tokens_ms ?? 0) <= limits.between_tokens_ms);
}

/** A step's figures over its measured requests: what failed counts as sent and is no answer. */
export function summarize(all: readonly LoadRequest[], limits: LoadLimits): LoadSummary {
  const measured = all.filter(({ phase }) => phase === "measured");
  const good = measured.filter(({ error }) => error === null);
  const begin = Math.min(...measured.map(({ sent_seconds }) => sent_seconds));
  const end = Math.max(
    ...measured.map(({ sent_seconds, latency_ms }) => sent_seconds + (latency_ms ?? 0) / 1000),
  );
  const seconds = measured.length === 0 ? 0 : Math.max(end - begin, 1e-9);
  const perSecond = (count: number) => seconds === 0 ? 0 : count / seconds;
  const kept = good.filter((one) => keeps(one, limits));
  const limited = limits.first_token_ms !== null || limits.between_tokens_ms !== null;
  return {
    requests: measured.length,
    failed: measured.length - good.length,
    seconds,
    requests_per_second: perSecond(good.length),
    output_tokens_per_second: perSecond(
      good.reduce((sum, { output_tokens }) => sum + (output_tokens ?? 0), 0),
    ),
    first_token: percentiles(good.map(({ first_token_ms }) => first_token_ms)),
    between_tokens: percentiles(good.map(({ between_tokens_ms }) => between_tokens_ms)),
    latency: percentiles(good.map(({ latency_ms }) => latency_ms)),
    goodput: limited ? perSecond(kept.length) : null,
    late_p95_ms: percentiles(measured.map(({ late_ms }) => late_ms)).p95 ?? 0,
  };
}
