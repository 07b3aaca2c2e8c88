import {
  type Artifact,
  type ArtifactFigure,
  dataNeed,
  describedKnobs,
  type Effect,
  type FailureKind,
  type Outcome,
  type ResolvedAction,
  type Span,
  triedLoader,
} from "../../../core/mod.ts";
import { readSetting } from "../../artifacts/artifact_files.ts";
import { actionKey } from "../../artifacts/action_key.ts";
import { LAYERS, TEACHERS } from "../../artifacts/form_garbage.ts";
import { givenPath } from "../given/given_places.ts";
import { installedCode } from "../given/own_code.ts";
import { environmentOf } from "./artifact_place.ts";
import { diskShortage, keepToLimit, worksOn } from "./action_room.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import { methodSource, packageSource } from "./source_closure.ts";
import { storageFailure } from "../../ground/storage/storage_error.ts";
import { type CallRunner, failed } from "./call_runner.ts";
import { usedData } from "./study_windows.ts";
import type { Workshop } from "./workshop.ts";

/** The models that a study begins with. */
export interface ActionModels {
  /** The uncompressed model. */
  readonly original: Artifact;
  /** The smaller one that the user named, which may take its place; null: none. */
  readonly student: Artifact | null;
}

export interface ApplyInput extends ActionModels {
  readonly workshop: Workshop;
  readonly study: PreparedStudy;
  readonly runner: CallRunner;
  readonly trial_id: string;
  readonly parent: Artifact;
  readonly action: ResolvedAction;
  /** Number of the action in its trial, from 0. */
  readonly action_index: number;
}

/** An action with the model that it leads back to, where it does; null: it does not. */
interface KnownInput extends ApplyInput {
  readonly reference: Artifact | null;
}

type Applied = Outcome<{ artifact: Artifact; cached: boolean }>;

/** The windows of text that an action works on; null: none. */
function dataOf({ workshop, study, action }: ApplyInput) {
  const { method } = workshop.registry.method(action.agent, action.method);
  return usedData(study.windows, dataNeed(method, action.params));
}

async function keyOf(input: KnownInput): Promise<string> {
  const { workshop, study, parent, action, reference, runner } = input;
  const entry = workshop.registry.method(action.agent, action.method);
  const { method, python_path } = entry;
  const installed = await installedCode(runner, entry);
  const student = studentOf(input);
  return actionKey({
    parent_id: parent.artifact_id,
    action,
    seed: study.seed,
    data_sha256: dataOf(input)?.used.sha256 ?? null,
    source_closure_sha256: await methodSource(
      action.agent,
      method,
      python_path,
      installed,
    ),
    environment_hash: await workshop.environmentHash(method.needs.environment),
    ...await toolHashOf(input),
    ...(method.needs.teacher === true ? { original_id: input.original.artifact_id } : {}),
    ...(student === null ? {} : { student_id: student.artifact_id }),
    ...(reference === null ? {} : { reference_id: reference.artifact_id }),
    ...(Object.keys(study.options.apply).length === 0 ? {} : { options: study.options.apply }),
  });
}

/** What every action of a study is asked. */
function askedOfAll({ seed, device, cpu_power, options, workers }: ApplyInput["study"]) {
  return { seed, device, cpu_power, ...options.apply, ...(workers > 1 ? { beside: true } : {}) };
}

/** The named student where the action may train it: in the place of the untouched model. */
function studentOf({ workshop, parent, original, student, action }: ApplyInput): Artifact | null {
  const { needs } = workshop.registry.method(action.agent, action.method).method;
  const untouched = parent.artifact_id === original.artifact_id;
  return needs.teacher === true && untouched ? student : null;
}

/** The uncompressed model for a method that learns from it, and the folder of what it answers. */
async function originalOf(input: ApplyInput) {
  const { workshop, original, action } = input;
  const { needs } = workshop.registry.method(action.agent, action.method).method;
  if (needs.teacher !== true) return {};
  const key = `${original.artifact_id}-${await workshop.environmentHash(needs.environment)}`;
  const { directory } = await workshop.caches.cached(TEACHERS, key, () => Promise.resolve());
  const student_dir = studentOf(input)?.location ?? null;
  return { original_dir: original.location, original_cache: directory, student_dir };
}

/** What leaves a model's function as near as it can, in fewer bits or weights: it can be led back. */
const LOSSY: ReadonlySet<Effect> = new Set(["prunes", "rounds", "encodes"]);

/** The model before the latest actions in a row that rounded or pruned, for a method that leads back. */
async function referenceOf({ workshop, parent, action }: ApplyInput): Promise<Artifact | null> {
  const { artifacts, registry } = workshop;
  if (registry.method(action.agent, action.method).method.needs.reference !== true) return null;
  const isLossy = ({ action }: Artifact) =>
    action !== null && LOSSY.has(registry.method(action.agent, action.method).method.order.effect);
  let found = parent;
  while (isLossy(found)) {
    const before = await artifacts.get(found.parent_id!);
    if (before === null) {
      throw new Error(
        `the artifact ${found.parent_id}, which the action leads back to, was removed meanwhile; ` +
          "run the trial again, with a larger --max-disk where one is set",
      );
    }
    found = before;
  }
  return found;
}

/** The folder of a model's rounded layers, as this code and these libraries round them. */
export async function layerCache(
  { caches, environmentHash }: Pick<Workshop, "caches" | "environmentHash">,
  artifact_id: string,
): Promise<string> {
  const source = await packageSource("quantization", "checkpoint", "pruning/block_pass.py");
  const key = `${artifact_id}-${source.slice(0, 16)}-${await environmentHash("default")}`;
  const { directory } = await caches.cached(LAYERS, key, () => Promise.resolve());
  return directory;
}

/** That folder, for a method that puts kept layers together. */
async function layersOf({ workshop, parent, action }: ApplyInput) {
  const { needs } = workshop.registry.method(action.agent, action.method).method;
  if (needs.keeps_layers !== true) return {};
  return { layer_cache: await layerCache(workshop, parent.artifact_id) };
}

/** Of that program's environment, and of the runtimes' own half, where it lies and no import leads to. */
async function toolHashOf({ workshop, action }: ApplyInput) {
  const { tool } = workshop.registry.method(action.agent, action.method).method.needs;
  if (tool === undefined) return {};
  return {
    tool_hash: `${await workshop.environmentHash(tool)} ${await packageSource("runtimes")}`,
  };
}

/** The interpreter of the program that a method runs beside, and where what it is given lies. */
async function toolOf({ workshop, action }: ApplyInput) {
  const { tool, given } = workshop.registry.method(action.agent, action.method).method.needs;
  const content = String(action.params["content"]);
  const path = given === true ? await givenPath(workshop, content) : null;
  return {
    ...(tool === undefined ? {} : { tool_python: await workshop.client.pythonOf(tool) }),
    ...(path === null ? {} : { given_path: path }),
  };
}

/** What a method says of its artifact, with every trial that uses it: whoever loads it must know. */
async function recordNotes({ workshop, study, trial_id }: ApplyInput, artifact: Artifact) {
  const { artifact_id, notes = [] } = artifact;
  for (const [index, text] of notes.entries()) {
    await workshop.store.record({
      type: "note",
      at: workshop.timestamp(),
      study_id: study.study_id,
      trial_id,
      note_id: `${trial_id}/${artifact_id}/${index}`,
      text,
    });
  }
}

/** All that is known of an artifact in numbers: how far each layer is from its source, and its method's own. */
function figuresOf({ layer_cosines = [], figures = [] }: Artifact): readonly ArtifactFigure[] {
  return [
    ...layer_cosines.map((one) => ({ ...one, metric: "cosine", unit: "1" })),
    ...figures,
  ];
}

/** An artifact's figures, in every store that uses it, also where it was made before. */
async function recordFigures({ workshop, study, trial_id }: ApplyInput, artifact: Artifact) {
  const { artifact_id } = artifact;
  for (const [metric, found] of Map.groupBy(figuresOf(artifact), (one) => one.metric)) {
    await workshop.store.record({
      type: "layer_sensitivities",
      at: workshop.timestamp(),
      study_id: study.study_id,
      trial_id,
      artifact_id,
      metric,
      unit: found[0]!.unit,
      layers: found.map(({ layer, value }) => ({ layer, value })),
    });
  }
}

/** The last work on each artifact's key: whoever asks for the same meanwhile finds what it made. */
const being_made = new Map<string, Promise<unknown>>();

async function oneByOne<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = being_made.get(key) ?? Promise.resolve();
  const own = before.catch(() => {}).then(work);
  being_made.set(key, own);
  try {
    return await own;
  } finally {
    if (being_made.get(key) === own) being_made.delete(key);
  }
}

/** Makes, writes and verifies the child of an artifact, or finds it by its key; its figures and notes
 * are recorded with the trial. */
export async function applyAction(input: ApplyInput): Promise<Applied> {
  const applied = await findOrMake(input);
  if (!applied.ok) return applied;
  try {
    await recordFigures(input, applied.value.artifact);
    await recordNotes(input, applied.value.artifact);
    return applied;
  } catch (error) {
    return failed(storageFailure(error, "apply"), applied.spans);
  }
}

/** The same for a trial that has not begun: nothing is recorded yet. */
async function findOrMake(asked: ApplyInput): Promise<Applied> {
  const spans: Span[] = [];
  try {
    const input = { ...asked, reference: await referenceOf(asked) };
    const key = await keyOf(input);
    worksOn(input, input.parent, ...(input.reference === null ? [] : [input.reference]));
    const applied = await oneByOne(`${input.workshop.artifacts.root} ${key}`, async () => {
      const found = await input.workshop.artifacts.find(key);
      return found === null
        ? await make(input, key, spans)
        : { ok: true as const, value: { artifact: found, cached: true }, spans };
    });
    if (applied.ok) worksOn(input, input.parent, applied.value.artifact);
    return applied;
  } catch (error) {
    return failed(storageFailure(error, "apply"), spans);
  }
}

/** Ends of an action that say nothing against it: begun again, it goes on where it was. */
const INTERRUPTED: ReadonlySet<FailureKind> = new Set([
  "cancelled",
  "crash",
  "stall",
  "out_of_memory",
  "disk_full",
]);

/** Makes the artifact with a working folder, which stays where the action was interrupted. */
async function make(input: KnownInput, key: string, spans: Span[]): Promise<Applied> {
  const work = await input.workshop.artifacts.workFolder(key);
  let keep = true;
  try {
    const applied = await makeIn(input, key, work.directory, spans);
    keep = !applied.ok && INTERRUPTED.has(applied.failure.kind);
    return applied;
  } finally {
    await work.release({ keep });
  }
}

/** What to do where a disk is full. */
const MORE_DISK = "Free disk, run `pare gc --max-disk SIZE`, or move PARE_HOME";

async function makeIn(
  input: KnownInput,
  key: string,
  work_dir: string,
  spans: Span[],
): Promise<Applied> {
  const { workshop, study, runner, trial_id, parent, action, action_index } = input;
  const shortage = await diskShortage(input);
  if (shortage !== null) {
    return failed({ kind: "disk_full", message: shortage, hint: MORE_DISK, phase: "apply" }, []);
  }
  const { method, python_path } = workshop.registry.method(action.agent, action.method);
  const data = dataOf(input);
  const directory = await workshop.artifacts.begin();
  try {
    const applied = await runner(
      trial_id,
      {
        call: "apply",
        parent_dir: parent.location,
        output_dir: directory,
        agent: action.agent,
        method: action.method,
        params: action.params,
        calibration_path: data?.used.kind === "calibration" ? data.path : null,
        python_path,
        ...(python_path === null ? {} : { knobs: describedKnobs(method.knobs) }),
        training_path: data?.used.kind === "training" ? data.path : null,
        work_dir,
        parent_id: parent.artifact_id,
        ...await originalOf(input),
        reference_dir: input.reference?.location ?? null,
        ...await layersOf(input),
        ...await toolOf(input),
        ...askedOfAll(study),
      },
      method.needs.environment,
      { action_index },
    );
    spans.push(...applied.spans);
    if (!applied.ok) return failed(applied.failure, spans);
    const setting = await readSetting(directory);
    const verified = await runner(trial_id, {
      call: "verify",
      artifact_dir: directory,
      source_dir: parent.location,
      ...(setting === null ? {} : { weights_dir: parent.location }),
      plain_load: applied.value.loader === "transformers",
      ...study.options.verify,
    }, setting === null ? "default" : method.needs.environment);
    if (!verified.ok) return failed(verified.failure, [...spans, ...verified.spans]);
    const { formula_bytes, weight_bits, activation_bits, floats, figures } = applied.value;
    const { cosines, ...verification } = verified.value;
    const committing = performance.now();
    const artifact = await workshop.artifacts.commit(directory, {
      action_key: key,
      parent_id: parent.artifact_id,
      action,
      formula_bytes,
      weight_bits,
      activation_bits,
      ...triedLoader(applied.value, verification.plain_load),
      floats,
      model: { ...(parent.model ?? study.model), ...applied.value.model },
      verification,
      layer_cosines: cosines,
      figures,
      data: data?.used ?? null,
      created_at: workshop.timestamp(),
    });
    const seconds = (performance.now() - committing) / 1000;
    // Before the spans of the check: hashing what was written belongs to making it.
    spans.push({ name: "commit", seconds, library: false }, ...verified.spans);
    worksOn(input, parent, artifact);
    await keepToLimit(input);
    return { ok: true, value: { artifact, cached: false }, spans };
  } finally {
    await workshop.artifacts.discard(directory); // nothing is there where it was committed
  }
}

/**
 * The artifacts of other settings of the weights that an artifact is a setting of, found or made: none
 * has a weight of its own. One that cannot be made is left out, as its own trial tells why.
 */
export async function settingsBeside(
  input: Omit<ApplyInput, "parent" | "action" | "action_index">,
  artifact: Artifact,
  actions: readonly ResolvedAction[],
): Promise<Artifact[]> {
  if (artifact.weights_id === undefined || actions.length === 0) return [];
  const parent = await input.workshop.artifacts.weightsOf(artifact);
  if (parent === null) return []; // whoever evaluates the artifact says so
  const found: Artifact[] = [];
  const { registry } = input.workshop;
  const runs = ({ agent, method }: Pick<ResolvedAction, "agent" | "method">) =>
    registry.method(agent, method).method.needs.environment;
  const own = environmentOf(registry, artifact);
  for (const action of actions.filter((one) => runs(one) === own)) {
    const made = await findOrMake({ ...input, parent, action, action_index: 0 });
    if (made.ok) found.push(made.value.artifact);
  }
  return found;
}
