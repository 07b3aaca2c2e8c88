import type { Runtime } from "../contract/runtime.ts";
import { unknownName, UsageError } from "../errors.ts";
import type { Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import { checkHeldAtAll } from "../strategies/held_methods.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";
import { setsCache } from "../strategies/caches/cache_policies.ts";
import type { ChosenRuntime } from "./front_objectives.ts";
import { fastestFirst, isDisturbed, speedsSaid, unbeaten } from "./runtime_speeds.ts";

/** Why a runtime holds nothing of what the methods in play write; null: it holds some of it. */
function holdsNone(
  runtime: Runtime,
  { methods: only, context_tokens }: RunRequest,
  methods: readonly AgentMethod[],
  facts: Facts,
): string | null {
  // Where a context is asked for, policies of the cache are searched with the weights.
  const byCache = context_tokens !== undefined && only === undefined;
  const held = methods
    .filter((entry) => byCache ? setsCache(entry) : only?.includes(entry.method.name) ?? true)
    .filter(({ method }) => method.supports(facts).ok)
    .map((entry) => checkHeldAtAll(runtime, entry, facts));
  const [first] = held;
  return first === undefined || held.some(({ ok }) => ok) ? null : first.reason ?? null;
}

/** What speaks for a runtime; `timed`: those that ran the original, the fastest first. */
function whyChosen({ name }: Runtime, facts: Facts, timed: readonly string[]): string {
  const preferred = "preferred among those that run it here";
  if (!timed.includes(name)) return preferred;
  const figures = `(a token: ${speedsSaid(facts)})`;
  if (isDisturbed(facts)) {
    return `${preferred}, as other work disturbed the timings of the original ${figures}`;
  }
  const busy = facts.runtimes!.some(({ busy_cores }) => busy_cores !== undefined);
  const first = unbeaten(facts);
  const though = busy ? ", timed in turn beside other work" : "";
  const others = first.includes(name) ? first.filter((other) => other !== name) : [];
  const nearly = others.length > 0 ? `, not told apart from ${others.join(" and ")}` : "";
  const place = timed[0] === name ? "fastest" : "next fastest"; // the first is refused: it says so
  return `${place} with the original${though}${nearly} ${figures}`;
}

export function chooseRuntime(
  request: RunRequest,
  facts: Facts,
  { runtimes, methods }: { runtimes: readonly Runtime[]; methods: readonly AgentMethod[] },
): ChosenRuntime {
  const names = runtimes.map((runtime) => runtime.name);
  if (request.runtime !== undefined) {
    const asked = runtimes.find((runtime) => runtime.name === request.runtime);
    if (asked === undefined) {
      throw new UsageError(unknownName("runtime", request.runtime, names));
    }
    const support = asked.supports(facts);
    if (support.ok) return { name: asked.name, reason: "asked for", runtime: asked };
    throw new UsageError(
      `Cannot measure speed in ${asked.name} here: ${support.reason}; ` +
        "leave --runtime out for the best one that runs here",
    );
  }
  const timed = fastestFirst(facts).map(({ runtime }) => runtime);
  // What other work disturbed preference decides. Of two that timings in turn do not tell apart the
  // faster one is the better guess for what is made of the original.
  const place = ({ name }: Runtime) => {
    if (isDisturbed(facts)) return 0;
    return timed.includes(name) ? timed.indexOf(name) : timed.length;
  };
  const ranked = [...runtimes].sort((a, b) => place(a) - place(b) || b.preference - a.preference);
  const refused: string[] = [];
  for (const runtime of ranked) {
    const support = runtime.supports(facts);
    if (!support.ok) {
      refused.push(`${runtime.name}: ${support.reason}`);
      continue;
    }
    const unheld = holdsNone(runtime, request, methods, facts);
    if (unheld !== null) {
      refused.push(`${runtime.name}: ${unheld}`);
      continue;
    }
    const others = refused.length === 0 ? "" : `; refused ${refused.join("; ")}`;
    const reason = `${whyChosen(runtime, facts, timed)}${others}`;
    return { name: runtime.name, reason, runtime };
  }
  throw new UsageError(
    `Cannot measure speed as no runtime runs ${facts.model.architecture} on this machine: ` +
      (refused.join("; ") || "none is installed"),
  );
}
