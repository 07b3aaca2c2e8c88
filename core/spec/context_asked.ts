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

/**
 * Refuses a limit on the cache that says no length, and a length that the model does not read.
 *
 * @throws UsageError what was asked for, and what to ask for instead
 */
export function checkContext(
  { context_tokens, constraints: { max_kv_gb } }: RunRequest,
  { model }: Facts,
): void {
  if (context_tokens === undefined) {
    if (max_kv_gb === undefined) return;
    throw new UsageError(
      `Cannot limit the KV cache to ${max_kv_gb} GB as no length is said at which it is counted: ` +
        "add --context, such as --context 8k",
    );
  }
  if (context_tokens > model.context_length) {
    throw new UsageError(
      `Cannot count memory at a context of ${contextWords(context_tokens)}: ${model.model_name} ` +
        `reads ${contextWords(model.context_length)} at most`,
    );
  }
  if (cacheBytesAt(model, context_tokens) === null) {
    throw new UsageError(
      `Cannot count memory at a context of ${contextWords(context_tokens)} as nothing says what ` +
        `${model.model_name} keeps of a text: leave --context out`,
    );
  }
}

/** What to know of a limit on the cache; throws `UsageError` where nothing here could meet it. */
export function cacheLimitWarnings(
  { context_tokens, constraints: { max_kv_gb } }: RunRequest,
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
  if (own.some(({ supported }) => supported)) return [];
  const reasons = own.map(({ method, reason }) => `${method}: ${reason}`);
  throw new UsageError(
    `Cannot keep the KV cache within ${max_kv_gb} GB at ${at}: it takes ${
      gb(full)
    }, and no method ` +
      `that keeps less can be used (${reasons[0] ?? "none is asked for"})`,
  );
}
