import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type Artifact,
  type CallResult,
  type Evaluation,
  isLikelihoodRung,
  type Look,
  type Measurement,
  type Outcome,
  type RowsByTask,
  type SampleSelection,
} from "../../../core/mod.ts";
import { TEACHERS } from "../../artifacts/form_garbage.ts";
import { answersFile, type MadeBy, whyAnew } from "../../artifacts/kept_answers.ts";
import { readSamples } from "../../store/rows/sample_file.ts";
import { installedCode } from "../given/own_code.ts";
import { artifactPlace, environmentOf } from "./artifact_place.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import { storageFailure } from "../../ground/storage/storage_error.ts";
import { removeScored, scoredRecord } from "../scoring/scored_record.ts";
import { inSmallerBatches } from "./machine/smaller_batches.ts";
import { callSource, methodSource } from "./source_closure.ts";
import { type CallRunner, failed } from "./call_runner.ts";
import type { Workshop } from "./workshop.ts";

export interface EvaluateInput {
  readonly workshop: Workshop;
  readonly study: PreparedStudy;
  readonly runner: CallRunner;
  readonly trial_id: string;
  readonly artifact: Artifact;
  readonly fidelity: string;
  /** Of an evaluation in the midst of a chain: number of the last action applied. */
  readonly action_index?: number | undefined;
  /** A part of the rung's samples, or what such looks have read before all of them. */
  readonly look?: Look | undefined;
  /** The uncompressed model; absent: nothing is held against it. */
  readonly original?: Artifact | undefined;
  /** Other settings of the same weights, which later trials evaluate. */
  readonly beside?: readonly Artifact[];
}

/** Log-likelihood requests are batched by this many on a CPU: measured to be the fastest. */
export const BATCH_SIZE = 16;

/**
 * Where the answers of an artifact are kept: by what made them, so that a rung takes those of the
 * rungs before it, a killed one goes on where it stopped, and a baseline is evaluated once for all studies.
 * What a server said is its study's alone: tomorrow it may serve other weights by the same name.
 */
async function answersOf(
  { workshop, study, runner }: EvaluateInput,
  artifact: Artifact,
): Promise<{ readonly path: string; readonly made: MadeBy }> {
  const { endpoint, judge } = study.asks;
  const environment = environmentOf(workshop.registry, artifact);
  const made: MadeBy = {
    evaluation: callSource("evaluate.py"),
    environment: await workshop.environmentHash(environment),
  };
  const own = endpoint !== undefined || judge !== undefined ? study.study_id : undefined;
  // How a setting runs is its method's source, which the action_index finds by the setting's name alone.
  const { action, weights_id } = artifact;
  if (weights_id !== undefined && action !== null) {
    const entry = workshop.registry.method(action.agent, action.method);
    const installed = await installedCode(runner, entry);
    made.method = await methodSource(action.agent, entry.method, null, installed);
  }
  return { path: answersFile(workshop.home.root, artifact.artifact_id, made, own), made };
}

/** Says with a figure what it was made by beside its own words. */
const withWords = (words: string | null) => (row: Measurement): Measurement =>
  words === null
    ? row
    : { ...row, method: row.method === null ? words : `${row.method}; ${words}` };

/** Other settings that are asked the same of each prompt, and where their own evaluations look. */
async function besideOf(input: EvaluateInput) {
  const { beside = [] } = input;
  if (beside.length === 0) return {};
  const settings = beside.map(async (artifact) => ({
    artifact_dir: artifact.location,
    answers_path: (await answersOf(input, artifact)).path,
  }));
  return { beside: await Promise.all(settings) };
}

/** Selections of rows, as those of the rung are weighed. */
function selectionsOf(rows: RowsByTask, rung: readonly SampleSelection[]): SampleSelection[] {
  return rung.flatMap((selection) => {
    const own = rows[selection.task];
    return own === undefined ? [] : [{ ...selection, rows: [...own] }];
  });
}

/** The uncompressed model and the folder of what it says, for studies that hold others against it. */
async function originalOf({ workshop, study, artifact, original }: EvaluateInput) {
  if (original === undefined || !study.needs.baseline) return {};
  const { artifact_id } = original;
  // Of the same libraries: what differs is then the artifact's own.
  const environment = environmentOf(workshop.registry, artifact);
  const key = `${artifact_id}-${await workshop.environmentHash(environment)}`;
  const { directory } = await workshop.caches.cached(TEACHERS, key, () => Promise.resolve());
  return { original: { artifact_dir: original.location, artifact_id, cache_dir: directory } };
}

/**
 * The rungs whose rows share no forward pass with others on a rung: those below it that generate. The
 * original writes all its answers on the rung of their likelihood, so there it is those above, which
 * take the answers over.
 */
function rungsApart({ rungs, spec }: PreparedStudy, height: number): PreparedStudy["rungs"] {
  const { fidelity } = rungs[height]!;
  if (isLikelihoodRung(spec, fidelity)) return rungs.slice(height + 1);
  return rungs.slice(0, height).filter((rung) => !isLikelihoodRung(spec, rung.fidelity));
}

/** Records the samples file, and what scorers beside a task's own made of it. */
async function recordAnswers(
  { workshop, study, trial_id, fidelity, action_index }: EvaluateInput,
  path: string,
  { samples, samples_sha256, protocol, protocol_parts, scored }: CallResult<"evaluate">,
): Promise<void> {
  const own = { study_id: study.study_id, trial_id, fidelity };
  const written = { path, sha256: samples_sha256, protocol };
  await workshop.store.record({
    type: "samples_written",
    at: workshop.timestamp(),
    ...own,
    ...(action_index === undefined ? {} : { action_index }),
    rows: samples,
    ...written,
    protocol_parts,
  });
  if (action_index !== undefined) return;
  for (const one of scored) {
    const record = scoredRecord({ ...own, ...written }, one, workshop.timestamp());
    await workshop.store.record(record);
  }
}

function recordAlert(
  { workshop, study: { study_id }, trial_id }: EvaluateInput,
  told: Parameters<Parameters<typeof inSmallerBatches>[2]>[0],
): Promise<void> {
  const at = workshop.timestamp();
  return workshop.store.record({ type: "alert", at, study_id, trial_id, ...told });
}

/**
 * Quality on a rung: one process, its samples kept beside the journal. Those of a look at a part of
 * it are read and not kept: its answers are, and the whole rung takes them over.
 */
export async function evaluateArtifact(input: EvaluateInput): Promise<Outcome<Evaluation>> {
  const { workshop, study, runner, trial_id, artifact, fidelity, look } = input;
  const place = await artifactPlace(workshop.artifacts, artifact, "evaluate");
  if (!place.ok) return place;
  const { action_index } = input;
  const height = study.rungs.findIndex((rung) => rung.fidelity === fidelity);
  const rung = study.rungs[height]!.selections; // the loop climbs the study's own rungs
  const part = look?.rows ?? null;
  const selections = part === null ? rung : selectionsOf(part, rung);
  const likelihood = isLikelihoodRung(study.spec, fidelity);
  const { evict_after } = study.spec;
  const { path: answers_path, made } = await answersOf(input, artifact);
  const anew = await whyAnew(workshop.home.root, artifact.artifact_id, made, answers_path);
  const { relative, absolute } = workshop.store.samplesPath(
    study.study_id,
    part !== null
      ? `${trial_id}-look`
      : action_index === undefined
      ? trial_id
      : `${trial_id}-action${action_index}`,
    fidelity,
  );
  const evaluated = await inSmallerBatches(
    {
      call: "evaluate" as const,
      ...place.value,
      tasks: study.tasks.filter(({ task }) => selections.some((one) => one.task === task)),
      selections: [...selections],
      fidelity,
      batch_size: BATCH_SIZE,
      samples_path: absolute,
      seed: study.seed,
      batched_apart: [
        ...rungsApart(study, height).flatMap((other) => other.selections),
        ...(look?.before ?? []).flatMap((rows) => selectionsOf(rows, rung)),
      ],
      answers_path,
      ...await besideOf(input),
      runtime: null,
      ...study.options.evaluate,
      ...study.asks,
      ...await originalOf(input),
      ...(likelihood ? { likelihood } : {}),
      ...(evict_after === undefined ? {} : { evict_after }),
    },
    (request) => runner(trial_id, request, environmentOf(workshop.registry, artifact)),
    (told) => recordAlert(input, told),
  );
  if (!evaluated.ok) return evaluated;
  const { protocol, protocol_parts, samples_sha256, refused, scored } = evaluated.value;
  const measurements = [
    ...evaluated.value.measurements.map(withWords(anew)),
    ...scored.flatMap((one) => one.measurements),
  ];
  try {
    const rows = await readSamples(absolute, samples_sha256);
    const value = {
      measurements,
      samples: rows,
      protocol,
      protocol_parts,
      ...(refused.length > 0 ? { refused } : {}),
    };
    // What scorers made of a look, or of a chain that goes on, stands in its figures alone.
    if (part !== null || action_index !== undefined) await removeScored(dirname(absolute), scored);
    if (part !== null) {
      await rm(absolute, { force: true });
      return { ok: true, value, spans: evaluated.spans };
    }
    await recordAnswers(input, relative, evaluated.value);
    return { ok: true, value, spans: evaluated.spans };
  } catch (error) {
    return failed(storageFailure(error, "evaluate"), evaluated.spans);
  }
}
