import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type Drift,
  type Reproduced,
  type StudyEvent,
  unknownName,
  UsageError,
} from "../../../core/mod.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { isRoutine } from "../../../python-backends/environments/pip.ts";
import { finite, jsonText } from "../../show/json/print_json.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { findStudy, findTrial } from "../../lab/find_study.ts";
import { findHome, type Home } from "../../ground/home.ts";
import { differenceText } from "../../store/rows/drift_rows.ts";
import { readText } from "../../ground/storage/plain_file.ts";
import { openStore } from "../../store/store.ts";
import { textTable } from "../../show/terminal/table.ts";
import { differencesOf, driftOf } from "../../exchange/reproduce/compare_recorded.ts";
import { lockedEnvironments } from "../../exchange/reproduce/locks.ts";
import { RecordedStudy, recordedStudy, type RecordedTrial } from "../../lab/recorded_trial.ts";
import { keptChanges } from "../../jobs/queue/code_changes.ts";
import { repeatTrial } from "../../session/repeat_trial.ts";

interface ReproduceOptions {
  store?: string;
  from?: string;
  model?: string;
  dataset?: string;
  candidates?: string[];
  locks?: boolean;
  json?: boolean;
}

/** A study's document, and the one of its trials that is meant. */
interface Meant {
  readonly study: RecordedStudy;
  readonly trial: RecordedTrial;
}

/** Bytes of a recorded study, which has a hash of every answer. */
const LONGEST = 500_000_000;

/** The study of a published folder. */
export function readRecorded(folder: string): RecordedStudy {
  const path = join(folder, "recorded.json");
  try {
    return RecordedStudy.parse(JSON.parse(readText(path, LONGEST)));
  } catch (error) {
    const why = !existsSync(path)
      ? "there is none: name a folder that `pare publish` wrote"
      : "this pare cannot read it: it is damaged, or another version's";
    throw new UsageError(`Cannot read ${path}: ${why}`, { cause: error });
  }
}

/** The named trial of a study, `t03` or with the study before it; default: what it recommends. */
export function trialNamed(study: RecordedStudy, name: string | undefined): RecordedTrial {
  const ids = study.trials.map(({ trial_id }) => trial_id);
  const meant = name === undefined || name === study.study_id
    ? study.recommended ?? ids.findLast((_, at) => study.trials[at]!.measurements.length > 0)
    : ids.find((id) => id === name || id === `${study.study_id}/${name}`);
  const trial = study.trials.find(({ trial_id }) => trial_id === meant);
  if (trial === undefined) {
    throw new UsageError(
      ids.length === 0
        ? `Cannot reproduce ${study.study_id} as no trial of it is recorded`
        : unknownName("trial", name ?? "", ids),
    );
  }
  if (trial.measurements.length === 0) {
    throw new UsageError(
      `Cannot reproduce ${trial.trial_id} as it ${trial.state}: nothing of it was measured`,
    );
  }
  return trial;
}

async function meantBy(
  home: Home,
  name: string | undefined,
  { from }: ReproduceOptions,
): Promise<Meant> {
  if (from !== undefined) {
    const study = readRecorded(resolve(from));
    return { study, trial: trialNamed(study, name) };
  }
  await using store = await openStore(home.store, { write: false });
  const ids = (await store.studies()).map(({ study_id }) => study_id);
  const whole = name === undefined || ids.includes(name);
  const trial = whole ? null : await findTrial(store, name);
  const study = await recordedStudy(
    store,
    trial?.study_id ?? (await findStudy(store, name)).id,
    trial?.trial_id,
  );
  return { study, trial: trialNamed(study, trial?.trial_id) };
}

/** The worst of the verdicts; what is not compared counts for nothing. */
function verdictOf(drift: readonly Drift[]): "equal" | "within_noise" | "different" {
  const verdicts = new Set(drift.map(({ verdict }) => verdict));
  if (verdicts.has("different")) return "different";
  return verdicts.has("within_noise") ? "within_noise" : "equal";
}

function figure(value: number | null): string {
  if (value === null) return "–";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}

/** The drift as a table, then what differs, then the answer. */
export function driftText(record: Reproduced, folder: string, notes: readonly string[]): string {
  const rows = record.drift.map((one) => [
    one.task === null ? one.metric : `${one.metric} (${one.task})`,
    figure(one.recorded),
    figure(one.again),
    one.interval === null ? "" : one.interval.map(figure).join(" to "),
    one.verdict.replaceAll("_", " ") + (one.reason === null ? "" : `: ${one.reason}`),
  ]);
  const counted = [...Map.groupBy(record.drift, ({ verdict }) => verdict)]
    .map(([verdict, all]) => `${all.length} ${verdict.replaceAll("_", " ")}`);
  return [
    textTable(["figure", "recorded", "again", "noise", "verdict"], rows),
    "",
    ...record.differences.map((one) => `differs: ${differenceText(one)}`),
    ...notes.map((note) => `note: ${note}`),
    `${record.trial_id} again: ${record.state}; ${counted.join(", ")}`,
    `Run again in ${folder}`,
  ].join("\n");
}

function onEvent(event: StudyEvent): void {
  if (event.event !== "record" || event.record.type !== "trial_opened") return;
  console.error(event.record.strategy === null ? "measuring the baseline" : "running the trial");
}

/** The drift stays with the store, so that it can be asked for in SQL. */
async function keep(home: Home, record: Reproduced): Promise<void> {
  await using store = await openStore(home.store, { write: true });
  await store.record(record);
}

/** Makes the recorded environments of a folder's locks where that is asked for; says where it is not. */
async function useLocks(
  trial: RecordedTrial,
  { from, locks = false }: ReproduceOptions,
): Promise<void> {
  if (from === undefined) {
    if (!locks) return;
    throw new UsageError("Cannot use --locks without --from: a folder's locks are meant");
  }
  const { environments } = await discoverPlugins();
  const folder = resolve(from);
  const onProgress = ({ line }: { line: string }) => isRoutine(line) || console.error(line);
  const { made, others } = await lockedEnvironments(trial, folder, {
    ...{ wanted: locks, environments },
    make: (name, pins_directory) => ensureEnvironment(name, { pins_directory, onProgress }),
  });
  for (const [variable, python] of Object.entries(made)) Deno.env.set(variable, python);
  for (const sentence of others) console.error(`note: ${sentence}`);
}

/** `pare reproduce`: exit code 0 where all is equal or within noise, 1 where something differs. */
export async function reproduceCommand(
  name: string | undefined,
  options: ReproduceOptions,
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  const { study, trial } = await meantBy(home, name, options);
  await useLocks(trial, options);
  const at = new Date().toISOString();
  const short = `${trial.trial_id}-${at.replaceAll(/[-:]|\..*/g, "")}`;
  const reproduction_id = short.replaceAll(/[^A-Za-z0-9.-]+/g, "-");
  const folder = join(home.root, "reproductions", reproduction_id);
  mkdirSync(folder, { recursive: true });
  const stop = new AbortController();
  Deno.addSignalListener("SIGINT", () => stop.signal.aborted ? Deno.exit(130) : stop.abort());
  console.error(`reproducing ${trial.trial_id} in ${folder}`);
  const again = await repeatTrial(study, trial, {
    ...{ folder, onEvent, signal: stop.signal, onSetup: (line: string) => console.error(line) },
    command: `deno task pare reproduce ${trial.trial_id}`,
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.dataset === undefined ? {} : { dataset: options.dataset }),
    ...(options.candidates === undefined ? {} : { candidates: options.candidates }),
  });
  const repeated = again.trials[0];
  if (repeated === undefined || stop.signal.aborted) {
    throw new UsageError(`Cannot say whether ${trial.trial_id} is reproduced: it was interrupted`);
  }
  const pair = [{ study, trial }, { study: again, trial: repeated }] as const;
  const record: Reproduced = {
    ...{ type: "reproduced", at, study_id: study.study_id, trial_id: trial.trial_id },
    ...{ reproduction_id, state: repeated.state },
    differences: differencesOf(...pair),
    drift: driftOf(...pair),
  };
  await keep(home, record);
  const verdict = verdictOf(record.drift);
  const notes = options.from === undefined ? changesOf(home, trial) : [];
  console.log(options.json ? jsonOf(record, folder, verdict) : driftText(record, folder, notes));
  if (verdict === "different") Deno.exitCode = 1;
}

/** What is known of the changes that the recorded commit was run with. */
function changesOf({ store }: Home, { trial_id, provenance }: RecordedTrial): string[] {
  if (provenance.code_commit?.endsWith("-dirty") !== true) return [];
  const kept = keptChanges(store, trial_id.slice(0, trial_id.lastIndexOf("/")));
  return [
    kept === null
      ? "it was recorded with changes to its commit that are not kept"
      : `it was recorded with changes to its commit, which ${kept} holds: git apply makes them again`,
  ];
}

function jsonOf(
  { trial_id, reproduction_id, state, differences, drift }: Reproduced,
  folder: string,
  verdict: "equal" | "within_noise" | "different",
): string {
  return jsonText("reproduction", {
    ...{ trial: trial_id, reproduction: reproduction_id, folder, state, verdict, differences },
    drift: drift.map((one) => ({
      ...one,
      recorded: finite(one.recorded),
      again: finite(one.again),
    })),
  });
}
