import { QUALITY } from "../metrics/metric_table.ts";
import { unknownName, UsageError } from "../errors.ts";
import { paramsSchema, resolvedSchema } from "./knobs.ts";
import { checkTaskScorers } from "./check_scorers.ts";
import type { Scorer } from "./scorer.ts";
import { unknownMethod } from "./unknown_method.ts";
import { EFFECTS } from "./change.ts";
import type { Agent, Form, Method, Plugin, Sampler, Task } from "./plugin.ts";
import type { Runtime } from "./runtime.ts";

/** A plugin with the file or specifier that it came from, for messages. */
export interface LoadedPlugin {
  readonly path: string;
  readonly plugin: Plugin;
  /** Folders of the pins that it brings, by the environment's name. */
  readonly environments?: ReadonlyMap<string, string>;
}

/** A method with its agent and, for a third party's, the file of its Python half. */
export interface RegisteredMethod {
  readonly agent: string;
  readonly method: Method;
  readonly python_path: string | null;
}

/** Every plugin by kind, in the order loaded, with look-ups that say "Did you mean". */
export interface Registry {
  readonly agents: readonly Agent[];
  readonly methods: readonly RegisteredMethod[];
  readonly tasks: readonly Task[];
  readonly scorers: readonly Scorer[];
  readonly samplers: readonly Sampler[];
  readonly runtimes: readonly Runtime[];
  readonly forms: readonly Form[];
  /** Folders of the pins that plugins bring, by the environment's name. */
  readonly environments: ReadonlyMap<string, string>;
  agent(name: string): Agent;
  method(agent: string, name: string): RegisteredMethod;
  task(name: string): Task;
  scorer(name: string): Scorer;
  sampler(name: string): Sampler;
  runtime(name: string): Runtime;
  form(name: string): Form;
}

function find<T extends { name: string }>(kind: string, all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName(kind, name, all.map((one) => one.name)));
}

/** File name without its ending, and the folder it lies in; null for a package. */
function placeOf(path: string): { file: string; folder: string } | null {
  if (path.startsWith("npm:") || path.startsWith("jsr:")) return null;
  const parts = path.replaceAll("\\", "/").split("/");
  return { file: (parts.at(-1) ?? "").replace(/\.[a-z]+$/, ""), folder: parts.at(-2) ?? "" };
}

/** A file is named after its plugin, so that a name finds its file; an agent's may be agent.ts. */
function checkFileName({ path, plugin }: LoadedPlugin): void {
  const place = placeOf(path);
  if (place === null || place.file === plugin.name) return;
  if (plugin.kind === "agent") {
    if (plugin.methods !== undefined) return;
    if (place.file === "agent" && place.folder === plugin.name) return;
  }
  const wanted = plugin.kind === "agent" ? `${plugin.name}/agent.ts` : `${plugin.name}.ts`;
  throw new UsageError(
    `Cannot register ${plugin.kind} "${plugin.name}" as its file must be called ${wanted}: ` +
      `it is ${path}`,
  );
}

function checkKnobs(method: Method, path: string): void {
  const names = Object.entries(method.knobs).flatMap((
    [name, { aliases = [] }],
  ) => [name, ...aliases]);
  const twice = names.find((name, place) => names.indexOf(name) < place);
  if (twice !== undefined) {
    throw new UsageError(
      `Cannot register method "${method.name}" of ${path} as ${twice} names two of its knobs`,
    );
  }
  for (const [name, knob] of Object.entries(method.knobs)) {
    const check = resolvedSchema({ [name]: knob }).safeParse({ [name]: knob.default });
    if (!check.success) {
      throw new UsageError(
        `Cannot register method "${method.name}" of ${path} as the default of its knob ${name} ` +
          `must lie in the knob's own range: it is ${JSON.stringify(knob.default)}`,
      );
    }
  }
}

/** A third party's may be plain JavaScript: without its order nothing could be said of recipes. */
function checkOrderOf(method: Method, path: string): void {
  const order = method.order as Partial<Method["order"]> | undefined;
  const named = [order?.effect, ...order?.follows ?? [null], ...order?.precedes ?? [null]];
  const wrong = named.find((effect) => !EFFECTS.some((one) => one === effect));
  if (wrong === undefined && typeof order?.reason === "string") return;
  throw new UsageError(
    `Cannot register method "${method.name}" of ${path} as its order must give effect, follows, ` +
      `precedes (of ${EFFECTS.join(", ")}) and a reason: it is ${JSON.stringify(order)}`,
  );
}

/** What an agent recovers with must be a method of its own, with parameters that it takes. */
function checkRecoveries(agent: Agent, path: string, all: readonly RegisteredMethod[]): void {
  const own = all.filter((one) => one.agent === agent.name).map(({ method }) => method);
  for (const { method: name, params, after } of agent.recovers ?? []) {
    const method = own.find((one) => one.name === name);
    const reason = method === undefined
      ? unknownName(`method of ${agent.name}`, name, own.map((one) => one.name))
      : !paramsSchema(method.knobs).safeParse(params).success
      ? `${name} does not take ${JSON.stringify(params)}`
      : after.every((effect) => EFFECTS.includes(effect))
      ? null
      : `its after must be of ${EFFECTS.join(", ")}: it is ${JSON.stringify(after)}`;
    if (reason === null) continue;
    throw new UsageError(
      `Cannot register what the family "${agent.name}" of ${path} recovers: ${reason}`,
    );
  }
}

/** What a task reports must be a metric of the table: its unit, direction and scale are known by it. */
function checkMetric({ name, reported_metric }: Task, path: string): void {
  if (QUALITY.some((metric) => metric.name === reported_metric)) return;
  const sentence = unknownName("reported_metric", reported_metric, QUALITY.map((one) => one.name));
  throw new UsageError(`Cannot register task "${name}" of ${path}: ${sentence}`);
}

/** Refuses a second plugin of a kind and name, and says both files. */
function nameKeeper(): (kind: string, name: string, path: string) => void {
  const taken = new Map<string, string>();
  return (kind, name, path) => {
    const key = `${kind} "${name}"`;
    const first = taken.get(key);
    if (first !== undefined) {
      throw new UsageError(`Cannot register ${key} of ${path} as ${first} has that name already`);
    }
    taken.set(key, path);
  };
}

/** Environments of all plugins; two may share a folder, and no name stands for two. */
function environmentsOf(loaded: readonly LoadedPlugin[]): Map<string, string> {
  const found = new Map<string, { path: string; folder: string }>();
  for (const { path, environments = new Map<string, string>() } of loaded) {
    for (const [name, folder] of environments) {
      const first = found.get(name);
      if (first !== undefined && first.folder !== folder) {
        throw new UsageError(
          `Cannot register environment "${name}" of ${path} as ${first.path} has that name already`,
        );
      }
      found.set(name, { path, folder });
    }
  }
  return new Map([...found].map(([name, { folder }]) => [name, folder]));
}

/** The agent that a method's folder names. */
function agentOf(method: Method, path: string, agents: readonly Agent[]): Agent {
  const folder = placeOf(path)?.folder ?? "";
  const agent = agents.find((one) => one.name === folder);
  if (agent !== undefined) return agent;
  const known = agents.map((one) => one.name).join(", ") || "none";
  throw new UsageError(
    `Cannot register method "${method.name}" of ${path} as a method lies in the folder of its ` +
      `family, or in the methods of a family: there is no family "${folder}" (families: ${known})`,
  );
}

function methodsOf(loaded: readonly LoadedPlugin[], agents: readonly Agent[]) {
  return loaded.flatMap(({ path, plugin }): { path: string; entry: RegisteredMethod }[] => {
    if (plugin.kind === "method") {
      const agent = agentOf(plugin, path, agents);
      return [{ path, entry: { agent: agent.name, method: plugin, python_path: null } }];
    }
    if (plugin.kind !== "agent") return [];
    return (plugin.methods ?? []).map((method) => {
      const folder = plugin.python_dir;
      const python_path = folder === undefined ? null : `${folder}/${method.name}.py`;
      return { path, entry: { agent: plugin.name, method, python_path } };
    });
  });
}

/**
 * Groups loaded plugins by kind and checks that names are clear: a plugin's file has its name, no
 * two of a kind share one, and every method has an agent. Loading the files is the caller's work.
 */
export function makeRegistry(loaded: readonly LoadedPlugin[]): Registry {
  const keep = nameKeeper();
  for (const one of loaded) {
    checkFileName(one);
    if (one.plugin.kind === "task") checkMetric(one.plugin, one.path);
    if (one.plugin.kind !== "method") keep(one.plugin.kind, one.plugin.name, one.path);
  }
  const of = <K extends Plugin["kind"]>(kind: K) =>
    loaded.map((one) => one.plugin)
      .filter((plugin): plugin is Extract<Plugin, { kind: K }> => plugin.kind === kind);
  const [agents, tasks, scorers, samplers, runtimes, forms] = [
    of("agent"),
    of("task"),
    of("scorer"),
    of("sampler"),
    of("runtime"),
    of("form"),
  ];

  const found = methodsOf(loaded, agents);
  for (const { path, entry } of found) {
    keep("method", entry.method.name, path);
    checkKnobs(entry.method, path);
    checkOrderOf(entry.method, path);
  }
  const methods = found.map(({ entry }) => entry);
  for (const { path, plugin } of loaded) {
    if (plugin.kind === "agent") checkRecoveries(plugin, path, methods);
    if (plugin.kind === "task") checkTaskScorers(plugin, path, scorers);
  }
  return {
    agents,
    methods,
    tasks,
    scorers,
    samplers,
    runtimes,
    forms,
    environments: environmentsOf(loaded),
    agent: (name) => find("family", agents, name),
    method: (agent, name) => findMethod(methods, agents, agent, name),
    task: (name) => find("task", tasks, name),
    scorer: (name) => find("scorer", scorers, name),
    sampler: (name) => find("sampler", samplers, name),
    runtime: (name) => find("runtime", runtimes, name),
    form: (name) => find("form", forms, name),
  };
}

/**
 * The registry with more benchmarks: those of a study that are no plugins. `broken` are those that
 * cannot be had, by the user's words for them, with their reasons: each is a set without a task.
 */
export function withTasks(
  registry: Registry,
  more: readonly Task[],
  broken: ReadonlyMap<string, string> = new Map(),
): Registry {
  for (const task of more) checkTaskScorers(task, task.datasets.join(", "), registry.scorers);
  const tasks = [...registry.tasks, ...more];
  const benchmark_sets = [...broken].map(([asked, reason]) => ({
    datasets: [asked],
    dataset_class: "custom" as const,
    tasks: [asked],
    reasons: { [asked]: reason },
  }));
  const asked = { kind: "agent", name: "asked", summary: "What a study asks for", benchmark_sets };
  return {
    ...registry,
    agents: broken.size === 0 ? registry.agents : [...registry.agents, asked as Agent],
    tasks,
    task: (name) => find("task", tasks, name),
  };
}

function findMethod(
  methods: readonly RegisteredMethod[],
  agents: readonly Agent[],
  agent: string,
  name: string,
): RegisteredMethod {
  find("family", agents, agent);
  const own = methods.filter((one) => one.agent === agent);
  const found = own.find((one) => one.method.name === name);
  if (found !== undefined) return found;
  throw unknownMethod(`method of ${agent}`, name, own.map((one) => one.method));
}
