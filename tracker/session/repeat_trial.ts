import { basename, join, resolve } from "node:path";
import {
  kindOf,
  replayStudy,
  rungNames,
  type StudyEvent,
  StudyLimits,
  StudyRequest,
  UsageError,
} from "../../core/mod.ts";
import { openArtifactStore } from "../artifacts/artifact_store.ts";
import { keepPlace } from "../lab/given/given_places.ts";
import { openLab } from "./lab.ts";
import { listFiles, sha256File } from "../ground/storage/file_hash.ts";
import type { StudySession } from "./study_session.ts";
import { type RecordedStudy, recordedStudy, type RecordedTrial } from "../lab/recorded_trial.ts";

/** How a trial is run again. */
export interface RepeatOptions {
  /** An empty folder of its own: nothing that was made before is found in it. */
  readonly folder: string;
  readonly command: string;
  readonly signal: AbortSignal;
  readonly onSetup: (line: string) => void;
  readonly onEvent: (event: StudyEvent) => void;
  /** Where model and data lie here, if elsewhere than they did. */
  readonly model?: string;
  readonly dataset?: string;
  /** Where checkpoints that were made elsewhere lie here. */
  readonly candidates?: readonly string[];
}

/** What ends a search, or proposes in it: one recipe is run, whatever that costs. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...Object.keys(StudyLimits.shape),
  "sampler",
  "strategist",
]);

/** What the trial's study asked for, without what ends it or proposes: one recipe is run. */
export function repeatedRequest(
  { request }: Pick<RecordedStudy, "request">,
  { model, dataset }: Pick<RepeatOptions, "model" | "dataset">,
): StudyRequest {
  const kept = Object.fromEntries(
    Object.entries(request).filter(([field]) => !LEFT_OUT.has(field)),
  );
  return StudyRequest.parse({
    ...kept,
    earlier_studies: false,
    ...(model === undefined ? {} : { model_name: model }),
    ...(dataset === undefined ? {} : { dataset }),
  });
}

/** The rungs that a trial was measured on, lowest first; of an old record without any, the first. */
export function climbedRungs(
  { measurements, answers }: Pick<RecordedTrial, "measurements" | "answers">,
  rungs: readonly string[],
): string[] {
  const seen = new Set([...measurements, ...answers].map(({ fidelity }) => fidelity));
  const climbed = rungs.filter((rung) => seen.has(rung));
  return climbed.length === 0 ? rungs.slice(0, 1) : climbed;
}

/** Refuses another model or other data: what comes of those says nothing of the trial. */
async function requireSame(study: RecordedStudy, session: StudySession): Promise<void> {
  const { model, dataset } = session.facts;
  if (study.dataset_sha256 !== dataset.sha256) {
    throw new UsageError(
      `Cannot reproduce ${study.study_id} with ${dataset.dataset} as it is not the file that was ` +
        `measured: its sha256 must be ${study.dataset_sha256 ?? "none"}, it is ` +
        `${dataset.sha256 ?? "none"}; name the right one by --dataset`,
    );
  }
  if (study.model.length === 0 || model.path === "") return;
  const known = new Map(study.model.map((file) => [file.path, file.sha256]));
  for (const path of await listFiles(model.path, { hidden: false })) {
    const found = await sha256File(join(model.path, path));
    const wanted = known.get(path);
    known.delete(path);
    if (wanted !== undefined && wanted !== found) throw otherModel(study, path, wanted, found);
  }
  for (const [path, wanted] of known) throw otherModel(study, path, wanted, "missing");
}

function otherModel(study: RecordedStudy, path: string, wanted: string, found: string) {
  return new UsageError(
    `Cannot reproduce ${study.study_id} as the model here is another: the sha256 of ${path} must be ` +
      `${wanted}, it is ${found}; name the right one by --model`,
  );
}

/** What a stranger needs where the model or the data cannot be read. */
function withHashes(error: unknown, study: RecordedStudy): unknown {
  if (!(error instanceof UsageError)) return error;
  const weights = study.model.filter(({ path }) => /\.(safetensors|gguf|bin)$/.test(path));
  const needs = [
    ...weights.map(({ path, sha256 }) =>
      `a model whose ${path} has the sha256 ${sha256} (--model)`
    ),
    ...(study.dataset_sha256 === null
      ? []
      : [`data with the sha256 ${study.dataset_sha256} (--dataset)`]),
  ];
  const more = needs.length === 0 ? "" : `; it needs ${needs.join(" and ")}`;
  return new UsageError(`Cannot reproduce ${study.study_id}: ${error.message}${more}`);
}

/** Refuses a trial of a checkpoint that was made elsewhere and is nowhere here. */
function requireGiven({ trial_id, actions }: RecordedTrial, { facts }: StudySession): void {
  const known = new Set(facts.given?.map(({ content }) => content));
  const gone = actions.find(({ params: { content } }) =>
    typeof content === "string" && !known.has(content)
  );
  if (gone === undefined) return;
  const { file, content } = gone.params;
  throw new UsageError(
    `Cannot reproduce ${trial_id} as ${file}, whose content is ${content}, is nowhere here: say ` +
      "where it lies by --candidates",
  );
}

/** Runs the trial's recipe again in a folder where nothing is; gives it as the journal there tells it. */
export async function repeatTrial(
  study: RecordedStudy,
  trial: RecordedTrial,
  options: RepeatOptions,
): Promise<RecordedStudy> {
  const { folder, ...told } = options;
  await using lab = await openLab({
    ...told,
    fresh: folder,
    write: true,
    notebook: false,
    mlflow: "",
  });
  using artifacts = await openArtifactStore(lab.home.artifacts);
  for (const path of options.candidates ?? []) {
    await keepPlace({ home: lab.home, artifacts }, basename(path), resolve(path));
  }
  const session = await openAgain(
    study,
    () => lab.open(repeatedRequest(study, options), "again"),
  );
  await requireSame(study, session);
  requireGiven(trial, session);
  await drive(session, trial, options);
  const store = (await lab.store.current())!; // it was written to
  const records = await store.journalOf(session.study_id);
  const made = records.filter((record) =>
    record.type === "artifact_written" && record.artifact.action !== null
  );
  if (made.some((record) => record.type === "artifact_written" && record.cached)) {
    throw new Error(`Cannot trust ${folder}: an artifact was found there and not made`);
  }
  const trials = replayStudy(records, session.study_id)?.trials ?? [];
  const last = trials.at(trial.actions.length === 0 ? 0 : -1);
  return await recordedStudy(store, session.study_id, last?.trial_id ?? "");
}

async function openAgain(study: RecordedStudy, open: () => Promise<StudySession>) {
  try {
    return await open();
  } catch (error) {
    throw withHashes(error, study);
  }
}

/** The trial's steps one by one: on each rung that it climbed, whatever would have stopped it today. */
async function drive(
  session: StudySession,
  trial: RecordedTrial,
  { signal, onEvent }: RepeatOptions,
): Promise<void> {
  if (!kindOf(session.request).needs.methods) {
    await session.run({ signal, onEvent });
    return;
  }
  await using hand = await session.byHand({ signal, onEvent });
  await hand.baseline();
  if (trial.actions.length === 0) return;
  const { fidelity } = session.request;
  const known = fidelity === undefined ? rungNames(hand.spec) : [fidelity];
  const [first, ...above] = climbedRungs(trial, known);
  const one = await hand.begin(hand.recipe(trial.actions));
  for (let left = trial.actions.length; left > 0 && one.ended === null; left--) {
    await one.apply();
    const midway = session.request.gate_actions === true && left > 1;
    if (midway && one.ended === null) await one.evaluate();
  }
  if (one.ended === null) await one.evaluate(first);
  if (one.ended === null) await one.measure();
  for (const rung of above) {
    if (one.ended === null) await one.evaluate(rung);
  }
  await one.learn();
}
