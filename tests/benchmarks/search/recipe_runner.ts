import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type AgentMethod,
  checkStrategy,
  dataNeed,
  type Facts,
  foretoldLoss,
  type FormatLoss,
  type Outcome,
  readRatio,
  type Registry,
  resolveActions,
  type ResolvedAction,
  type SpacePoint,
} from "../../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../../python-backends/client.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { KEEP_MEMORY, meanAndError, startDivergence } from "./recipe_divergence.ts";
import { type Made, maker } from "./recipe_maker.ts";
import { actionsOf } from "./recipe_space.ts";
import type { RecordedTable } from "./problems/recorded_problem.ts";

const SEED = 1;
const CALIBRATION = { windows: 8, tokens: 256 };
const TRAINING = { windows: 64, tokens: 256 };
/** A recipe that fails so says nothing of itself: it is run again. */
const PASSING = ["cancelled", "crash", "disk_full", "out_of_memory", "stall", "timeout"];
const RUNTIME = "openvino";

type Recorded = Omit<RecordedTable["rows"][number], "point">;

/** Runs recipes of one model. */
export interface RecipeRunner {
  readonly facts: Facts;
  record(point: SpacePoint): Promise<Recorded>;
  /** What formats cost the model's layers, each alone, by KL. */
  scores(): Promise<FormatLoss[]>;
  /** Nats per token that they foretell of a point; null: it cannot be. */
  foretold(point: SpacePoint, losses: readonly FormatLoss[]): number | null;
  close(): Promise<void>;
}

class Refused extends Error {}

function valueOf<T>(outcome: Outcome<T>, what: string): T {
  if (outcome.ok) return outcome.value;
  const { kind, message } = outcome.failure;
  if (PASSING.includes(kind)) throw new Error(`${what}: ${kind}: ${message}`);
  throw new Refused(message);
}

async function weightBytes(directory: string): Promise<number> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".safetensors"));
  const sizes = await Promise.all(names.map((name) => stat(join(directory, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

interface Bench {
  readonly client: BackendClient;
  readonly registry: Registry;
  readonly methods: readonly AgentMethod[];
  readonly facts: Facts;
  readonly home: string;
  readonly windows: { readonly calibration: string; readonly training: string };
}

/** One action, into an empty directory. */
async function apply(
  { client, registry, facts, home, windows }: Bench,
  parent: Made,
  action: ResolvedAction,
  output_dir: string,
): Promise<Made> {
  const { method, python_path } = registry.method(action.agent, action.method);
  const data = dataNeed(method, action.params)?.kind;
  await rm(output_dir, { recursive: true, force: true });
  await mkdir(output_dir, { recursive: true });
  const original_cache = method.needs.teacher === true ? join(home, "teacher") : null;
  if (original_cache !== null) await mkdir(original_cache, { recursive: true });
  const began = performance.now();
  const applied = valueOf(
    await client.run({
      call: "apply",
      parent_dir: parent.directory,
      output_dir,
      agent: action.agent,
      method: action.method,
      params: action.params,
      calibration_path: data === "calibration" ? windows.calibration : null,
      training_path: data === "training" ? windows.training : null,
      seed: SEED,
      python_path,
      original_dir: facts.model.path,
      original_cache,
      parent_id: "recorded",
    }, { environment: method.needs.environment }),
    action.method,
  );
  const seconds = parent.seconds + (performance.now() - began) / 1000;
  return { directory: output_dir, size_bytes: applied.size_bytes, seconds };
}

/** Cuts and trainings begin many recipes: what they leave is kept, and made once. */
const SHARED = ["pruning", "finetuning", "distillation"];

/** A cut or a training, or what an earlier run has kept of it. */
async function shared(bench: Bench, parent: Made, action: ResolvedAction, name: string) {
  const kept = join(bench.home, "shared", name);
  const note = join(kept, "made.json");
  if (!existsSync(note)) {
    const part = join(bench.home, "made", "shared");
    const { directory: _, ...told } = await apply(bench, parent, action, part);
    await writeFile(join(part, "made.json"), JSON.stringify(told));
    await mkdir(join(bench.home, "shared"), { recursive: true });
    await rename(part, kept);
  }
  return { directory: kept, ...JSON.parse(await readFile(note, "utf8")) };
}

/** Makes recipes of a bench in turn. */
function makerOf(bench: Bench, original: Made) {
  return maker(
    original,
    (parent, action, { index, name }) =>
      SHARED.includes(action.agent)
        ? shared(bench, parent, action, name)
        : apply(bench, parent, action, join(bench.home, "made", String(index))),
  );
}

async function prepare(home: string, model: "demo" | "tiny"): Promise<Bench> {
  const client = createBackendClient({ threads: 1, env: { HF_HUB_OFFLINE: "1", ...KEEP_MEMORY } });
  const options = { environment: "default" };
  const registry = await discoverPlugins();
  const runtime = registry.runtime(RUNTIME);
  const methods = registry.methods.map((entry) => ({ ...entry, reads: runtime.reads! }));
  const fresh = async (name: string) => {
    const output_dir = join(home, name);
    await rm(output_dir, { recursive: true, force: true });
    await mkdir(output_dir, { recursive: true });
    return output_dir;
  };
  const device = valueOf(
    await client.run({ call: "inspect_device", disk_path: home }, options),
    "inspect_device",
  );
  const facts: Facts = {
    device,
    model: valueOf(
      await client.run({
        call: "import_model",
        model_name: model,
        output_dir: await fresh("original"),
        trust_remote_code: false,
      }, options),
      "import_model",
    ),
    dataset: { dataset: model, kind: "named", path: null, format: null, rows: null, sha256: null },
  };
  const tokens = Math.min(CALIBRATION.tokens, facts.model.context_length);
  const data = valueOf(
    await client.run({
      call: "prepare_data",
      model_dir: facts.model.path,
      tasks: [],
      calibration_path: null,
      calibration_windows: CALIBRATION.windows,
      calibration_tokens: tokens,
      output_dir: await fresh("data"),
      seed: SEED,
      sample_seed: SEED,
      sample_seeds: {},
      training: { path: null, ...TRAINING, tokens },
    }, options),
    "prepare_data",
  );
  const windows = { calibration: data.calibration_path, training: data.training!.path };
  return { client, registry, methods, facts, home, windows };
}

/** Formats that are scored: the widths and groups of the table's grids, and 8 bits. */
const SCORED_FORMATS = ["3-bit-g64", "3-bit-g192", "4-bit-g64", "4-bit-g192", "8-bit-g64"];

/** As `pare sensitivity` scores them, added up by part and format. */
async function scoredLayers({ client, facts, home, windows }: Bench): Promise<FormatLoss[]> {
  const work_dir = join(home, "scores");
  await mkdir(work_dir, { recursive: true });
  const { layers } = valueOf(
    await client.run({
      call: "sensitivity",
      artifact_dir: facts.model.path,
      calibration_path: windows.calibration,
      formats: SCORED_FORMATS,
      scorers: ["kl"],
      windows: 2,
      tokens: 128,
      seed: SEED,
      work_dir,
    }, { environment: "default" }),
    "sensitivity",
  );
  const groups = Map.groupBy(
    layers,
    ({ part, format }) => `${part === "linear" ? part : "embedding"} ${format}`,
  );
  return [...groups.values()].map((rows) => {
    const bytes = rows.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
    const weights = rows.reduce((sum, row) => sum + row.size_bytes / row.weight_bits, 0);
    return {
      study_id: "recorded",
      part: rows[0]!.part === "linear" ? "linear" : "embedding",
      format: rows[0]!.format,
      weight_bits: bytes / weights,
      kl: rows.reduce((sum, { value }) => sum + value, 0),
    };
  });
}

/** Imports the model, and is then ready for one recipe after another, in a folder of its own. */
export async function startRecipes(home: string, model: "demo" | "tiny"): Promise<RecipeRunner> {
  const bench = await prepare(home, model);
  const { facts, methods, client } = bench;
  const original = facts.model.path;
  const divergence = await startDivergence(model, original);
  const untouched: Made = {
    directory: original,
    size_bytes: await weightBytes(original),
    seconds: 0,
  };
  const make = makerOf(bench, untouched);
  const refused = (reason: string): Recorded => ({ values: null, reason });
  return {
    facts,
    scores: () => scoredLayers(bench),
    foretold(point, losses) {
      try {
        return foretoldLoss(
          resolveActions(actionsOf(point), methods, facts),
          methods,
          facts,
          losses,
        );
      } catch {
        return null;
      }
    },
    async record(point) {
      let made = untouched;
      let ratio: number | null = 1;
      try {
        const actions = resolveActions(actionsOf(point), methods, facts);
        // The model as it was given is a point too.
        const verdict = actions.length === 0
          ? { ok: true as const }
          : checkStrategy(actions, methods, facts);
        if (!verdict.ok) return refused(verdict.reason);
        ratio = readRatio(actions, methods, facts);
        if (ratio === null) return refused(`${RUNTIME} does not tell what it reads of it`);
        made = await make(actions);
      } catch (error) {
        if (error instanceof Refused) return refused(error.message);
        throw error;
      }
      const { mean, error } = meanAndError(await divergence.of(made.directory));
      if (!Number.isFinite(mean)) return refused("the KL divergence is no finite number");
      const digits = (value: number) => Number(value.toPrecision(6));
      return {
        values: [made.size_bytes, digits(mean), digits(ratio)],
        standard_errors: [0, digits(error), 0],
        seconds: digits(made.seconds),
      };
    },
    async close() {
      await rm(join(home, "made"), { recursive: true, force: true });
      await divergence.end();
      await client.close();
    },
  };
}
