import type { Runtime, Support } from "../contract/plugin.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import type { AgentMethod } from "./resolve_action.ts";

/** Whether a runtime can hold what a method writes with these parameters; no, with the reason. */
export function checkHeld(
  runtime: Runtime,
  { method }: AgentMethod,
  params: ResolvedAction["params"],
  facts: Facts,
): Support {
  for (const change of method.leaves(params, facts).changes) {
    const held = runtime.holds(change, facts);
    if (held.ok) continue;
    const reason = `its speed cannot be measured in ${runtime.name}: ${held.reason}`;
    return { ok: false, reason };
  }
  return { ok: true };
}

/**
 * The methods as a study sees them: parameters whose result its runtime cannot hold are refused
 * before any work, like those that the method itself does not take.
 */
export function heldMethods<M extends AgentMethod>(
  methods: readonly M[],
  runtime: Runtime,
): M[] {
  return methods.map((entry) => ({
    ...entry,
    method: {
      ...entry.method,
      accepts(params: ResolvedAction["params"], facts: Facts) {
        const own = entry.method.accepts(params, facts);
        return own.ok ? checkHeld(runtime, entry, params, facts) : own;
      },
    },
  }));
}
