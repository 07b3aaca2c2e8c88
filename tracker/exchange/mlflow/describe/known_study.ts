import type {
  Artifact,
  JournalRecord,
  StageDecision,
  Strategy,
  Trial,
} from "../../../../core/mod.ts";
import { measuredScores, type Score } from "./metric_names.ts";
import { type NameBook, newNameBook } from "./names.ts";

export type StudyOpened = Extract<JournalRecord, { type: "study_opened" }>;

/** What later records need to know of a trial. */
export interface KnownTrial {
  readonly trial_id: string;
  number: number | null;
  strategy: Strategy | null;
  started_at: string;
  seed: number | null;
  /** Stages whose artifact is written, in order; empty for the baseline. */
  stages: string[];
  artifact: Artifact | null;
  notes: string[];
}

/** What later records need to know of a study: folded from its records, from the first on. */
export interface KnownStudy {
  readonly study_id: string;
  readonly first_at: string;
  opened: StudyOpened | null;
  /** The baseline's scores by rung, then by task. */
  readonly baseline: Map<string, Map<string, Score>>;
  readonly trials: Map<string, KnownTrial>;
  /** Every artifact that was written, by id: a setting names its weights by theirs. */
  readonly artifacts: Map<string, Artifact>;
  /** Trials that have ended, by id. */
  readonly closed: Map<string, Trial>;
  /** The ledger of a staged run. */
  readonly decisions: StageDecision[];
  notes: string[];
  /** How its metrics, params and tags are called on the server. */
  readonly names: NameBook;
}

/** The study that a record belongs to; null where it belongs to none that is mirrored. */
export function studyOf(record: JournalRecord): string | null {
  switch (record.type) {
    case "trial_closed":
      return record.trial.study_id;
    case "episode_closed":
      return record.episode.study_id;
    case "run_imported": // it is kept where it came from
      return null;
    default:
      return record.study_id;
  }
}

export function newStudy(study_id: string, first_at: string): KnownStudy {
  return {
    study_id,
    first_at,
    opened: null,
    baseline: new Map(),
    trials: new Map(),
    artifacts: new Map(),
    closed: new Map(),
    decisions: [],
    notes: [],
    names: newNameBook(),
  };
}

/** The trial, known from now on. */
export function trialOf(study: KnownStudy, trial_id: string, at: string): KnownTrial {
  const known = study.trials.get(trial_id);
  if (known !== undefined) return known;
  const trial: KnownTrial = {
    trial_id,
    number: null,
    strategy: null,
    started_at: at,
    seed: null,
    stages: [],
    artifact: null,
    notes: [],
  };
  study.trials.set(trial_id, trial);
  return trial;
}

/** A stage's name: its method, numbered where a recipe uses it again. */
function stageName(method: string, before: readonly string[]): string {
  const again = before.filter((name) => name.replace(/_\d+$/, "") === method).length;
  return again === 0 ? method : `${method}_${again + 1}`;
}

/** The stages of a recipe by name, in order. */
export function stageNames(actions: readonly { method: string }[]): string[] {
  return actions.reduce<string[]>((names, { method }) => [...names, stageName(method, names)], []);
}

/** Takes a record in; to be called once for each, in order. */
export function learn(study: KnownStudy, record: JournalRecord): void {
  if (record.type === "study_opened") study.opened = record;
  if (record.type === "stages_decided") study.decisions.push(...record.decisions);
  if (record.type === "note" && record.trial_id === null) study.notes.push(record.text);
  if (record.type === "trial_closed") {
    trialOf(study, record.trial.trial_id, record.at);
    study.closed.set(record.trial.trial_id, record.trial);
  }
  if (!("trial_id" in record) || record.trial_id === null) return;
  const trial = trialOf(study, record.trial_id, record.at);
  if (record.type === "trial_opened") {
    // Opened again after an interruption: it starts anew.
    Object.assign(trial, { number: record.number, strategy: record.strategy, stages: [] });
    trial.started_at = record.at;
    trial.seed = record.seed ?? null;
    trial.artifact = null;
  } else if (record.type === "artifact_written") {
    const { artifact } = record;
    if (artifact.action !== null) {
      trial.stages.push(stageName(artifact.action.method, trial.stages));
    }
    trial.artifact = artifact;
    study.artifacts.set(artifact.artifact_id, artifact);
  } else if (record.type === "measured" && trial.strategy === null && trial.number === 0) {
    for (const fidelity of new Set(record.measurements.map((row) => row.fidelity))) {
      const scores = measuredScores(record.measurements, fidelity);
      study.baseline.set(fidelity, new Map([...study.baseline.get(fidelity) ?? [], ...scores]));
    }
  } else if (record.type === "note") trial.notes.push(record.text);
}
