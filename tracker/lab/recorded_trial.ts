import { createHash } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import {
  Action,
  FileChecksum,
  type JournalRecord,
  Measurement,
  Provenance,
  replayStudy,
  type RunRequest,
  type SampleResult,
  StudyRequest,
  type Trial,
  UsageError,
} from "../../core/mod.ts";
import { readSamples } from "../store/rows/sample_file.ts";
import type { Store } from "../store/store.ts";

/** How one task was answered: each sample by the hash of its content, then of what was answered. */
const Answers = z.strictObject({
  task: z.string(),
  fidelity: z.string(),
  protocol: z.string().nullable().describe("hash of data, prompts and scoring; null: none is kept"),
  samples: z.record(z.string(), z.string()),
});

/** What is known of one trial: what it takes to run it again, and what must come out. */
export const RecordedTrial = z.strictObject({
  trial_id: z.string(),
  state: z.string(),
  fidelity: z.string().nullable(),
  actions: z.array(Action).describe("every knob with its value; empty: the untouched model"),
  provenance: Provenance,
  artifact: z.array(FileChecksum).nullable().describe("null: none was made"),
  measurements: z.array(Measurement),
  answers: z.array(Answers),
});
export type RecordedTrial = z.infer<typeof RecordedTrial>;

/** What the study asked for, of its own kind; a file from before kinds gets its kind here. */
const request: z.ZodType<RunRequest> = StudyRequest;

/** A study as it can be run again: the file `recorded.json` of a published folder. */
export const RecordedStudy = z.strictObject({
  format: z.literal("pare-recorded-1"),
  study_id: z.string(),
  request,
  model: z.array(FileChecksum).describe("files of the untouched model; empty: never measured"),
  dataset_sha256: z.string().nullable().describe("of the user's own file; null: it has none"),
  machine: z.record(z.string(), z.string()),
  recommended: z.string().nullable(),
  trials: z.array(RecordedTrial),
});
export type RecordedStudy = z.infer<typeof RecordedStudy>;

const shortHash = (words: unknown) =>
  createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 16);

/** Of one answer everything that does not depend on the clock. */
function answerHash(sample: SampleResult): string {
  const { answer, parsed_answer, chosen, score, gold } = sample;
  return shortHash([String(score), answer, parsed_answer ?? null, chosen ?? null, gold]);
}

type Written = Extract<JournalRecord, { type: "samples_written" }>;

async function answersOf(store: Store, written: readonly Written[]) {
  const last = new Map(written.map((one) => [one.fidelity, one]));
  const answers: z.infer<typeof Answers>[] = [];
  for (const { fidelity, path, sha256, protocol } of last.values()) {
    const samples = await readSamples(join(store.paths.root, path), sha256);
    for (const [task, own] of Map.groupBy(samples, (sample) => sample.task)) {
      answers.push({
        ...{ task, fidelity, protocol: protocol?.[task] ?? null },
        samples: Object.fromEntries(
          own.map((one) => [shortHash([one.sample_hash, one.prompt_hash]), answerHash(one)]),
        ),
      });
    }
  }
  return answers;
}

/** The files of a trial's last artifact; null: it made none. */
function artifactFiles(records: readonly JournalRecord[], artifact_id: string | undefined) {
  const written = records.findLast((record) =>
    record.type === "artifact_written" && record.artifact.artifact_id === artifact_id
  );
  return written?.type === "artifact_written" ? written.artifact.files : null;
}

async function trialOf(
  store: Store,
  records: readonly JournalRecord[],
  trial: Trial,
  opened: Provenance,
): Promise<RecordedTrial> {
  const written = records.filter((record): record is Written =>
    record.type === "samples_written" && record.trial_id === trial.trial_id &&
    record.action_index === undefined
  );
  return {
    trial_id: trial.trial_id,
    state: trial.state,
    fidelity: trial.fidelity,
    actions: trial.actions.map(({ agent, method, params }) => ({ agent, method, params })),
    provenance: trial.provenance ?? opened,
    artifact: artifactFiles(records, trial.artifact_ids.at(-1)),
    measurements: trial.measurements,
    answers: await answersOf(store, written),
  };
}

/** The files of the model that the study began with, as they were when it was measured. */
function modelFiles(records: readonly JournalRecord[]) {
  const written = records.find((record) =>
    record.type === "artifact_written" && record.artifact.action === null
  );
  return written?.type === "artifact_written" ? written.artifact.files : [];
}

/** What the journal tells of a study that it takes to run its trials again; of one trial, or of all. */
export async function recordedStudy(
  store: Store,
  study_id: string,
  only?: string,
): Promise<RecordedStudy> {
  const records = await store.journalOf(study_id);
  const study = replayStudy(records, study_id);
  if (study === null) {
    throw new UsageError(`Cannot reproduce "${study_id}": its opening is not kept`);
  }
  const { request: asked, facts, spec, provenance } = study.opened;
  // What was fastest on that machine need not be so elsewhere, and the recipe was for it.
  const request = spec.runtimes === undefined ? asked : { ...asked, runtime: spec.runtime };
  const { device } = facts;
  const closed = records.findLast((record) => record.type === "study_closed");
  const wanted = study.trials.filter(({ trial_id }) => only === undefined || trial_id === only);
  const trials: RecordedTrial[] = [];
  for (const trial of wanted) trials.push(await trialOf(store, records, trial, provenance));
  return {
    format: "pare-recorded-1",
    study_id,
    request,
    model: modelFiles(records),
    dataset_sha256: facts.dataset.sha256,
    machine: {
      device: device.device_name,
      cores: String(device.cores),
      platform: device.platform,
      ...(device.python_version === undefined ? {} : { python: device.python_version }),
      torch: `${device.torch_version} ${device.torch_build}`,
    },
    recommended: closed?.type === "study_closed" ? closed.recommended : null,
    trials,
  };
}
