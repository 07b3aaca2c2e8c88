import { METRICS } from "../metrics/metric_table.ts";
import { qualityMetric } from "../evidence/quality.ts";
import type { Agent, Task } from "../contract/plugin.ts";
import type { Runtime } from "../contract/runtime.ts";
import { UsageError } from "../errors.ts";
import type { Facts } from "../schemas/facts.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Assumption, MethodVerdict, Spec } from "../schemas/spec.ts";
import { gatesInForce } from "../distance/distance_gates.ts";
import { chooseTasks } from "../tasks/choose_tasks.ts";
import { planRungs } from "../tasks/plan_rungs.ts";
import { checkDistances, planTasks } from "../tasks/plan_tasks.ts";
import { type Classified, classifyDataset } from "../tasks/dataset_class.ts";
import { programsNote, runnableTasks, unsafeCodeWarning } from "../tasks/generated_code.ts";
import { heldMethods } from "../strategies/held_methods.ts";
import { methodVerdicts, preferenceOrder } from "../strategies/method_verdicts.ts";
import { constraintsOf, MAX_ACCURACY_DROP } from "./constraints_in_force.ts";
import { chooseRuntime } from "./choose_runtime.ts";
import { cacheLimitWarnings, checkContext } from "./context_asked.ts";
import { evictAfter, type Planned, scoredMethods } from "./evict_after.ts";
import { fasterElsewhere, fastestFirst } from "./runtime_speeds.ts";
import { memoryRefusal, requiredMemoryGb } from "./required_memory.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";
import {
  type ChosenRuntime,
  defaultCosts,
  emulatedWarning,
  frontObjectives,
  objectivesAssumption,
} from "./front_objectives.ts";
import { WEIGHTS } from "../metrics/metric_table.ts";
import { rewardWeights } from "./reward_weights.ts";
import { untimedStudy } from "./untimed.ts";

/** The plugins that a spec is made with; a `Registry` is one. */
export interface SpecPlugins {
  readonly agents: readonly Agent[];
  readonly methods: readonly AgentMethod[];
  readonly tasks: readonly Task[];
  readonly runtimes: readonly Runtime[];
}

function primaryObjective({ dataset_class }: Classified): Spec["primary_objective"] {
  return dataset_class === "math" || dataset_class === "code" ? "accuracy" : "latency";
}

function gridWarning({ model }: Facts): string[] {
  const grid = model.grid;
  if (grid === null) return [];
  const kind = grid.symmetric ? "a symmetric" : "an asymmetric";
  return [
    `The weights of ${model.model_name} lie on ${kind} ${grid.bits}-bit grid in groups of ` +
    `${grid.group_size} (${
      Math.round(100 * grid.fraction)
    } % of them): rounding to the same grid ` +
    `gives them back${grid.symmetric ? "" : ", but for the file's whole zero points,"} and is ` +
    `refused, and the baseline is itself a quantized model`,
  ];
}

function energyWarning(
  { objectives }: RunRequest,
  { device }: Facts,
  aimed: readonly string[],
): string[] {
  if (device.energy_reader !== "estimate") return [];
  const energies = METRICS.filter(({ kind }) => kind === "energy");
  const weighed = energies.filter(({ weight }) => weight && (objectives?.[weight] ?? 0) > 0);
  const said = (what: string, of: typeof energies, follows: string) =>
    of.length === 0 ? [] : [
      `${what} ${
        of.map(({ words }) => words).join(" and ")
      }, which can only be estimated on this ` +
      `machine: the estimate is shown and ${follows}`,
    ];
  return [
    ...said("A weight is given to", weighed, "is no objective"),
    ...said("A goal is set on", energies.filter(({ name }) => aimed.includes(name)), "judges none"),
  ];
}

/** A limit that nothing here can reach. */
function gpuHoursWarning({ gpu_hours }: RunRequest, { device }: Facts): string[] {
  if (gpu_hours === undefined || device.device === "cuda") return [];
  return [
    `--gpu-hours ${gpu_hours} has no effect as this machine has no GPU that is used: --budget ` +
    "limits the wall time",
  ];
}

function perplexityWarning(
  { front }: RunRequest,
  spec: Pick<Spec, "objectives" | "tasks">,
): string[] {
  if (qualityMetric(spec) !== "perplexity") return [];
  return [
    `${
      front === undefined
        ? "This dataset gives perplexity and no accuracy"
        : "Perplexity is asked for"
    }: the accuracy constraint does not apply, the ` +
    "relative rise of perplexity is limited instead (to five times that drop), and perplexity is " +
    "the first objective",
  ];
}

/** A study that no method can serve is refused with the reason of each that was asked for. */
function checkSomeMethod(methods: readonly MethodVerdict[], request: RunRequest): void {
  if (methods.length === 0 || methods.some((one) => one.supported)) return;
  if (request.strategies.length > 0) return;
  const asked = request.methods ?? methods.map(({ method }) => method);
  const reasons = methods.filter(({ method }) => asked.includes(method))
    .map(({ method, reason }) => `${method}: ${reason}`);
  throw new UsageError(
    `Cannot compress ${request.model_name} as no method can run here: ${reasons.join("; ")}`,
  );
}

/** What was inferred rather than given, beside the constraints. */
function inferences(
  request: RunRequest,
  spec: Pick<Spec, "primary_objective" | "objectives" | "rungs" | "reward_weights">,
  classified: Classified,
  runtime: ChosenRuntime,
  { carbon_intensity: carbon }: Facts["device"],
  planned: Planned["costs"],
): Assumption[] {
  const primary = spec.primary_objective;
  const found: Assumption[] = [
    {
      field: "dataset_class",
      value: classified.dataset_class,
      source: classified.known === "unknown" ? "default" : "inferred",
      reason: classified.reason,
    },
    {
      field: "primary_objective",
      value: primary,
      source: "inferred",
      reason: `${classified.dataset_class}: math and code go by accuracy, others by latency`,
    },
    ...(request.front === undefined
      ? [objectivesAssumption(spec.objectives, runtime, planned)]
      : []),
  ];
  if (request.objectives === undefined) {
    const weights = WEIGHTS.flatMap((term) => {
      const weight = spec.reward_weights[term] ?? 0;
      return weight === 0 ? [] : [`${term}=${Number(weight.toPrecision(3))}`];
    });
    const reason = `what the front names, by the weights of the primary objective ${primary}`;
    found.push({ field: "reward_weights", value: weights.join(","), source: "default", reason });
  }
  const { limit, total_limit, limit_per_task } = request.sampling ?? {};
  const limited = [limit, total_limit, limit_per_task].some((one) => one !== undefined);
  for (const { fidelity, samples } of spec.rungs) {
    const given = new Map<string, unknown>(Object.entries(request.samples)).get(fidelity);
    const between = request.samples.between?.some((rung) => rung.fidelity === fidelity) ?? false;
    if (given !== undefined || between || (isDecisive(fidelity) && limited)) continue;
    const sizes = Object.entries(samples).map(([task, count]) => `${task}=${count ?? "all"}`);
    const reason = limited ? "each task's own, within the limit" : "each task's own";
    const field = `samples.${fidelity}`;
    found.push({ field, value: sizes.join(","), source: "default", reason });
  }
  if (request.sampling === undefined) {
    const reason = "drawn by the study's seed, in equal shares of a task's groups";
    found.push({ field: "sampling", value: "stratified", source: "default", reason });
  }
  if (request.runtime === undefined) {
    const { name, reason } = runtime;
    found.push({ field: "runtime", value: name, source: "inferred", reason });
  }
  found.push(...countryAssumption(request, carbon));
  return found;
}

/** CO2 that nobody named a country for is the world's mean, with its year. */
function countryAssumption(
  request: RunRequest,
  carbon: Facts["device"]["carbon_intensity"],
): Assumption[] {
  if (request.country !== undefined || carbon === undefined) return [];
  const { g_per_kwh, year, source } = carbon;
  const reason = `${g_per_kwh} g CO2 a kWh, ${year} (${source})`;
  return [{ field: "country", value: "world", source: "default", reason }];
}

function classOf(request: RunRequest, { dataset, device }: Facts, plugins: SpecPlugins): {
  classified: Classified;
  choice: ReturnType<typeof chooseTasks>;
} {
  const all = plugins.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const { tasks, sets } = runnableTasks(plugins.tasks, all, device, request);
  const classified = classifyDataset(dataset, sets);
  return { classified, choice: chooseTasks(dataset, classified, tasks, sets) };
}

/** Runtimes that were timed with the original, with the format that users of each load. */
function runnableIn(facts: Facts, { runtimes }: SpecPlugins): NonNullable<Spec["runtimes"]> {
  return fastestFirst(facts).map((one) => {
    const loads = runtimes.find(({ name }) => name === one.runtime)?.loads;
    return loads === undefined ? one : { ...one, loads };
  });
}

/**
 * What a study works to, from what was asked and what was found: pure and deterministic. Every
 * value that nobody gave is listed in `assumptions` with where it comes from; a name that is not
 * known, or a request that cannot be met, is refused in one sentence. `plan`: what its
 * kind of run says of it.
 */
export function inferSpec(
  request: RunRequest,
  facts: Facts,
  plugins: SpecPlugins,
  plan: Planned = { actions: [] },
): Spec {
  checkContext(request, facts, plugins.methods);
  const { classified, choice } = classOf(request, facts, plugins);
  const model_size_gb = facts.model.fp16_bytes / 1e9;
  const order = preferenceOrder(plugins.agents, model_size_gb);
  const runtime = chooseRuntime(request, facts, plugins);
  const runtimes = runnableIn(facts, plugins);
  const elsewhere = fasterElsewhere(runtime.name, facts);
  const held = heldMethods(plugins.methods, runtime.runtime);
  const { evict_after, ...behind } = evictAfter(request, plan, held, facts);
  const scorable = scoredMethods(held, evict_after);
  const methods = methodVerdicts(scorable, facts, order, request.methods);
  checkSomeMethod(methods, request);
  const limited = cacheLimitWarnings(request, facts, methods, scorable);
  const usable = new Set(methods.filter((m) => m.supported).map((m) => m.method));
  const primary_objective = primaryObjective(classified);
  const tasks = planTasks(choice, request);
  const rungs = planRungs(choice.tasks, request);
  const able = plugins.methods.filter(({ method }) => usable.has(method.name));
  const { costs, ...speed } = defaultCosts(runtime, able, facts, request, { ...plan, evict_after });
  const gates = gatesInForce(request);
  checkDistances("set a gate on", gates.map(({ metric }) => metric), choice.tasks, request.samples);
  const objectives = frontObjectives(choice.tasks, costs, request, facts);
  const reward_weights = rewardWeights({ primary_objective, objectives }, request.objectives);
  const { constraints, assumptions } = constraintsOf(request, facts, choice.tasks);
  const aimed = (constraints.goals ?? []).map(({ on }) => on);
  checkDistances("set a goal on", aimed, choice.tasks, request.samples);
  const parts = { primary_objective, objectives, tasks, rungs, reward_weights };
  const memory = memoryRefusal(facts);
  // A plan's own checks may be of speed.
  const untimed = plan.actions.length > 0
    ? {}
    : untimedStudy({ ...parts, constraints }, request, runtime);
  return {
    model_size_gb,
    preferred_quant: order.filter((name) => usable.has(name)),
    ...parts,
    ...(gates.length === 0 ? {} : { gates }),
    default_constraints: {
      max_accuracy_drop: MAX_ACCURACY_DROP,
      max_vram_gb: facts.device.device === "cpu" ? null : facts.device.vram_gb,
    },
    dataset_class: classified.dataset_class,
    constraints,
    missing_tasks: [...choice.missing],
    ...(evict_after === undefined ? {} : { evict_after }),
    ...(request.context_tokens === undefined ? {} : { context_tokens: request.context_tokens }),
    ...untimed,
    predictor: "likelihoods",
    methods,
    runtime: runtime.name,
    ...(runtimes.length === 0 ? {} : { runtimes }),
    required_memory_gb: requiredMemoryGb(facts),
    assumptions: [
      ...assumptions,
      ...inferences(request, parts, classified, runtime, facts.device, plan.costs),
      ...behind.assumptions,
    ],
    warnings: [
      ...facts.model.notes ?? [],
      ...choice.warnings,
      ...unsafeCodeWarning(request, choice.tasks),
      ...programsNote(rungs, choice.tasks, facts, request),
      ...gridWarning(facts),
      ...energyWarning(request, facts, aimed),
      ...gpuHoursWarning(request, facts),
      ...limited,
      ...(elsewhere === null ? [] : [elsewhere]),
      ...emulatedWarning(request, speed),
      ...(untimed.untimed === undefined ? [] : [untimed.untimed]),
      ...perplexityWarning(request, { objectives, tasks }),
      ...(memory === null ? [] : [memory]),
    ],
  };
}
