import {
  allowedMethods,
  type Registry,
  type RunNeeds,
  type Runtime,
  type Sampler,
  type Spec,
  UsageError,
} from "../../../core/mod.ts";
import type { BackendClient } from "../../../python-backends/client.ts";
import { readPins } from "../../../python-backends/environments/environment_pins.ts";

/** Where a model is inspected, evaluated and verified, whatever else a study does. */
const USUAL = "default";
/** From this preference on a runtime is chosen without being asked for. */
const CHOSEN = 10;

/** Environments by name, each with what needs it, in words. */
export type NeededEnvironments = ReadonlyMap<string, readonly string[]>;

type Entry = readonly [environment: string, by: string];

function grouped(entries: readonly Entry[]): NeededEnvironments {
  const groups = Map.groupBy(entries, ([environment]) => environment);
  return new Map([...groups].map(([name, all]) => [name, [...new Set(all.map(([, by]) => by))]]));
}

/** Those that a runtime runs in and that its form is made in. */
function ofRuntime({ name, needs, form }: Runtime): Entry[] {
  const made = form === null ? [] : [[form.environment, `the runtime ${name}`] as const];
  return [[needs.environment, `the runtime ${name}`], ...made];
}

/** What a study may need: of its runtime, and of every method that can be used in it. */
export function neededEnvironments(
  registry: Registry,
  spec: Spec,
  { methods: compresses }: Pick<RunNeeds, "methods">,
  samplers: readonly Sampler[] = [],
): NeededEnvironments {
  const usual: Entry = [USUAL, "every study"];
  if (!compresses) return grouped([usual]);
  const methods = allowedMethods(registry.methods, spec).flatMap(({ method }): Entry[] => {
    const { environment, tool } = method.needs;
    const names = tool === undefined ? [environment] : [environment, tool];
    return names.map((name) => [name, `the method ${method.name}`]);
  });
  const proposing = samplers.flatMap(({ name, needs }): Entry[] =>
    needs === undefined ? [] : [[needs.environment, `the sampler ${name}`]]
  );
  return grouped([usual, ...ofRuntime(registry.runtime(spec.runtime)), ...methods, ...proposing]);
}

/** What a study may need that asks for nothing in particular, on a machine with or without a GPU. */
export function usualEnvironments(registry: Registry, gpu: boolean): string[] {
  const runtimes = registry.runtimes.filter((runtime) =>
    runtime.preference >= CHOSEN && (gpu || !runtime.needs.gpu)
  );
  const methods = registry.methods.filter(({ method }) => gpu || !method.needs.gpu);
  const needed = grouped([
    [USUAL, "every study"],
    ...runtimes.flatMap(ofRuntime),
    ...methods.map(({ method }): Entry => [method.needs.environment, method.name]),
  ]);
  return [...needed.keys()].filter((name) =>
    readPins(name, registry.environments.get(name)).on_request === null
  );
}

/**
 * Makes those in which the runtimes run that a study may take unasked, so that all of them can be timed.
 * One that cannot be made is said, and is not timed.
 */
export async function makeTimedRuntimes(
  client: BackendClient,
  registry: Registry,
  say: (line: string) => void,
): Promise<void> {
  const unasked = registry.runtimes.filter(({ preference, precisions, needs }) =>
    preference >= CHOSEN && precisions !== undefined && !needs.gpu
  );
  for (const { name, needs: { environment } } of unasked) {
    if (readPins(environment, registry.environments.get(environment)).on_request !== null) continue;
    try {
      await client.pythonOf(environment);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      say(`the runtime ${name} is not timed: ${error.message}`);
    }
  }
}

/** Makes those that are not there: before a study begins, so that minutes of pip are not its time. */
export async function makeEnvironments(
  client: BackendClient,
  needed: NeededEnvironments,
): Promise<void> {
  for (const [name, by] of needed) {
    try {
      await client.pythonOf(name);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(
        `Cannot begin the study without the environment ${name}, which ${
          by.join(", ")
        } needs: ${error.message}`,
      );
    }
  }
}
