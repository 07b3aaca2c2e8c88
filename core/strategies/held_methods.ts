import type { Change, Support } from "../contract/change.ts";
import type { Runtime } from "../contract/runtime.ts";
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

/** The defaults, and for every choice and flag the defaults with another value of it. */
function samplesOf({ method: { knobs } }: AgentMethod): ResolvedAction["params"][] {
  const defaults = Object.fromEntries(
    Object.entries(knobs).map(([name, knob]) => [name, knob.default]),
  );
  const others = Object.entries(knobs).flatMap(([name, knob]) => {
    const values = knob.kind === "flag" ? [true, false] : knob.choices ?? [];
    return values.filter((value) => value !== knob.default)
      .map((value) => ({ ...defaults, [name]: value }));
  });
  return [defaults, ...others];
}

/** Whether a runtime can hold anything of what a method writes; no, with why not its defaults. */
export function checkHeldAtAll(runtime: Runtime, entry: AgentMethod, facts: Facts): Support {
  const held = samplesOf(entry).map((params) => checkHeld(runtime, entry, params, facts));
  return held.find(({ ok }) => ok) ?? held[0]!;
}

/** A change without the sentence on its speed, where the runtime does gain by it. */
function saidOfSpeed(change: Change, runtime: Runtime): Change {
  const { no_faster, ...own } = change;
  return no_faster === undefined || runtime.skips?.(change) === true ? own : change;
}

/**
 * The methods as a study sees them: parameters whose result its runtime cannot hold are refused
 * before any work, like those that the method itself does not take. Of a method of which
 * it holds nothing, `held` says why.
 */
export function heldMethods<M extends AgentMethod>(
  methods: readonly M[],
  runtime: Runtime,
): M[] {
  return methods.map((entry) => ({
    ...entry,
    ...(runtime.reads === undefined ? {} : { reads: runtime.reads }),
    held: (facts: Facts) => checkHeldAtAll(runtime, entry, facts),
    method: {
      ...entry.method,
      leaves(params: ResolvedAction["params"], facts: Facts) {
        const { changes, ...left } = entry.method.leaves(params, facts);
        return { ...left, changes: changes.map((change) => saidOfSpeed(change, runtime)) };
      },
      accepts(params: ResolvedAction["params"], facts: Facts) {
        const own = entry.method.accepts(params, facts);
        return own.ok ? checkHeld(runtime, entry, params, facts) : own;
      },
    },
  }));
}
