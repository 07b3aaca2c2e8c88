import { extname, join } from "node:path";
import type { JournalRecord } from "../../../../core/mod.ts";
import { decodeIntegers, decodeValues } from "../../../store/points/columns.ts";
import type { Checkpoints } from "../checkpoints.ts";
import {
  describeClosing,
  describeEpisode,
  describeLimits,
  describeOpening,
} from "./describe_study.ts";
import { describeStages } from "./describe_stages.ts";
import { describeArtifact, describeTrialClosing, describeTrialOpening } from "./describe_trial.ts";
import { type Effect, jsonText, points, type Recipient, tags } from "./effects.ts";
import type { KnownStudy } from "./known_study.ts";
import type { Metric } from "../client/log_batch.ts";
import { measurementPoints } from "./metric_names.ts";
import { type Clash, named } from "./names.ts";
import { noteContent } from "./note_content.ts";

type Of<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

/** Names of a record's metrics: two actions of a trial may log one of the same name. */
function keysOf({ metrics, action_index }: Of<"points">): string[] {
  return action_index === undefined
    ? metrics
    : metrics.map((metric) => `stage${action_index}/${metric}`);
}

/** The points of a record by number, one metric after the other: its size, and some of them. */
function pointsOf(record: Of<"points">) {
  const { rows } = record;
  const metrics = keysOf(record);
  const steps = decodeIntegers(record.step, rows);
  const times = decodeIntegers(record.happened_at, rows);
  const values = decodeValues(record);
  return {
    count: rows * metrics.length,
    slice(from: number, to: number): Metric[] {
      return Array.from({ length: to - from }, (_, i): Metric => {
        const [column, row] = [Math.floor((from + i) / rows), (from + i) % rows];
        return {
          key: metrics[column]!,
          value: values[column]![row]!,
          timestamp: times[row]!,
          step: steps[row]!,
        };
      });
    },
  };
}

function describeResources(to: Recipient, record: Of<"resources">): Effect {
  const { call, seconds } = record;
  const figures = {
    [`resources/${call}/rss_bytes`]: record.rss_bytes,
    [`resources/${call}/cpu_utilisation`]: record.cpu_utilisation,
    [`resources/${call}/free_memory_bytes`]: record.free_memory_bytes,
    [`resources/${call}/gpu_memory_bytes`]: record.gpu_memory_bytes,
    [`resources/${call}/gpu_utilisation`]: record.gpu_utilisation,
    [`resources/${call}/power_watts`]: record.power_watts,
  };
  const metrics = points(figures, Date.parse(record.at), Math.round(seconds));
  return { to, kind: "log", data: { metrics } };
}

function describeEnergy(to: Recipient, record: Of<"energy_read">): Effect {
  const { call, joules, seconds, tokens } = record;
  const figures = {
    [`energy/${call}/joules`]: joules,
    [`energy/${call}/seconds`]: seconds,
    [`energy/${call}/tokens`]: tokens,
  };
  return logged(to, points(figures, Date.parse(record.at)));
}

function logged(to: Recipient, metrics: readonly Metric[]): Effect {
  return { to, kind: "log", data: { metrics } };
}

function tagged(to: Recipient, key: string, value: string): Effect {
  return { to, kind: "log", data: { tags: tags({ [key]: value }) } };
}

/** What describing needs to know besides the study. */
export interface Describing {
  /** The store's folder. */
  readonly root: string;
  readonly checkpoints: Checkpoints;
  /** Told of a name that had to be told apart from another one. */
  readonly onClash?: (clash: Clash) => void;
}

/** Some of what a record asks, in order. */
export interface Part {
  readonly effects: readonly Effect[];
  /** Points of the record up to the end of this part; null: it is the record's last. */
  readonly points: number | null;
}

/**
 * What a record asks of the server, in parts, each bounded however large the record is: `from` of
 * its points are there already, and a part has `most()` more at most. To be called once for each of
 * a study's records in order, the study known up to and with this one: names are given as they come.
 */
export function* describe(
  record: JournalRecord,
  study: KnownStudy,
  { onClash, ...options }: Describing,
  { from = 0, most = () => Infinity }: { from?: number; most?: () => number } = {},
): Generator<Part> {
  const name = (effect: Effect): Effect =>
    effect.kind === "log" ? named(effect, study.names, onClash) : effect;
  if (record.type !== "points") {
    yield { effects: effectsOf(record, study, options).map(name), points: null };
    return;
  }
  for (const metric of keysOf(record)) study.names.nameOf("metrics", metric);
  const { study_id, trial_id } = record;
  const { count, slice } = pointsOf(record);
  for (let at = from; at < count;) {
    const to = Math.min(count, at + most());
    const effect = logged({ study_id, trial_id }, slice(at, to));
    yield { effects: [name(effect)], points: to < count ? to : null };
    at = to;
  }
}

/** Gives the names of a record that is on the server already. */
export function learnNames(
  record: JournalRecord,
  study: KnownStudy,
  { root, checkpoints }: Describing,
): void {
  if (record.type === "points") {
    for (const metric of keysOf(record)) study.names.nameOf("metrics", metric);
  } else for (const _ of describe(record, study, { root, checkpoints }));
}

/** What a record asks, under its own names. Kinds of records without a place in MLflow ask nothing. */
function effectsOf(
  record: JournalRecord,
  study: KnownStudy,
  { root, checkpoints }: Pick<Describing, "root" | "checkpoints">,
): Effect[] {
  const trial_id = "trial_id" in record ? record.trial_id : null;
  const to: Recipient = { study_id: study.study_id, trial_id };
  const time = Date.parse(record.at);
  switch (record.type) {
    case "study_opened":
      return describeOpening(study, record);
    case "study_resumed":
      return [...describeLimits(record), { to, kind: "status", status: "RUNNING", end_time: null }];
    case "trial_opened":
      return describeTrialOpening(study, record);
    case "artifact_written":
      return describeArtifact(study, record);
    case "measured": {
      const runtime = study.opened?.spec.runtime ?? null;
      return [logged(
        to,
        record.measurements.flatMap((row) => measurementPoints(row, runtime, time)),
      )];
    }
    case "scored_again": {
      const runtime = study.opened?.spec.runtime ?? null;
      if (record.beside_because !== null) return [];
      return record.trials.map((one) => {
        const rows = one.measurements.flatMap((row) => measurementPoints(row, runtime, time));
        return logged({ study_id: study.study_id, trial_id: one.trial_id }, rows);
      });
    }
    case "resources":
      return [describeResources(to, record)];
    case "energy_read":
      return [describeEnergy(to, record)];
    case "layer_sensitivities": {
      const text = jsonText(record.layers);
      return [{
        to,
        kind: "text",
        path: `layers/${record.artifact_id}-${record.metric}.json`,
        text,
      }];
    }
    case "samples_written":
      return [{
        to,
        kind: "file",
        path: `samples/${record.fidelity}${
          record.action_index === undefined ? "" : `-stage${record.action_index}`
        }${extname(record.path)}`,
        file: join(root, record.path),
      }];
    case "log_written":
      return [{
        to,
        kind: "file",
        path: `logs/${record.call}.log`,
        file: join(root, record.path),
      }];
    case "alert":
      return [tagged(to, `pare.alert.${record.condition}`, `${record.evidence}; ${record.action}`)];
    case "note":
      return [tagged(to, "mlflow.note.content", noteContent(study, trial_id))];
    case "trial_closed":
      return describeTrialClosing(study, record, checkpoints);
    case "episode_closed":
      return describeEpisode(record);
    case "stages_decided":
      return describeStages(study, record);
    case "study_closed":
      return describeClosing(study, record, checkpoints);
    default:
      return [];
  }
}
