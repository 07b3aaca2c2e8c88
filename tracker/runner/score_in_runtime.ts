import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Measurement,
  type Outcome,
  pairBySample,
  pairedDifference,
  type SampleResult,
} from "../../core/mod.ts";
import { readSamples } from "../store/sample_file.ts";
import { storageFailure } from "../store/storage_error.ts";
import { failed } from "./live_backend.ts";
import type { SpeedInput } from "./measure_speed.ts";

/** Sequences scored at once: the graph gives the logits of every position, 0.2 MB each. */
const BATCH_SIZE = 4;

/** Score in the runtime less that of the evaluation over the same samples; none where none are. */
export function changeRow(
  row: Measurement,
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

/**
 * The primary tasks' proxy samples scored by the runtime itself: for numerics that are not those of
 * the evaluation. `evaluated`: the same samples as transformers scored them.
 */
export async function scoreInRuntime(
  input: SpeedInput,
  graph_dir: string,
  evaluated: readonly SampleResult[],
): Promise<Outcome<Measurement[]>> {
  const { study, runner, trial_id, artifact } = input;
  // What is drawn by chance takes another turn at the first rounding: no figure of the runtime.
  const drawn = new Set(
    study.tasks.flatMap((one) => one.definition?.["repeats"] ? [one.task] : []),
  );
  const primary = new Set(
    study.spec.tasks.flatMap(({ task, primary }) => primary && !drawn.has(task) ? [task] : []),
  );
  if (primary.size === 0) return { ok: true, value: [], spans: [] };
  const folder = await mkdtemp(join(tmpdir(), "pare-runtime-"));
  try {
    const scored = await runner(trial_id, {
      stage: "evaluate",
      artifact_dir: artifact.location,
      tasks: study.tasks.filter(({ task }) => primary.has(task)),
      selections: study.proxy.filter(({ task }) => primary.has(task)),
      fidelity: "proxy",
      batch_size: BATCH_SIZE,
      samples_path: join(folder, "samples.parquet"),
      seed: study.seed,
      batched_apart: [],
      answers_path: null,
      answer_chars: study.answer_chars,
      runtime: { name: study.spec.runtime, graph_dir },
      allow_unsafe_code: study.allow_unsafe_code,
    }, "default");
    if (!scored.ok) return scored;
    const { measurements, samples_sha256 } = scored.value;
    const own = await readSamples(join(folder, "samples.parquet"), samples_sha256);
    const changes = measurements.filter(({ metric, slice }) =>
      metric === "runtime_accuracy" && slice === null
    ).flatMap((row) => changeRow(row, own, evaluated));
    return { ok: true, value: [...measurements, ...changes], spans: scored.spans };
  } catch (error) {
    return failed(storageFailure(error, "evaluate"), []);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
