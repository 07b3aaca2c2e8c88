import {
  type GateDecision,
  type JournalRecord,
  knobWords,
  type ResolvedAction,
  type Strategy,
  type Trial,
} from "../../../core/mod.ts";
import { adds, type Change, measurementRow, moment, type Row } from "./change.ts";
import { provenanceColumns } from "./provenance_columns.ts";

/** Tables that hold a trial's final word: written when it opens, replaced when it closes. */
const TRIAL_TABLES = [
  "trials",
  "actions",
  "knobs",
  "measurements",
  "earlier_measurements",
  "gate_decisions",
  "constraint_verdicts",
  "reward_terms",
  "spans",
] as const;

const RUN_TABLES = [
  "trial_artifacts",
  "action_measurements",
  "samples",
  "sample_files",
  "protocols",
  "protocol_parts",
  "resources",
  "energy_readings",
  "runtime_timings",
  "logs",
  "metric_points",
] as const;

type Key = { study_id: string; trial_id: string };

function asNumber(value: string | number | boolean): number | null {
  return typeof value === "string" ? null : Number(value);
}

/** An action's row and one row per knob: resolved where that is known, else as the strategy says. */
function actionRows(
  key: Key,
  action_index: number,
  asked: Strategy["actions"][number] | undefined,
  resolved: ResolvedAction | undefined,
  artifact_id: string | null,
): Change[] {
  const action = resolved ?? asked;
  if (action === undefined) return [];
  const by = new Map(resolved?.resolved.map((one) => [one.knob, one]));
  const knobs = Object.entries(action.params).map(([knob, value]): Row => {
    const requested = asked?.params[knob];
    return {
      ...key,
      action_index,
      knob,
      value: String(value),
      number: asNumber(value),
      requested: requested === undefined ? null : String(requested),
      resolved_by: by.get(knob)?.by ?? null,
      reason: by.get(knob)?.reason ?? null,
    };
  });
  const { agent, method } = action;
  return [
    ...adds("actions", [{ ...key, action_index, agent, method, artifact_id }]),
    ...adds("knobs", knobs),
  ];
}

function methodsOf(actions: readonly { method: string }[]): string {
  return actions.length === 0 ? "baseline" : actions.map(({ method }) => method).join(" + ");
}

function namesOf(trial: Trial, verdict: "violated" | "undecided"): string[] {
  return trial.constraints.filter((one) => one.verdict === verdict)
    .map(({ constraint }) => constraint).sort();
}

function strategyColumns(strategy: Strategy | null): Row {
  return {
    strategy_id: strategy?.strategy_id ?? null,
    readable_id: strategy?.strategy_id ?? "baseline",
    sampler: strategy?.origin.sampler ?? null,
    mode: strategy?.origin.mode ?? null,
    reason: strategy?.origin.reason ?? null,
  };
}

/** The rows of a trial that runs; those of an earlier, interrupted run of it go. */
export function openedTrialRows(
  record: Extract<JournalRecord, { type: "trial_opened" }>,
  position: number,
): Change[] {
  const { study_id, trial_id, number, strategy, seed, provenance } = record;
  const key = { study_id, trial_id };
  return [
    { op: "forget", tables: [...TRIAL_TABLES, ...RUN_TABLES], where: key },
    ...adds("trials", [{
      ...key,
      position,
      number,
      ...strategyColumns(strategy),
      state: "running",
      fidelity: null,
      seed: seed ?? null,
      methods: methodsOf(strategy?.actions ?? []),
      violated: [],
      undecided: [],
      ...provenanceColumns(provenance),
      reward: null,
      artifact_id: null,
      failure_kind: null,
      failure_message: null,
      failure_hint: null,
      failure_phase: null,
      started_at: moment(record.at),
      finished_at: null,
      seconds: null,
    }]),
    ...(strategy?.actions ?? []).flatMap((asked, index) =>
      actionRows(key, index, asked, undefined, null)
    ),
    { op: "figures", ...key },
    { op: "front", study_id },
  ];
}

/** Null where a moment is missing, or where the clock was set back between them. */
function secondsBetween(from: Date | null, to: Date | null): number | null {
  const seconds = from === null || to === null ? -1 : (to.getTime() - from.getTime()) / 1000;
  return seconds < 0 ? null : seconds;
}

function trialRow(trial: Trial, position: number): Row {
  const started_at = moment(trial.started_at);
  const finished_at = moment(trial.finished_at);
  return {
    study_id: trial.study_id,
    trial_id: trial.trial_id,
    position,
    number: trial.number,
    ...strategyColumns(trial.strategy),
    state: trial.state,
    fidelity: trial.fidelity,
    seed: trial.seed,
    methods: methodsOf(trial.actions.length > 0 ? trial.actions : trial.strategy?.actions ?? []),
    violated: namesOf(trial, "violated"),
    undecided: namesOf(trial, "undecided"),
    ...provenanceColumns(trial.provenance),
    stored_form: trial.measurements.findLast(({ metric }) => metric === "latency_ms")?.form ?? null,
    reward: trial.reward?.value ?? null,
    artifact_id: trial.artifact_ids.at(-1) ?? null,
    failure_kind: trial.failure?.kind ?? null,
    failure_message: trial.failure?.message ?? null,
    failure_hint: trial.failure?.hint ?? null,
    failure_phase: trial.failure?.phase ?? null,
    started_at,
    finished_at,
    seconds: secondsBetween(started_at, finished_at),
  };
}

/** What a gate went by; fields that it does not have are NULL. */
function judgedBy(
  { samples, expected, unread, dominated_by, ...one }: Pick<
    GateDecision,
    "samples" | "expected" | "unread" | "dominated_by"
  >,
): Row {
  return {
    ...one,
    samples: samples ?? null,
    expected: expected ?? null,
    unread: unread ?? null,
    dominated_by: dominated_by ?? null,
  };
}

/** A frozen trial. Its own list of measurements replaces those seen while it ran. */
export function closedTrialRows(trial: Trial, position: number): Change[] {
  const { study_id, trial_id } = trial;
  const key = { study_id, trial_id };
  const asked = trial.strategy?.actions ?? [];
  const count = Math.max(asked.length, trial.actions.length);
  const actions = Array.from(
    { length: count },
    (_, index) =>
      actionRows(key, index, asked[index], trial.actions[index], trial.artifact_ids[index] ?? null),
  );
  return [
    { op: "forget", tables: TRIAL_TABLES, where: key },
    ...adds("trials", [trialRow(trial, position)]),
    ...actions.flat(),
    ...adds(
      "measurements",
      trial.measurements.map((one) => measurementRow(one, study_id, trial_id, position)),
    ),
    ...adds(
      "gate_decisions",
      trial.gates.map((
        { action_index, attempt, artifact_id, parent_id, adjustment, ...more },
        gate_index,
      ) => ({
        ...key,
        gate_index,
        ...judgedBy(more),
        action_index: action_index ?? null,
        attempt: attempt ?? null,
        artifact_id: artifact_id ?? null,
        parent_id: parent_id ?? null,
        adjustment: adjustment === undefined ? null : knobWords(adjustment),
      })),
    ),
    ...adds(
      "constraint_verdicts",
      trial.constraints.map(({ constraint, interval, evidence, ...one }) => ({
        ...key,
        constraint_name: constraint,
        interval_low: interval?.[0] ?? null,
        interval_high: interval?.[1] ?? null,
        ...one,
        samples: evidence?.samples ?? null,
        existing_samples: evidence?.existing ?? null,
        decided_at: evidence?.decided_at ?? null,
        exact: evidence?.exact ?? null,
        p_within: evidence?.p_within ?? null,
        predictor: evidence?.predictor ?? null,
        explained: evidence?.explained ?? null,
      })),
    ),
    ...adds("reward_terms", (trial.reward?.terms ?? []).map((one) => ({ ...key, ...one }))),
    ...adds(
      "spans",
      trial.spans.map(({ phase = null, action_index = null, ...one }, span_index) => ({
        ...key,
        span_index,
        phase,
        action_index,
        ...one,
      })),
    ),
    { op: "figures", ...key },
    { op: "front", study_id },
  ];
}
