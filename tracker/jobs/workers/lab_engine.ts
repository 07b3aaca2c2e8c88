import { join, relative } from "node:path";
import {
  type Engine,
  EngineError,
  kindOf,
  type RunRequest,
  UsageError,
} from "../../../core/mod.ts";
import { pathsNamed } from "../../artifacts/remote/given.ts";
import { SHARED_BY } from "../../artifacts/remote/shared_artifacts.ts";
import type { Home } from "../../ground/home.ts";
import { openEngine } from "../engines/open_engine.ts";
import { type WorkersAsked, workersFolder, workersOn } from "./worker_client.ts";
import { queuePaths } from "../../store/queue/queue_paths.ts";

/** Whose machines run the calls of a lab's studies, and how many at once. */
export interface EngineAsked {
  /** As `pare queue work --engine` names one: `slurm:gpu`, `ray://127.0.0.1:8265`, `local`, or one of the file. */
  readonly engine?: string;
  /** A file of engines; default: engines.yaml in PARE_HOME. */
  readonly engines?: string;
  /** Trials under way at once, in place of what a study asks for or was begun with. */
  readonly workers?: NonNullable<RunRequest["workers"]>;
}

/** Addresses that mean another machine on each machine. */
const OWN_ADDRESS = /^\[?(localhost|127(\.\d+){3}|::1|0\.0\.0\.0)\]?$/;

/** Refuses an engine whose machines have nothing to compute, or ask somebody else than this one would. */
function requireWork(request: RunRequest, { name, here }: Engine): void {
  const kind = kindOf(request);
  const { not_elsewhere } = kind.needs;
  if (not_elsewhere !== null) {
    throw new UsageError(`Cannot run the study on ${name} as ${not_elsewhere}: leave --engine out`);
  }
  const { endpoint, judge, panel = [] } = kind.asks(request);
  const own = [endpoint, judge, ...panel].find((one) =>
    one !== undefined && OWN_ADDRESS.test(new URL(one.base_url).hostname)
  );
  if (own === undefined || here === true) return;
  throw new UsageError(
    `Cannot ask ${own.base_url} from ${name} as that address is each machine's own: give one that all of ` +
      "its machines reach, or leave --engine out",
  );
}

function asUsageError(error: unknown): never {
  throw error instanceof EngineError ? new UsageError(error.message) : error;
}

/** The engine of a lab, looked at once and before anything is submitted; null: this process runs its calls. */
export function engineOfLab(
  { root, store }: Pick<Home, "root" | "store">,
  { engine: called, engines: file = join(root, "engines.yaml") }: EngineAsked,
  say: (line: string) => void,
): () => Promise<Engine | null> {
  let opened: Promise<Engine> | null = null;
  const open = async () => {
    const { books } = queuePaths(store);
    const engine = await openEngine(called!, { file, books });
    const beside = relative(root, store).startsWith("..") ? [join(store, "workers")] : [];
    for (const folder of [workersFolder(root), ...beside]) {
      const unseen = await engine.check?.(folder) ?? null;
      if (unseen !== null) say(`note: ${unseen}`);
    }
    for (const folder of beside) await Deno.remove(folder).catch(() => {}); // only looked at
    return engine;
  };
  return async () => {
    if (called === undefined) return null;
    opened ??= open();
    return await opened.catch(asUsageError);
  };
}

/** The workers that a study asks its engine for; null: it has none. */
export async function workersAsked(
  engine: Engine | null,
  request: RunRequest,
): Promise<WorkersAsked | null> {
  if (engine === null) return null;
  requireWork(request, engine);
  const { workers, budget_joules } = request;
  if (budget_joules !== undefined) {
    throw new UsageError(
      `Cannot keep a budget of ${budget_joules} J on ${engine.name} as processor time is counted on this ` +
        "machine alone: limit the time by --budget",
    );
  }
  const asked = workersOn(await engine.capacity().catch(asUsageError), engine, workers);
  const objects = engine.artifacts ?? Deno.env.get(SHARED_BY) ?? "";
  const paths = pathsNamed([request.model_name, request.dataset]);
  return objects === "" || paths.length === 0 ? asked : { ...asked, given: { objects, paths } };
}
