import type { Method, Task } from "../contract/plugin.ts";
import type { Runtime } from "../contract/runtime.ts";
import { UsageError } from "../errors.ts";
import { askedFront } from "../metrics/asked_front.ts";
import { knownMetric, type Metric } from "../metrics/metric_table.ts";
import type { Facts } from "../schemas/facts.ts";
import { qualityOf } from "../tasks/plan_tasks.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Assumption, Objective } from "../schemas/spec.ts";
import { setsCache } from "../strategies/caches/cache_policies.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";

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

/**
 * The front's objectives: those that the request names, else the primary quality, latency and bytes;
 * the quality always first. By default no latency where the
 * runtime only emulates what a method that may be used leaves; at a context, weights are counted with the cache.
 */
export function frontObjectives(
  tasks: readonly Task[],
  emulated: boolean,
  request: Pick<RunRequest, "front" | "context_tokens">,
  { device }: Pick<Facts, "device">,
): Objective[] {
  const asked = askedFront(frontNames(request));
  if (asked !== null) {
    checkReadable(asked, device);
    return asked.map(({ name }) => objectiveOf(name));
  }
  const quality = objectiveOf(qualityOf(tasks, request.front));
  if (!emulated) return [quality, LATENCY, SIZE];
  const { context_tokens } = request;
  return [quality, context_tokens === undefined ? SIZE : objectiveOf(AT_CONTEXT["memory"]!)];
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
 * a policy of the cache where a context is asked for, as no kernel there is made for what it keeps.
 */
export function emulatesSome(
  { runtime }: ChosenRuntime,
  methods: readonly AgentMethod[],
  facts: Facts,
  { context_tokens }: Pick<RunRequest, "context_tokens">,
): boolean {
  return runtime.emulates !== undefined &&
    methods.some((entry) =>
      storesPacked(entry.method, facts) || (context_tokens !== undefined && setsCache(entry))
    );
}

/** Why the objectives are what they are. */
export function objectivesAssumption(
  objectives: readonly Objective[],
  { name, runtime }: Pick<ChosenRuntime, "name" | "runtime">,
): Assumption {
  const value = objectives.map(({ metric }) => metric).join(", ");
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

/** Limits and weights of a latency that cannot be measured: they are kept, and have no effect. */
export function emulatedWarning(request: RunRequest, emulated: boolean): string[] {
  if (!emulated) return [];
  const front = askedFront(request.front) ?? [];
  const asked = [
    ...(front.some(({ name }) => name === LATENCY.metric) ? ["latency in --front"] : []),
    ...(request.constraints.max_latency_ms === undefined ? [] : ["--max-latency"]),
    ...((request.objectives?.latency ?? 0) > 0 ? ["the weight of latency"] : []),
  ];
  if (asked.length === 0) return [];
  return [
    `Latency cannot be measured for this model here, so that ${asked.join(" and ")} ` +
    `${asked.length === 1 ? "has" : "have"} no effect`,
  ];
}
