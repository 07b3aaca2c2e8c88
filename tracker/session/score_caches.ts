import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Artifact,
  type CacheSetting,
  isGenerated,
  pairBySample,
  pairedDifference,
  payingSettings,
  type Runtime,
  type SampleResult,
  type SampleSelection,
  type ScoredCache,
  type TimedCache,
  UsageError,
  type WireTask,
} from "../../core/mod.ts";
import { BATCH_SIZE } from "../lab/runner/evaluate_artifact.ts";
import { type CallRunner, refusal } from "../lab/runner/call_runner.ts";
import type { PreparedStudy } from "../lab/runner/prepared_study.ts";
import type { Tools } from "../lab/runner/workshop.ts";
import { readSamples } from "../store/rows/sample_file.ts";
import type { Store } from "../store/store.ts";
import { preparedText, type Watched } from "./prepared_text.ts";
import type { SessionInput } from "./start_study.ts";

/** The benchmarks whose answers are generated, and what of them is asked. */
interface TasksToScore {
  readonly ready: PreparedStudy;
  readonly tasks: readonly WireTask[];
  readonly selections: readonly SampleSelection[];
}

/** What is scored, by whom and on what. */
interface CachesToScore extends TasksToScore {
  readonly tools: Tools;
  readonly runner: CallRunner;
  readonly runtime: Runtime;
  readonly artifact: Artifact;
  readonly form_dir: string;
}

/** Answers of one setting, scored. */
interface Scored {
  readonly rows: readonly ScoredCache[];
  readonly samples: readonly SampleResult[];
}

/** Of the settings that were measured all, or the full cache with those that surely cost less than it. */
export function settingsToScore(
  settings: readonly CacheSetting[],
  caches: readonly TimedCache[],
  refused: readonly { readonly setting: string }[],
  paying: boolean,
): CacheSetting[] {
  const pays = payingSettings({ caches }).map(({ setting }) => setting);
  return settings.filter(({ name }, at) =>
    paying ? at === 0 || pays.includes(name) : !refused.some(({ setting }) => setting === name)
  );
}

/** What of a study's benchmarks may be scored: where tokens are let go of, what is generated alone, as a text that
 * is given is read whole. */
export async function tasksToScore(
  session: SessionInput,
  store: Store,
  { samples, forgets, ...options }: Watched & {
    readonly samples?: number;
    readonly forgets: boolean;
  },
): Promise<TasksToScore> {
  const { ready } = await preparedText(session, store, options);
  const { registry } = session.tools;
  const tasks = ready.tasks.filter(({ task, window_tokens, definition }) => {
    if (!forgets) return true;
    const known = registry.tasks.find(({ name }) => name === task);
    const generates = known?.generates;
    return isGenerated({ window_tokens, definition, ...(generates && { generates }) });
  });
  if (tasks.length === 0) {
    throw new UsageError(
      `Cannot score settings of a cache on ${
        ready.tasks.map(({ task }) => task).join(", ")
      }: no answers ` +
        "are generated there; name a benchmark whose answers are, such as ruler_vt",
    );
  }
  const rows = (ready.rungs[0]?.selections ?? []).filter((one) =>
    tasks.some(({ task }) => task === one.task)
  );
  const selections = rows.map((one) =>
    samples === undefined ? one : { ...one, rows: one.rows.slice(0, samples) }
  );
  return { ready, tasks, selections };
}

async function scored(
  input: CachesToScore,
  { name, params }: CacheSetting,
  full: Scored | null,
): Promise<Scored> {
  const { tools, runner, ready, tasks, selections, runtime, artifact, form_dir } = input;
  const folder = await mkdtemp(join(tmpdir(), "pare-cache-scores-"));
  try {
    const samples_path = join(folder, "samples.parquet");
    const outcome = await runner("setup", {
      call: "evaluate",
      artifact_dir: artifact.location,
      tasks: [...tasks],
      selections: [...selections],
      fidelity: ready.rungs[0]!.fidelity,
      batch_size: BATCH_SIZE,
      samples_path,
      seed: ready.seed,
      batched_apart: [],
      answers_path: null,
      runtime: {
        name: runtime.name,
        form_dir,
        python: await tools.client.pythonOf(runtime.needs.environment),
        cache: { ...params },
        ...(runtime.python_dir === undefined ? {} : { runtime_dir: runtime.python_dir }),
      },
      ...ready.options.evaluate,
    }, "default");
    if (!outcome.ok) throw refusal(outcome.failure);
    const { measurements, samples_sha256, refused } = outcome.value;
    if (measurements.length === 0) {
      const [first] = refused;
      throw new UsageError(
        `Cannot score ${name} on ${first?.task ?? "no benchmark"}: ${
          first?.message ?? "none was measured"
        }`,
      );
    }
    const samples = await readSamples(samples_path, samples_sha256);
    const rows = measurements.flatMap((row) =>
      row.task === null || row.slice !== null
        ? []
        : [{ ...figureOf(row.task, row), ...apart(row.task, samples, full), setting: name }]
    );
    return { rows, samples };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function figureOf(
  task: string,
  { metric, value, standard_error, n }: Pick<
    ScoredCache,
    "metric" | "value" | "standard_error" | "n"
  >,
) {
  return { task, metric: metric.replace(/^runtime_/, ""), value, standard_error, n };
}

/** The difference to the full cache on the same samples. */
function apart(task: string, samples: readonly SampleResult[], full: Scored | null) {
  const of = (all: readonly SampleResult[]) => all.filter((one) => one.task === task);
  const pairs = full === null ? [] : pairBySample(of(full.samples), of(samples)).pairs;
  if (pairs.length === 0) return { difference: null, difference_standard_error: null };
  const { mean, standard_error } = pairedDifference(pairs);
  return { difference: mean, difference_standard_error: standard_error };
}

/**
 * Each setting's score by what the runtime itself generates under it, beside the full cache's on the same samples.
 * Settings of this one engine alone: torch's policies are another's figures.
 */
export async function scoreCaches(
  input: CachesToScore,
  [first, ...others]: readonly CacheSetting[],
): Promise<ScoredCache[]> {
  const full = await scored(input, first!, null);
  const rows = [...full.rows];
  for (const setting of others) rows.push(...(await scored(input, setting, full)).rows);
  return rows;
}
