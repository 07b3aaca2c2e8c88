import { extname, join } from "node:path";
import type { JournalRecord } from "../../core/mod.ts";
import { decodeIntegers, decodeValues } from "../store/points_columns.ts";
import type { Checkpoints } from "./checkpoints.ts";
import {
  describeClosing,
  describeEpisode,
  describeLimits,
  describeOpening,
} from "./describe_study.ts";
import { describeArtifact, describeTrialClosing, describeTrialOpening } from "./describe_trial.ts";
import { type Effect, jsonText, points, type Recipient, tags } from "./effects.ts";
import type { KnownStudy } from "./known_study.ts";
import { safeKey } from "./limits.ts";
import type { Metric } from "./log_batch.ts";
import { measurementPoints } from "./metric_names.ts";
import { noteContent } from "./note_content.ts";

type Of<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

function pointsOf(record: Of<"points">): Metric[] {
  const steps = decodeIntegers(record.step, record.rows);
  const times = decodeIntegers(record.happened_at, record.rows);
  return decodeValues(record).flatMap((values, column) => {
    const key = safeKey(record.metrics[column]!);
    return Array.from(values, (value, row) => ({
      key,
      value,
      timestamp: times[row]!,
      step: steps[row]!,
    }));
  });
}

function describeResources(to: Recipient, record: Of<"resources">): Effect {
  const { stage, seconds } = record;
  const figures = {
    [`resources/${stage}/rss_bytes`]: record.rss_bytes,
    [`resources/${stage}/cpu_utilisation`]: record.cpu_utilisation,
    [`resources/${stage}/free_memory_bytes`]: record.free_memory_bytes,
    [`resources/${stage}/gpu_memory_bytes`]: record.gpu_memory_bytes,
    [`resources/${stage}/gpu_utilisation`]: record.gpu_utilisation,
    [`resources/${stage}/power_watts`]: record.power_watts,
  };
  const metrics = points(figures, Date.parse(record.at), Math.round(seconds));
  return { to, kind: "log", data: { metrics } };
}

function logged(to: Recipient, metrics: Metric[]): Effect {
  return { to, kind: "log", data: { metrics } };
}

/**
 * What a record asks of the server. Pure: the study is known up to and with this record; `root` is
 * the store's folder. Kinds of records that have no place in MLflow ask nothing.
 */
export function describe(
  record: JournalRecord,
  study: KnownStudy,
  { root, checkpoints }: { root: string; checkpoints: Checkpoints },
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
    case "points":
      return [logged(to, pointsOf(record))];
    case "resources":
      return [describeResources(to, record)];
    case "energy_read": {
      const { stage, joules, seconds, tokens } = record;
      const figures = {
        [`energy/${stage}/joules`]: joules,
        [`energy/${stage}/seconds`]: seconds,
        [`energy/${stage}/tokens`]: tokens,
      };
      return [{ to, kind: "log", data: { metrics: points(figures, time) } }];
    }
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
        path: `samples/${record.fidelity}${extname(record.path)}`,
        file: join(root, record.path),
      }];
    case "log_written":
      return [{
        to,
        kind: "file",
        path: `logs/${record.stage}.log`,
        file: join(root, record.path),
      }];
    case "alert": {
      const said = `${record.evidence}; ${record.action}`;
      return [{
        to,
        kind: "log",
        data: { tags: tags({ [`pare.alert.${record.condition}`]: said }) },
      }];
    }
    case "note":
      return [{
        to,
        kind: "log",
        data: { tags: tags({ "mlflow.note.content": noteContent(study, trial_id) }) },
      }];
    case "trial_closed":
      return describeTrialClosing(study, record, checkpoints);
    case "episode_closed":
      return describeEpisode(record);
    case "study_closed":
      return describeClosing(study, record, checkpoints);
    default:
      return [];
  }
}
