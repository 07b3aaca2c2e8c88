import type { Agent } from "../contract/plugin.ts";
import { unknownMethod } from "../contract/unknown_method.ts";
import type { Facts } from "../schemas/facts.ts";
import type { MethodVerdict } from "../schemas/spec.ts";
import { checkMethod } from "./compatibility.ts";
import type { AgentMethod } from "./resolve_action.ts";

/** Models above this many gigabytes at 16 bits count as large. */
const LARGE_MODEL_GB = 10;

/** Method names to try first, best first, as their agents declare them for a model of this size. */
export function preferenceOrder(agents: readonly Agent[], model_size_gb: number): string[] {
  const size = model_size_gb > LARGE_MODEL_GB ? "large" : "small";
  return [...new Set(agents.flatMap((agent) => agent.preferred?.[size] ?? []))];
}

function verdictOf(
  { agent, method, held }: AgentMethod,
  facts: Facts,
  order: readonly string[],
  only: readonly string[] | undefined,
): MethodVerdict {
  const name = method.name;
  if (only !== undefined && !only.includes(name)) {
    const reason = `not among the methods asked for: ${only.join(", ")}`;
    return { agent, method: name, supported: false, reason };
  }
  const support = checkMethod(method, facts);
  if (!support.ok) return { agent, method: name, supported: false, reason: support.reason };
  const holding = held?.(facts);
  if (holding?.ok === false) {
    return { agent, method: name, supported: false, reason: holding.reason };
  }
  const rank = order.indexOf(name);
  const size = `${(facts.model.fp16_bytes / 1e9).toFixed(2)} GB`;
  const reason = rank < 0
    ? support.reason ?? "can run on this model and machine"
    : `number ${rank + 1} of the order for a model of ${size}` +
      (support.reason === undefined ? "" : `; ${support.reason}`);
  return { agent, method: name, supported: true, reason };
}

/** Every method with whether it can be used here and why; preferred ones first. */
export function methodVerdicts(
  methods: readonly AgentMethod[],
  facts: Facts,
  order: readonly string[],
  only: readonly string[] | undefined,
): MethodVerdict[] {
  const known = methods.map(({ method }) => method.name);
  for (const name of only ?? []) {
    if (known.includes(name)) continue;
    throw unknownMethod("method", name, methods.map(({ method }) => method));
  }
  const rank = (name: string): number => {
    const at = order.indexOf(name);
    return at < 0 ? order.length : at;
  };
  return methods.map((entry) => verdictOf(entry, facts, order, only))
    .sort((a, b) => Number(b.supported) - Number(a.supported) || rank(a.method) - rank(b.method));
}
