import type { Method, Part, Support } from "../contract/plugin.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import { checkOrder } from "./action_order.ts";
import { type AgentMethod, findMethod } from "./resolve_action.ts";

/** What a strategy has to fit into, apart from what is free here. Gigabytes of 1e9 bytes. */
export interface StrategyLimits {
  /** Memory of the machine that the result is for; null or left out: no limit. */
  readonly max_vram_gb?: number | null;
}

const GB = 1e9;

function gigabytes(bytes: number): string {
  return `${(bytes / GB).toFixed(bytes < 10 * GB ? 2 : 0)} GB`;
}

/**
 * Bytes of the weights after these actions, as their formulas predict: the bits of the last action
 * that changes a part, 16 bits where none does.
 */
export function predictBytes(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): number {
  const { parameters, embedding_parameters, linear_parameters } = facts.model;
  const bits: Record<Part, number> = { linear: 16, embedding: 16 };
  for (const action of actions) {
    const { method } = findMethod(methods, action.agent, action.method);
    for (const part of method.changes(action.params)) {
      bits[part] = method.bits(action.params, facts);
    }
  }
  const rest = Math.max(0, parameters - embedding_parameters - linear_parameters);
  const total = linear_parameters * bits.linear + embedding_parameters * bits.embedding + rest * 16;
  return total / 8;
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
  return method.supports(facts);
}

function checkAction(action: ResolvedAction, method: Method, facts: Facts): Support {
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
 * Whether a recipe can run, decided before any work: each method on this machine and model, its
 * parameters, its memory, what it follows on each part, and a result that fits the memory it is for.
 */
export function checkStrategy(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  limits: StrategyLimits = {},
): Support {
  if (actions.length === 0) return { ok: false, reason: "a strategy needs at least one action" };
  const changed = new Map<Part, Method[]>();
  for (const action of actions) {
    const { method } = findMethod(methods, action.agent, action.method);
    const verdict = checkAction(action, method, facts);
    if (!verdict.ok) return verdict;
    for (const part of method.changes(action.params)) {
      const before = changed.get(part) ?? [];
      for (const earlier of before) {
        const order = checkOrder(method, earlier, part);
        if (!order.ok) return order;
      }
      changed.set(part, [...before, method]);
    }
  }
  return checkSize(actions, methods, facts, limits);
}

function checkSize(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  { max_vram_gb }: StrategyLimits,
): Support {
  if (max_vram_gb === undefined || max_vram_gb === null) return { ok: true };
  const bytes = predictBytes(actions, methods, facts);
  if (bytes <= max_vram_gb * GB) return { ok: true };
  const reason = `the weights alone would take ${gigabytes(bytes)}: the memory limit is ` +
    `${max_vram_gb} GB`;
  return { ok: false, reason };
}
