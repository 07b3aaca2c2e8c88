import { cacheBytesAt } from "../strategies/caches/cache_at.ts";
import { UsageError } from "../errors.ts";
import { contextWords } from "../metrics/metric_words.ts";
import type { Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { MethodVerdict } from "../schemas/spec.ts";
import { setsCache } from "../strategies/caches/cache_policies.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";

const GIGABYTE = 1e9;

/** Gigabytes as people write them. */
const gb = (bytes: number) => `${Number((bytes / GIGABYTE).toPrecision(3))} GB`;

/** Why a limit cannot be met, where the whole cache is above it and nothing keeps less. */
function unmet(max_kv_gb: number, tokens: number, full: number, why: string): UsageError {
  return new UsageError(
    `Cannot keep the KV cache within ${max_kv_gb} GB at ${contextWords(tokens)}: it takes ` +
      `${gb(full)}, and no method that keeps less can be used (${why})`,
  );
}

/** Refuses a length that the model does not read; `reads`: tokens that it does, undefined: not known. */
export function checkContextRead(
  { context_tokens, model_name }: Pick<RunRequest, "context_tokens" | "model_name">,
  reads: number | undefined,
): void {
  if (context_tokens === undefined || reads === undefined || context_tokens <= reads) return;
  throw new UsageError(
    `Cannot count memory at a context of ${contextWords(context_tokens)}: ${model_name} ` +
      `reads ${contextWords(reads)} at most`,
  );
}

/**
 * Refuses a limit on the cache that says no length, a length that the model does not read, and a limit that
 * none of the methods asked for is about: before anything is timed.
 *
 * @throws UsageError what was asked for, and what to ask for instead
 */
export function checkContext(
  { context_tokens, constraints: { max_kv_gb }, methods: only, strategies }: RunRequest,
  { model }: Facts,
  methods: readonly AgentMethod[],
): void {
  if (context_tokens === undefined) {
    if (max_kv_gb === undefined) return;
    throw new UsageError(
      `Cannot limit the KV cache to ${max_kv_gb} GB as no length is said at which it is counted: ` +
        "add --context, such as --context 8k",
    );
  }
  checkContextRead({ context_tokens, model_name: model.model_name }, model.context_length);
  const full = cacheBytesAt(model, context_tokens);
  if (full === null) {
    throw new UsageError(
      `Cannot count memory at a context of ${contextWords(context_tokens)} as nothing says what ` +
        `${model.model_name} keeps of a text: leave --context out`,
    );
  }
  if (max_kv_gb === undefined || only === undefined || strategies.length > 0) return;
  const asked = methods.some((one) => setsCache(one) && only.includes(one.method.name));
  if (!asked && full > max_kv_gb * GIGABYTE) {
    throw unmet(max_kv_gb, context_tokens, full, `asked for: ${only.join(", ")}`);
  }
}

/** What to know of a limit on the cache; throws `UsageError` where nothing here could meet it. */
export function cacheLimitWarnings(
  { context_tokens, constraints: { max_kv_gb }, strategies }: RunRequest,
  { model }: Facts,
  verdicts: readonly MethodVerdict[],
  methods: readonly AgentMethod[],
): string[] {
  if (context_tokens === undefined || max_kv_gb === undefined) return [];
  const full = cacheBytesAt(model, context_tokens) ?? 0;
  const at = contextWords(context_tokens);
  if (full <= max_kv_gb * GIGABYTE) {
    return [
      `The original's own keys and values take ${
        gb(full)
      } at ${at}: the limit of ${max_kv_gb} GB ` +
      "has no effect",
    ];
  }
  const able = methods.filter(setsCache).map(({ method }) => method.name);
  const own = verdicts.filter(({ method }) => able.includes(method));
  // Of strategies that the user gave each is refused by itself.
  if (strategies.length > 0 || own.some(({ supported }) => supported)) return [];
  const reasons = own.map(({ method, reason }) => `${method}: ${reason}`);
  throw unmet(max_kv_gb, context_tokens, full, reasons[0] ?? "none is known");
}
