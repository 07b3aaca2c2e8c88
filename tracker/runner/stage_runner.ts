import type {
  JournalRecord,
  Outcome,
  StageName,
  StageRequest,
  StageResult,
  StudyEvent,
  WorkerEvent,
} from "../../core/mod.ts";
import type { BackendClient } from "../../python-backends/client.ts";
import type { ResourceSample } from "../../python-backends/resource_monitor.ts";

/** Runs a stage for a trial, shows its progress and keeps its resource samples and alerts. */
export type StageRunner = <R extends StageRequest>(
  trialId: string,
  request: R,
  environment: string,
) => Promise<Outcome<StageResult<R["stage"]>>>;

export interface StageRunnerOptions {
  readonly client: BackendClient;
  readonly study_id: string;
  readonly signal: AbortSignal;
  readonly onEvent: (event: StudyEvent) => void;
  readonly record: (record: JournalRecord) => Promise<void>;
  /** Takes the log of a stage's worker when it has ended. */
  readonly keepLog: (trialId: string, stage: StageName, path: string) => void;
  /** ISO 8601. */
  readonly timestamp: () => string;
}

/** Stages whose resource samples are kept: those of a trial, not of the set-up. */
const SAMPLED: ReadonlySet<StageName> = new Set(["apply", "verify", "evaluate", "speed"]);

/** Stages that the loop announces itself, with more to say. */
const TOLD_BY_THE_LOOP: ReadonlySet<StageName> = new Set(["apply", "evaluate", "speed"]);

/** At most so many samples a stage reach the journal: every one at first, then every second … */
const SAMPLES_A_STAGE = 40;

function resourceRecord(
  options: StageRunnerOptions,
  trialId: string,
  stage: StageName,
  sample: ResourceSample,
): JournalRecord {
  return {
    type: "resources",
    at: options.timestamp(),
    study_id: options.study_id,
    trial_id: trialId,
    seconds: sample.seconds,
    stage,
    rss_bytes: sample.rss_bytes,
    cpu_utilisation: sample.cpu_cores,
    free_memory_bytes: sample.available_bytes,
    gpu_memory_bytes: sample.gpu?.used_bytes ?? null,
    gpu_utilisation: sample.gpu?.utilisation ?? null,
    power_watts: sample.gpu?.power_w ?? null,
  };
}

/** Keeps a series short without losing its ends: drops every second one when it is full. */
function thinned<T>(): { add(item: T): void; items: T[] } {
  const items: T[] = [];
  let every = 1;
  let seen = 0;
  return {
    items,
    add(item) {
      if (seen++ % every !== 0) return;
      items.push(item);
      if (items.length < SAMPLES_A_STAGE) return;
      for (let index = items.length - 1; index > 0; index -= 2) items.splice(index, 1);
      every *= 2;
    },
  };
}

/** Makes the runner of a study. */
export function createStageRunner(options: StageRunnerOptions): StageRunner {
  const { client, signal, onEvent, record } = options;
  return async (trialId, request, environment) => {
    if (!TOLD_BY_THE_LOOP.has(request.stage)) {
      onEvent({ event: "phase", trial_id: trialId, phase: request.stage, detail: environment });
    }
    const samples = thinned<ResourceSample>();
    const alerts: JournalRecord[] = [];
    const take = (event: WorkerEvent) => {
      if (event.event === "progress") {
        const { label, done, total, unit } = event;
        onEvent({ event: "progress", trial_id: trialId, label, done, total, unit });
      } else if (event.event === "alert") {
        const { condition, evidence } = event;
        alerts.push({
          type: "alert",
          at: options.timestamp(),
          study_id: options.study_id,
          trial_id: trialId,
          condition,
          evidence,
          action: "recorded",
        });
      }
    };
    const outcome = await client.run(request, {
      environment,
      signal,
      onEvent: take,
      onSample: (sample) => samples.add(sample),
      onLog: (path: string) => options.keepLog(trialId, request.stage, path),
    });
    if (SAMPLED.has(request.stage)) {
      for (const sample of samples.items) {
        await record(resourceRecord(options, trialId, request.stage, sample));
      }
    }
    for (const alert of alerts) await record(alert);
    return outcome;
  };
}
