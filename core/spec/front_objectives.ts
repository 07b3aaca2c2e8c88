import type { Method, Task } from "../contract/plugin.ts";
import type { Runtime } from "../contract/runtime.ts";
import { UsageError } from "../errors.ts";
import { askedFront } from "../metrics/asked_front.ts";
import { knownMetric, type Metric } from "../metrics/metric_table.ts";
import type { Facts } from "../schemas/facts.ts";
import { qualityOf } from "../tasks/plan_tasks.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Assumption, Objective, Spec } from "../schemas/spec.ts";
import { setsCache } from "../strategies/caches/cache_policies.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";
import type { Planned } from "./evict_after.ts";

/** Refuses what can only be estimated here, or is of a GPU that is not there. */
function checkReadable(asked: readonly Metric[], device: Facts["device"]): void {
  const energy = asked.find(({ kind }) => kind === "energy");
  if (energy !== undefined && device.energy_reader === "estimate") {
    throw new UsageError(
      `Cannot draw a front of ${energy.words} as it can only be estimated on this machine, and an ` +
        "estimate is no objective",
    );
  }
  if (asked.some(({ name }) => name === "gpu_memory_bytes") && device.device !== "cuda") {
    throw new UsageError(
      "Cannot draw a front of gpu_memory_bytes as no GPU is used here: take memory_bytes",
    );
  }
}

/** A metric of the table as an objective. */
function objectiveOf(name: string): Objective {
  const { name: metric, direction, unit } = knownMetric(name, "metric");
  return { metric, direction, unit };
}

const LATENCY = objectiveOf("latency_ms");
const SIZE = objectiveOf("size_bytes");

/** What a name of `--front` stands for at a context: memory with its cache, and that cache alone. */
const AT_CONTEXT: Readonly<Record<string, string>> = {
  memory: "memory_bytes_at_context",
  kv: "kv_bytes_at_context",
};

/** The names of a front, those that a context says more of as figures at it. */
function frontNames(
  { front, context_tokens }: Pick<RunRequest, "front" | "context_tokens">,
): readonly string[] | undefined {
  return context_tokens === undefined ? front : front?.map((name) => AT_CONTEXT[name] ?? name);
}

/** A runtime that runs the study, and why it is this one. */
export interface ChosenRuntime {
  readonly name: string;
  readonly reason: string;
  readonly runtime: Runtime;
}

/** What a front costs by default, beside the quality. */
const USUAL_COSTS = [LATENCY, SIZE] as const;

/**
 * What it costs where speed is only emulated: at a context weights with the cache; else what is left of the
 * study's own contexts where a policy chooses after them, and bytes on disk where some method changes any.
 */
function countedCosts(
  methods: readonly AgentMethod[],
  { context_tokens, evict_after }: Pick<Spec, "context_tokens" | "evict_after">,
): Objective[] {
  if (context_tokens !== undefined) return [objectiveOf(AT_CONTEXT["memory"]!)];
  const cut = evict_after !== undefined && methods.some(setsCache);
  const stored = !cut || methods.some((entry) => !setsCache(entry));
  return [...(cut ? [objectiveOf("context_kv_bytes")] : []), ...(stored ? [SIZE] : [])];
}

/** What to know of a study of cache policies alone that reads whole texts at no context. */
function uncountedCaches(
  methods: readonly AgentMethod[],
  { context_tokens, evict_after }: Pick<Spec, "context_tokens" | "evict_after">,
): string[] {
  if (context_tokens !== undefined || evict_after !== undefined) return [];
  return methods.every(setsCache)
    ? [
      "Nothing here counts what a policy of the cache saves: --context 2k counts keys and values at " +
      "such a length",
    ]
    : [];
}

/**
 * The costs of a front that nobody names, whether the runtime only emulates speed, and what to know where
 * none of them is less by any of the methods.
 */
export function defaultCosts(
  runtime: ChosenRuntime,
  methods: readonly AgentMethod[],
  facts: Facts,
  { front, context_tokens }: Pick<RunRequest, "front" | "context_tokens">,
  { evict_after, costs: planned }: Pick<Spec, "evict_after"> & Pick<Planned, "costs">,
): {
  readonly emulated: boolean;
  readonly costs: readonly Objective[];
  readonly uncounted: readonly string[];
} {
  const emulated = emulatesSome(runtime, methods, facts);
  if (planned !== undefined) {
    return { emulated, costs: planned.metrics.map(objectiveOf), uncounted: [] };
  }
  if (!emulated) return { emulated, costs: USUAL_COSTS, uncounted: [] };
  const counted = { context_tokens, evict_after };
  const costs = countedCosts(methods, counted);
  return {
    emulated,
    costs,
    uncounted: front === undefined ? uncountedCaches(methods, counted) : [],
  };
}

/**
 * The front's objectives: those that the request names, else the primary quality and the default costs; the
 * quality always first.
 */
export function frontObjectives(
  tasks: readonly Task[],
  costs: readonly Objective[],
  request: Pick<RunRequest, "front" | "context_tokens">,
  { device }: Pick<Facts, "device">,
): Objective[] {
  const asked = askedFront(frontNames(request));
  if (asked !== null) {
    checkReadable(asked, device);
    return asked.map(({ name }) => objectiveOf(name));
  }
  return [objectiveOf(qualityOf(tasks, request.front)), ...costs];
}

/** Whether a method's defaults leave a part in a form other than floats. */
function storesPacked(method: Method, facts: Facts): boolean {
  const defaults = Object.entries(method.knobs).map(([name, knob]) => [name, knob.default]);
  const { changes } = method.leaves(Object.fromEntries(defaults), facts);
  return changes.some(({ form }) => form !== null);
}

/**
 * Whether a method that may be used leaves weights that the runtime does not run as they are stored:
 * beside floats, whose speed is real, none of those could ever be on a front with latency. Nor could
 * a policy of the cache, as no kernel there is made for what it keeps.
 */
function emulatesSome(
  { runtime }: ChosenRuntime,
  methods: readonly AgentMethod[],
  facts: Facts,
): boolean {
  return runtime.emulates !== undefined &&
    methods.some((entry) => storesPacked(entry.method, facts) || setsCache(entry));
}

/** Why the objectives are what they are. */
export function objectivesAssumption(
  objectives: readonly Objective[],
  { name, runtime }: Pick<ChosenRuntime, "name" | "runtime">,
  planned: Planned["costs"],
): Assumption {
  const value = objectives.map(({ metric }) => metric).join(", ");
  if (planned !== undefined) {
    return { field: "objectives", value, source: "default", reason: planned.reason };
  }
  return objectives.includes(LATENCY)
    ? {
      field: "objectives",
      value,
      source: "default",
      reason: "primary quality, latency and bytes",
    }
    : {
      field: "objectives",
      value,
      source: "inferred",
      reason:
        `${name} ${runtime.emulates}, so that the speed of such trials is only emulated there`,
    };
}

/** What nothing counts, and limits and weights of a latency that cannot be measured: they have no effect. */
export function emulatedWarning(
  request: RunRequest,
  { emulated, uncounted }: Pick<ReturnType<typeof defaultCosts>, "emulated" | "uncounted">,
): string[] {
  if (!emulated) return [];
  const front = askedFront(request.front) ?? [];
  const asked = [
    ...(front.some(({ name }) => name === LATENCY.metric) ? ["latency in --front"] : []),
    ...(request.constraints.max_latency_ms === undefined ? [] : ["--max-latency"]),
    ...((request.objectives?.latency ?? 0) > 0 ? ["the weight of latency"] : []),
  ];
  if (asked.length === 0) return [...uncounted];
  return [
    ...uncounted,
    `Latency cannot be measured for this model here, so that ${asked.join(" and ")} ` +
    `${asked.length === 1 ? "has" : "have"} no effect`,
  ];
}
