import type { Part, Support } from "../contract/change.ts";
import type { Method } from "../contract/plugin.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import { cacheBytesAt, keptAt } from "./caches/cache_at.ts";
import type { Facts } from "../schemas/facts.ts";
import { checkOrder } from "./action_order.ts";
import { chainOf, leavesSetting, type Link } from "./chain.ts";
import type { AgentMethod } from "./resolve_action.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { readRatio } from "./read_bytes.ts";
import { totalBytes } from "./weight_bytes.ts";

/** What a strategy has to fit into, apart from what is free here. Gigabytes of 1e9 bytes. */
export interface StrategyLimits {
  /** Memory of the machine that the result is for; null or left out: no limit. */
  readonly max_vram_gb?: number | null;
  /** Of keys and values at the context; absent: no limit. */
  readonly max_kv_gb?: number | undefined;
  /** Tokens at which keys and values are counted; absent: weights alone are. */
  readonly context_tokens?: number | undefined;
  /** Milliseconds per token; absent: no limit, or nothing is timed yet. */
  readonly latency?: {
    readonly max_ms: number;
    /** What reading the untouched model's weights takes, as it was measured. */
    readonly baseline_roofline_ms: number;
  };
}

/** Memory bandwidth differs from minute to minute: only what exceeds a limit by more is refused for it. */
const ROOM = 1.25;

/** What reading the untouched model's weights takes a token, as the study's baseline was timed; null: it was not. */
export function baselineRoofline(
  { runtime }: Pick<Spec, "runtime">,
  trials: readonly Pick<Trial, "strategy" | "measurements">[],
): number | null {
  const rows = trials.find(({ strategy }) => strategy === null)?.measurements ?? [];
  const row = rows.findLast((one) => one.metric === "roofline_ms" && one.runtime === runtime);
  return row?.value ?? null;
}

/** What a study's strategies have to fit into before anything is timed. */
export function sizeLimits(
  { constraints: { max_vram_gb, max_kv_gb }, context_tokens }: Pick<
    Spec,
    "constraints" | "context_tokens"
  >,
): StrategyLimits {
  return { max_vram_gb, max_kv_gb, context_tokens };
}

/** What a study's strategies have to fit into, by its constraints and what its baseline was timed with. */
export function limitsOf(
  spec: Pick<Spec, "constraints" | "runtime" | "context_tokens">,
  trials: readonly Pick<Trial, "strategy" | "measurements">[],
): StrategyLimits {
  const { max_latency_ms } = spec.constraints;
  const limits = sizeLimits(spec);
  const baseline_roofline_ms = baselineRoofline(spec, trials);
  if (max_latency_ms === null || baseline_roofline_ms === null) return limits;
  return { ...limits, latency: { max_ms: max_latency_ms, baseline_roofline_ms } };
}

const GB = 1e9;

function gigabytes(bytes: number): string {
  return `${(bytes / GB).toFixed(bytes < 10 * GB ? 2 : 0)} GB`;
}

/** Free memory where the work is done: the GPU's, or the machine's where there is none. */
export function freeMemoryGb({ device }: Facts): number | null {
  return device.device === "cuda" ? device.free_vram_gb ?? device.vram_gb : device.free_memory_gb;
}

/** Whether the method can run here at all, whatever its parameters. */
export function checkMethod(method: Method, facts: Facts): Support {
  if (method.needs.gpu && facts.device.device === "cpu") {
    const found = facts.device.device_name;
    return { ok: false, reason: `${method.name} needs a GPU: there is none here (${found})` };
  }
  const { tool } = method.needs;
  if (tool !== undefined && facts.tools?.includes(tool) !== true) {
    const reason = `${method.name} runs a program of the environment ${tool}, which is not made ` +
      `here: npx -y deno task pare setup ${tool}`;
    return { ok: false, reason };
  }
  return method.supports(facts);
}

function checkAction({ action, entry: { method }, met: facts }: Link): Support {
  const method_verdict = checkMethod(method, facts);
  if (!method_verdict.ok) return method_verdict;
  const accepted = method.accepts(action.params, facts);
  if (!accepted.ok) return accepted;
  const needed = method.estimateMemory(action.params, facts);
  const free = freeMemoryGb(facts);
  if (free !== null && needed > free * GB) {
    const where = facts.device.device === "cuda" ? "GPU memory" : "memory";
    return {
      ok: false,
      reason: `${method.name} needs about ${gigabytes(needed)} of ${where} for this model: ` +
        `${gigabytes(free * GB)} are free`,
    };
  }
  return { ok: true };
}

/**
 * Whether a recipe can run, decided before any work: each method on this machine and on the model that
 * the actions before it leave, its parameters, its memory, what it follows on each part, and a result that fits the memory it is for.
 */
export function checkStrategy(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  limits: StrategyLimits = {},
): Support {
  if (actions.length === 0) return { ok: false, reason: "a strategy needs at least one action" };
  const chain = chainOf(actions, methods, facts);
  const changed = new Map<Part, Method[]>();
  let setting: string | null = null;
  for (const link of chain) {
    const { entry: { method }, leaves } = link;
    const verdict = checkAction(link);
    if (!verdict.ok) return verdict;
    // A part that one action leaves in several forms is changed once.
    for (const part of new Set(leaves.changes.map(({ part }) => part))) {
      const before = changed.get(part) ?? [];
      for (const earlier of before) {
        const order = checkOrder(method, earlier, part);
        if (!order.ok) return order;
      }
      changed.set(part, [...before, method]);
    }
    if (setting !== null) {
      const reason =
        `${method.name} cannot follow ${setting}, which leaves a setting and no weights: ` +
        "a setting is the last of a strategy";
      return { ok: false, reason };
    }
    if (leavesSetting(leaves)) setting = method.name;
  }
  const size = checkSize(chain, limits);
  return size.ok ? checkLatency(actions, methods, facts, limits) : size;
}

function checkLatency(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  { latency }: StrategyLimits,
): Support {
  const ratio = latency === undefined ? null : readRatio(actions, methods, facts);
  if (latency === undefined || ratio === null) return { ok: true };
  const least = ratio * latency.baseline_roofline_ms;
  if (least <= ROOM * latency.max_ms) return { ok: true };
  const reason = `reading its weights alone would take about ${least.toFixed(2)} ms per token: ` +
    `the latency limit is ${latency.max_ms} ms`;
  return { ok: false, reason };
}

function checkSize(
  chain: readonly Link[],
  { max_vram_gb, max_kv_gb, context_tokens }: StrategyLimits,
): Support {
  const { model } = chain.at(-1)!.leaves;
  const at = context_tokens;
  const kept = at === undefined ? null : keptAt(chain, at);
  if (at !== undefined && kept !== null && kept.tokens >= at && kept.coded === undefined) {
    const reason = `its cache would keep all of the ${at} tokens of the context`;
    return { ok: false, reason };
  }
  const cache = at === undefined ? 0 : cacheBytesAt(model, at, kept) ?? 0;
  if (max_kv_gb !== undefined && cache > max_kv_gb * GB) {
    const reason = `its keys and values would take ${exactGigabytes(cache)} at ${at} tokens: the ` +
      `limit on the KV cache is ${max_kv_gb} GB`;
    return { ok: false, reason };
  }
  if (max_vram_gb === undefined || max_vram_gb === null) return { ok: true };
  const bytes = totalBytes(model) + cache;
  if (bytes <= max_vram_gb * GB) return { ok: true };
  const what = at === undefined ? "the weights alone" : `weights and the cache of ${at} tokens`;
  const reason = `${what} would take ${gigabytes(bytes)}: the memory limit is ${max_vram_gb} GB`;
  return { ok: false, reason };
}

/** Caches of small models are thousandths of a gigabyte. */
const exactGigabytes = (bytes: number) => `${Number((bytes / GB).toPrecision(3))} GB`;
