import { type ImportedRun, unknownName, UsageError } from "../../../core/mod.ts";
import { reasonOf } from "./foreign_values.ts";
import { type Foreign, type ForeignRun, UNSAID } from "./import_runs.ts";
import { listStudies, openOptuna, readStudy } from "./optuna_file.ts";
import { attributeText, readParam, storedNumber } from "./optuna_values.ts";
import { runsOrRefused } from "./sqlite_file.ts";
import { shortHash, studyId } from "./study_id.ts";

const STATES: Readonly<Record<string, ImportedRun["state"]>> = {
  RUNNING: "running",
  COMPLETE: "completed",
  PRUNED: "stopped",
  FAIL: "failed",
};

/** System attributes that say something of a trial; the others are samplers' own state. */
const TOLD = ["constraints", "fixed_params"];

/** Times of Optuna 5 are UTC, those of older versions the time of the machine that wrote them. */
function momentOf(text: string | null, utc: boolean): string | null {
  if (text === null) return null;
  const at = new Date(`${text.replace(" ", "T")}${utc ? "Z" : ""}`);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

type Study = ReturnType<typeof readStudy>;
type Trial = Study["trials"][number];

function measurementsOf({ measured, objectives }: Study, { trial_id }: Trial) {
  return (measured.get(trial_id) ?? []).map(({ place, value, kind }) => ({
    ...UNSAID,
    metric: objectives[Number(place)]?.metric ?? `values_${place}`,
    value: storedNumber(value, kind),
    direction: objectives[Number(place)]?.direction ?? null,
    objective: Number(place),
  }));
}

/** Intermediate values are those of a study with one objective. */
function seriesOf({ intermediate, objectives }: Study, { trial_id }: Trial): ForeignRun["series"] {
  const steps = intermediate.get(trial_id);
  if (steps === undefined) return [];
  return [{
    metric: objectives[0]?.metric ?? "value",
    steps: steps.map(({ place }) => place),
    values: steps.map(({ value, kind }) => storedNumber(value, kind)),
    times: null,
  }];
}

function tagsOf({ attributes: { study, user, system } }: Study, { trial_id }: Trial) {
  const told = (system.get(trial_id) ?? []).filter(({ key }) => TOLD.includes(key));
  const own = [...(user.get(trial_id) ?? []), ...told];
  return Object.fromEntries([
    ...study,
    ...own.map(({ key, value_json }) => [key, attributeText(value_json)]),
  ]);
}

function failureOf({ attributes }: Study, { trial_id }: Trial): string | null {
  const system = attributes.system.get(trial_id) ?? [];
  const reason = system.find(({ key }) => key === "fail_reason");
  return reason === undefined ? null : attributeText(reason.value_json);
}

function* runsOf(study: Study, study_name: string, utc: boolean): Generator<Foreign> {
  // A study has no identity of its own: its name and its first moment are kept wherever it is copied.
  const starts = study.trials.flatMap(({ datetime_start }) => datetime_start ?? []).sort();
  const identity = `${study_name}\n${starts[0] ?? ""}`;
  const runOf = (trial: Trial): ForeignRun => {
    const { number, state } = trial;
    const params = study.params.get(trial.trial_id) ?? [];
    return {
      source_id: `${shortHash(identity, 12)}/${number}`,
      study_id: studyId("optuna", study_name, identity),
      study_name,
      number,
      name: `trial ${number}`,
      parent_id: null,
      state: STATES[state] ?? "invalid",
      failure_message: failureOf(study, trial),
      started_at: momentOf(trial.datetime_start, utc),
      finished_at: momentOf(trial.datetime_complete, utc),
      params: params.map(({ param_name, param_value, distribution_json }) =>
        readParam(param_name, param_value, distribution_json)
      ),
      measurements: measurementsOf(study, trial),
      series: seriesOf(study, trial),
      tags: tagsOf(study, trial),
    };
  };
  for (const trial of study.trials) {
    try {
      yield runOf(trial);
    } catch (error) {
      const what = `trial ${trial.number} of the study ${study_name}`;
      yield { left_out: { what, why: reasonOf(error) } };
    }
  }
}

/**
 * The trials of an Optuna file, of one study where it is named. The file is only read; trials that
 * wait to be run are left for a later import.
 */
export function optunaRuns(path: string, name?: string): Generator<Foreign> {
  return runsOrRefused(path, studyRuns(path, name));
}

function* studyRuns(path: string, name: string | undefined): Generator<Foreign> {
  const { database, library_version } = openOptuna(path);
  try {
    const studies = listStudies(database);
    const chosen = studies.filter(({ study_name }) => name === undefined || study_name === name);
    if (name !== undefined && chosen.length === 0) {
      throw new UsageError(
        unknownName("study", name, studies.map(({ study_name }) => study_name)),
      );
    }
    const utc = Number.parseInt(library_version) >= 5;
    for (const { study_id, study_name } of chosen) {
      yield* runsOf(readStudy(database, study_id), study_name, utc);
    }
  } finally {
    database.close();
  }
}
