import {
  type Action,
  givenLimits,
  type JournalRecord,
  kindOf,
  LIMIT_OPTIONS,
  replayStudy,
  type RunRequest,
  type StudyLimits,
  StudyRequest,
  unknownName,
  UsageError,
  withLimits,
} from "../../core/mod.ts";
import type { Store } from "../store/store.ts";

/** A name for a study that people can say: model, dataset and time. */
export function studyName(request: RunRequest, now: Date): string {
  const word = (text: string) =>
    (text.split("/").filter((part) => part !== "").at(-1) ?? text).replace(
      /\.(gguf|jsonl)(\.gz)?$/,
      "",
    )
      .replaceAll(/[^A-Za-z0-9.-]+/g, "-").slice(0, 40).replaceAll(/^[-.]+|-+$/g, "");
  const time = now.toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15);
  // A name in other letters leaves nothing; one that begins with a dash would be an option.
  return `${word(request.model_name) || "model"}-${word(request.dataset) || "data"}-${time}`;
}

/** The newest study, or the one that is named; an unknown name gets the nearest. */
export async function findStudy(
  store: Store | null,
  study_id: string | undefined,
): Promise<{ store: Store; id: string }> {
  const ids = await store?.studyIds() ?? [];
  const id = study_id === undefined ? ids.at(-1) : ids.find((one) => one === study_id);
  if (store !== null && id !== undefined) return { store, id };
  throw new UsageError(
    study_id === undefined || ids.length === 0
      ? "Cannot find a study in this store: run one first"
      : unknownName("study", study_id, ids),
  );
}

/** The trial of that name: `STUDY/t03`, or `t03` of the newest study; an unknown one gets the nearest. */
export async function findTrial(
  store: Store,
  name: string,
): Promise<{ study_id: string; trial_id: string }> {
  const end = name.lastIndexOf("/");
  const { id } = await findStudy(store, end < 1 ? undefined : name.slice(0, end));
  const trial_id = end < 1 ? `${id}/${name}` : name;
  const study = replayStudy(await store.journalOf(id), id);
  const known = [...study?.trials ?? [], ...study?.open ?? []].map((trial) => trial.trial_id);
  if (known.includes(trial_id)) return { study_id: id, trial_id };
  throw new UsageError(unknownName("trial", trial_id, known));
}

/** What a study that is taken up works to; a limit of a kind of run that has none is refused. */
export function resumedRequest(
  request: RunRequest,
  limits: StudyLimits,
  study_id: string,
  add: readonly string[] = [],
): StudyRequest {
  const [first] = givenLimits(limits);
  const { needs, does } = kindOf(request);
  if (first !== undefined && !needs.limits) {
    throw new UsageError(
      `Cannot resume ${study_id} with ${LIMIT_OPTIONS[first]} as it ${does}: it has no limit`,
    );
  }
  if (add.length > 0 && !needs.methods) {
    throw new UsageError(`Cannot add checkpoints to ${study_id} as it ${does}`);
  }
  const strategies = [...request.strategies, ...add.map((checkpoint) => ({ checkpoint }))];
  return StudyRequest.parse({ ...withLimits(request, limits), strategies });
}

/** The actions of every trial that a study began. */
export function recordedActions(records: readonly JournalRecord[]): Action[] {
  return records.flatMap((record) =>
    record.type === "trial_opened" ? record.strategy?.actions ?? [] : []
  );
}

/** The facts that a study was opened with, and its request with the limits that were set last. */
export function openedRecord(records: readonly JournalRecord[], study_id: string) {
  const study = replayStudy(records, study_id);
  if (study === null) throw new UsageError(`Cannot resume "${study_id}": its opening is not kept`);
  return study.opened;
}
