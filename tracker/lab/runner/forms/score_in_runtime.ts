import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Artifact,
  type Measurement,
  type Numerics,
  type Outcome,
  overAllTasks,
  pairBySample,
  pairedDifference,
  type SampleResult,
  type TaskPlan,
} from "../../../../core/mod.ts";
import { readSamples } from "../../../store/rows/sample_file.ts";
import { storageFailure } from "../../../ground/storage/storage_error.ts";
import { BATCH_SIZE } from "../evaluate_artifact.ts";
import { inPrecision, type SpeedInput } from "../speed_input.ts";
import { failed } from "../call_runner.ts";

/**
 * Whether a runtime computes otherwise than the evaluation does. Weights are exchanged exactly; what
 * rounds activations, by the artifact's own wish or the runtime's way, gives other answers.
 */
export function computesOtherwise(
  { activation_bits }: Pick<Artifact, "activation_bits">,
  numerics: Numerics,
): boolean {
  const { activation_group, inference_precision, kv_precision } = numerics;
  return activation_bits !== null || activation_group !== 0 || inference_precision !== "f32" ||
    kv_precision !== "f32";
}

/** Score in the runtime less that of the evaluation over the same samples; none where none are. */
export function changeRow(
  { chance: _, ...row }: Measurement,
  own: readonly SampleResult[],
  evaluated: readonly SampleResult[],
): Measurement[] {
  const ofTask = (samples: readonly SampleResult[]) =>
    samples.filter(({ task }) => task === row.task);
  const { pairs } = pairBySample(ofTask(evaluated), ofTask(own));
  if (pairs.length === 0) return [];
  const { n, mean, standard_error } = pairedDifference(pairs);
  return [{
    ...row,
    metric: `${row.metric}_change`,
    value: mean,
    standard_error,
    n,
    method: "score in the runtime less the evaluation's on the same samples, paired",
  }];
}

/** Each figure of tasks over all of them, by their weights (`task` null). */
export function overTasks(
  rows: readonly Measurement[],
  tasks: readonly Pick<TaskPlan, "task" | "weight">[],
): Measurement[] {
  return [...Map.groupBy(rows, ({ metric }) => metric)].map(([metric, of]) =>
    overAllTasks(
      metric,
      of.map((row) => ({ row, weight: tasks.find(({ task }) => task === row.task)?.weight ?? 1 })),
    )
  );
}

/**
 * The primary tasks' samples of the first rung, scored by the runtime itself: for numerics that are not those of
 * the evaluation. `evaluated`: the same samples as transformers scored them.
 */
export async function scoreInRuntime(
  input: SpeedInput,
  form_dir: string,
  evaluated: readonly SampleResult[],
): Promise<Outcome<Measurement[]>> {
  const { workshop, study, runner, trial_id, artifact } = input;
  const { name, needs, python_dir } = input.runtime;
  // What is drawn by chance takes another turn at the first rounding: no figure of the runtime.
  const drawn = new Set(
    study.tasks.flatMap((one) => one.definition?.["repeats"] ? [one.task] : []),
  );
  const primary = new Set(
    study.spec.tasks.flatMap(({ task, primary }) => primary && !drawn.has(task) ? [task] : []),
  );
  const [first] = study.rungs;
  if (primary.size === 0 || first === undefined) return { ok: true, value: [], spans: [] };
  const folder = await mkdtemp(join(tmpdir(), "pare-runtime-"));
  try {
    const scored = await runner(trial_id, {
      call: "evaluate",
      artifact_dir: artifact.location,
      tasks: study.tasks.filter(({ task }) => primary.has(task)),
      selections: first.selections.filter(({ task }) => primary.has(task)),
      fidelity: first.fidelity,
      batch_size: BATCH_SIZE,
      samples_path: join(folder, "samples.parquet"),
      seed: study.seed,
      batched_apart: [],
      answers_path: null,
      runtime: {
        name,
        form_dir,
        python: await workshop.client.pythonOf(needs.environment),
        ...inPrecision(input),
        ...(python_dir === undefined ? {} : { runtime_dir: python_dir }),
      },
      ...study.options.evaluate,
    }, "default");
    if (!scored.ok) return scored;
    const { measurements, samples_sha256 } = scored.value;
    const own = await readSamples(join(folder, "samples.parquet"), samples_sha256);
    const scores = measurements.filter(({ metric, slice }) =>
      metric === "runtime_accuracy" && slice === null
    );
    const changes = scores.flatMap((row) => changeRow(row, own, evaluated));
    const all = overTasks([...scores, ...changes], study.spec.tasks);
    return { ok: true, value: [...measurements, ...changes, ...all], spans: scored.spans };
  } catch (error) {
    return failed(storageFailure(error, "evaluate"), []);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
