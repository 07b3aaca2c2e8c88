import {
  type CallName,
  type CallRequest,
  type CallResult,
  type Failure,
  howCalled,
  type JournalRecord,
  type Outcome,
  type Span,
  type StudyEvent,
  UsageError,
  type WorkerEvent,
} from "../../../core/mod.ts";
import type { BackendClient } from "../../../python-backends/client.ts";
import { STALL_MS } from "../../../python-backends/worker/exchange.ts";
import type { ResourceSample } from "../../../python-backends/worker/resource_monitor.ts";
import type { RunKey } from "../../store/points/gather.ts";
import type { Run } from "../../store/points/points.ts";
import type { StudyMeter } from "./machine/energy_meter.ts";
import type { KeepLog } from "./keep_log.ts";
import type { Turn } from "./machine/in_its_turn.ts";
import { keepPoints } from "./keep_points.ts";
import type { Share, ShareOut } from "./machine/worker_share.ts";

type Alert = Extract<JournalRecord, { type: "alert" }>;

/** Runs a call for a trial, shows its progress and keeps its resource samples and alerts. */
export interface CallRunner {
  <R extends CallRequest>(
    trialId: string,
    request: R,
    environment: string,
    more?: OfCall,
  ): Promise<Outcome<CallResult<R["call"]>>>;
  /** Records and shows again what a call warned of whose result was taken over; absent: nobody hears. */
  tellAgain?(trialId: string, warnings: readonly Warning[], outcome: string): Promise<void>;
}

/** What differs between calls of a kind. */
interface OfCall {
  /** Number of the action that the call applies, from 0. */
  readonly action_index?: number | undefined;
  /** Is given every warning beside the journal. */
  readonly heard?: (warning: Warning) => void;
  /** Of a call that times; absent: its turn comes at once. */
  readonly turn?: Turn;
}

/** What a worker warned of. */
export type Warning = Pick<Alert, "condition" | "evidence">;

export interface CallRunnerOptions {
  readonly client: BackendClient;
  readonly study_id: string;
  readonly signal: AbortSignal;
  readonly onEvent: (event: StudyEvent) => void;
  readonly record: (record: JournalRecord) => Promise<void>;
  readonly keepLog: KeepLog;
  /** Where an action's points go; absent: they belong to no trial. */
  readonly openRun?: (key: RunKey) => Pick<Run, "log">;
  /** What each call has of the machine; absent: all of it. */
  readonly shareOut?: ShareOut;
  /** Told that no card of the machine is left: nothing of the study can go on here. */
  readonly onNoCard?: () => void;
  /** The study's, which takes what a GPU uses; absent: nobody counts. */
  readonly meter?: StudyMeter | undefined;
  /** Minutes that a worker may be silent; undefined: the client's own. */
  readonly stall_minutes?: number | undefined;
  /** ISO 8601. */
  readonly timestamp: () => string;
}

/** Runs a call on a share of the machine, and again on another one where a card of it is gone. */
async function onAShare<T>(
  { shareOut, onNoCard, signal }: CallRunnerOptions,
  call: CallName,
  warn: (condition: string, evidence: string) => void,
  run: (share: Share | undefined) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  for (;;) {
    using share = await shareOut?.(call);
    if (share === null) {
      onNoCard?.();
      const message = `Cannot ${call} as no card of this machine answers any more`;
      const hint = "`pare resume` goes on once there is one";
      return failed({ kind: "crash", message, hint, phase: call }, []);
    }
    const outcome = await run(share);
    const lost = outcome.ok || signal.aborted ? null : await share?.lost() ?? null;
    if (lost === null) return outcome;
    warn("card_lost", lost);
  }
}

/** At most so many samples a call reach the journal: every one at first, then every second … */
const SAMPLES_A_CALL = 40;

function resourceRecord(
  options: CallRunnerOptions,
  trialId: string,
  call: CallName,
  sample: ResourceSample,
): JournalRecord {
  return {
    type: "resources",
    at: options.timestamp(),
    study_id: options.study_id,
    trial_id: trialId,
    seconds: sample.seconds,
    call,
    rss_bytes: sample.rss_bytes,
    cpu_utilisation: sample.cpu_cores,
    free_memory_bytes: sample.available_bytes,
    gpu_memory_bytes: sample.gpu?.used_bytes ?? null,
    gpu_utilisation: sample.gpu?.utilisation ?? null,
    power_watts: sample.gpu?.power_w ?? null,
  };
}

/** What became of the work that a worker warned of. */
function becameOf(call: CallName, outcome: Outcome<unknown>): string {
  return outcome.ok ? `${call} went on to its end` : `${call} ended: ${outcome.failure.kind}`;
}

/** Where nobody says it, a server has time for one whole answer. */
function stallMsOf(
  { stall_minutes }: CallRunnerOptions,
  request: CallRequest,
): number {
  if (stall_minutes !== undefined) return stall_minutes * 60_000;
  const servers = howCalled(request.call).servers(request).filter((one) => one !== undefined);
  return Math.max(STALL_MS, ...servers.map(({ timeout_seconds }) => timeout_seconds * 1500));
}

async function recordLog(
  options: CallRunnerOptions,
  trial_id: string,
  call: CallName,
  path: string,
): Promise<void> {
  const { study_id, timestamp } = options;
  const kept = await options.keepLog(trial_id, call, path);
  if (kept === null || !howCalled(call).of_trial) return;
  await options.record({
    type: "log_written",
    at: timestamp(),
    study_id,
    trial_id,
    call,
    ...kept,
  });
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
      if (items.length < SAMPLES_A_CALL) return;
      for (let index = items.length - 1; index > 0; index -= 2) items.splice(index, 1);
      every *= 2;
    },
  };
}

/** Makes the runner of a study. */
export function createCallRunner(options: CallRunnerOptions): CallRunner {
  const { client, signal, onEvent, record } = options;
  const alertOf = (trial_id: string, { condition, evidence }: Warning) => ({
    ...{ type: "alert" as const, at: options.timestamp(), study_id: options.study_id, trial_id },
    ...{ condition, evidence, action: "recorded" },
  });
  const tell = async (alerts: readonly Omit<Alert, "outcome">[], outcome: string) => {
    for (const alert of alerts) {
      const told = { ...alert, outcome };
      await record(told);
      onEvent({ event: "record", record: told });
    }
  };
  const run: CallRunner = async (trialId, request, environment, more = {}) => {
    const { action_index, heard, turn } = more;
    if (!howCalled(request.call).told_by_loop) {
      const named = "runtime" in request ? request.runtime : null;
      const detail = typeof named === "string" ? named : environment;
      onEvent({ event: "phase", trial_id: trialId, phase: request.call, detail });
    }
    const samples = thinned<ResourceSample>();
    const alerts: Omit<Alert, "outcome">[] = [];
    const opened = action_index === undefined
      ? undefined
      : options.openRun?.({ study_id: options.study_id, trial_id: trialId, action_index });
    const points = opened === undefined ? null : keepPoints(opened);
    const warn = (condition: string, evidence: string) => {
      alerts.push(alertOf(trialId, { condition, evidence }));
      heard?.({ condition, evidence });
    };
    let log: string | null = null;
    const take = (event: WorkerEvent) => {
      if (event.event === "progress") {
        const { label, done, total, unit } = event;
        onEvent({ event: "progress", trial_id: trialId, label, done, total, unit });
      } else if (event.event === "waiting") {
        onEvent({ ...event, trial_id: trialId });
      } else if (event.event === "alert") {
        warn(event.condition, event.evidence);
      } else if (event.event === "points") points?.take(event);
    };
    const metered = options.meter?.call();
    const outcome = await onAShare(options, request.call, warn, (share) =>
      client.run(request, {
        environment,
        ...(share === undefined ? {} : { threads: share.threads, env: share.env }),
        signal,
        stallMs: stallMsOf(options, request),
        onTurn: turn?.begin,
        onEvent: take,
        onSample(sample) {
          samples.add(sample);
          metered?.(sample);
        },
        onLog: (path: string) => {
          log = path;
        },
      }));
    turn?.end();
    const missing = await points?.done() ?? null;
    if (missing !== null) warn("points", missing);
    if (howCalled(request.call).sampled) {
      for (const sample of samples.items) {
        await record(resourceRecord(options, trialId, request.call, sample));
      }
    }
    await tell(alerts, becameOf(request.call, outcome));
    if (log !== null) await recordLog(options, trialId, request.call, log);
    return outcome;
  };
  return Object.assign(run, {
    tellAgain: (trialId: string, warnings: readonly Warning[], outcome: string) =>
      tell(warnings.map((one) => alertOf(trialId, one)), outcome),
  });
}

/** The user's mistake that a call found, with what to do. */
export function refusal({ message, hint }: Failure): UsageError {
  const end = /[.?]$/.test(message) ? "" : ".";
  return new UsageError(hint === null ? message : `${message}${end} ${hint}`);
}

/** A failure with the spans that were spent on it. */
export function failed(failure: Failure, spans: readonly Span[]): Outcome<never> {
  return { ok: false, failure, spans: [...spans] };
}
