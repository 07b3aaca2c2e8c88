import { trialName } from "../strategies/strategy_names.ts";
import { keepPace, seconds, secondsLeft } from "./cost/budget.ts";
import { UNFINISHED } from "./cost/pace.ts";
import type { HintAbout } from "../contract/plugin.ts";
import type { Alone, Outcome } from "../ports.ts";
import type { ResolvedAction, Strategy } from "../schemas/action.ts";
import type { Failure } from "../schemas/failure.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Span, Trial } from "../schemas/trial.ts";
import { findMethod } from "../strategies/resolve_action.ts";
import {
  addGate,
  type Draft,
  type Ending,
  latestAction,
  record,
  type Study,
  timestamp,
} from "./study.ts";

/** The baseline's number. */
export const BASELINE = 0;

/**
 * Gives the next number and writes that the trial began. The baseline is always number 0: one that was
 * cancelled is opened again under its own name, and what it left counts no more.
 */
export async function openTrial(
  study: Study,
  strategy: Strategy | null,
  actions: ResolvedAction[],
): Promise<Draft> {
  const number = strategy === null ? BASELINE : study.nextNumber++;
  const trial_id = `${study.input.study_id}/${trialName(number)}`;
  const before = study.trials.findIndex((trial) => trial.trial_id === trial_id);
  if (before >= 0) study.trials.splice(before, 1);
  study.evaluations.delete(trial_id);
  const opened = study.ports.clock.now();
  const { provenance, request: { seed } } = study.input;
  const trial: Trial = {
    trial_id,
    study_id: study.input.study_id,
    number,
    strategy,
    actions,
    artifact_ids: [],
    state: "running",
    fidelity: null,
    failure: null,
    measurements: [],
    constraints: [],
    gates: [],
    reward: null,
    spans: [],
    seed,
    provenance,
    started_at: timestamp(study),
    finished_at: null,
  };
  await record(study, {
    type: "trial_opened",
    study_id: trial.study_id,
    trial_id,
    number,
    strategy,
    seed,
    provenance,
  });
  const { baseline: artifact, facts: { model } } = study.input;
  const draft = { trial, artifact, model, opened, waited: 0, ended: null, held_since: null };
  study.open.add(draft);
  return draft;
}

/** Puts a trial aside while others run: that time is nobody's work. */
export function holdTrial(study: Study, draft: Draft): void {
  draft.held_since = study.ports.clock.now();
  study.held.push(draft);
}

/** Takes a trial up again that was put aside. */
export function takeUp(study: Study, draft: Draft): void {
  if (draft.held_since === null) return;
  draft.waited += study.ports.clock.now() - draft.held_since;
  draft.held_since = null;
}

/** Freezes a trial: its state is final and it is written down whole. */
export async function closeTrial(study: Study, draft: Draft, ending: Ending): Promise<Trial> {
  const own = Math.max(0, study.ports.clock.now() - draft.opened - draft.waited) / 1000;
  draft.trial = {
    ...draft.trial,
    state: ending.state,
    failure: ending.failure,
    spans: [...draft.trial.spans, { name: "loop", seconds: own, library: false }],
    finished_at: timestamp(study),
  };
  study.open.delete(draft);
  study.trials.push(draft.trial);
  await record(study, { type: "trial_closed", trial: draft.trial });
  return draft.trial;
}

/** Adds figures to a trial and writes them down at once. */
export async function addMeasurements(
  study: Study,
  draft: Draft,
  measurements: Measurement[],
): Promise<void> {
  const { trial } = draft;
  draft.trial = { ...trial, measurements: [...trial.measurements, ...measurements] };
  await record(study, {
    type: "measured",
    study_id: trial.study_id,
    trial_id: trial.trial_id,
    measurements,
  });
}

/** Failures that a second try at once may not meet again. */
const WORTH_A_RETRY: ReadonlySet<Failure["kind"]> = new Set(["crash", "stall"]);

/**
 * One call of the backend, on a slot: announced, timed, its spans kept, tried once more after a crash or
 * a stall. A figure that is not a number fails the call.
 */
export async function callBackend<T>(
  study: Study,
  draft: Draft,
  phase: string,
  detail: string,
  call: (alone: Alone) => Promise<Outcome<T>>,
): Promise<{ value: T } | { ending: Ending }> {
  await waitFor(study, draft, study.slots.take(draft.trial.number));
  try {
    return await tried(study, draft, phase, detail, call);
  } finally {
    study.slots.give();
  }
}

/** Milliseconds that a trial waited until others let it go on: nobody's work. */
async function waitFor(study: Study, draft: Draft, turn: Promise<void> | null): Promise<number> {
  if (turn === null) return 0;
  const { trial_id } = draft.trial;
  study.input.onEvent?.({ event: "phase", trial_id, phase: "slot", detail: "" });
  const since = study.ports.clock.now();
  await turn;
  const waited = study.ports.clock.now() - since;
  draft.waited += waited;
  return waited;
}

async function tried<T>(
  study: Study,
  draft: Draft,
  phase: string,
  detail: string,
  call: (alone: Alone) => Promise<Outcome<T>>,
): Promise<{ value: T } | { ending: Ending }> {
  const rung = study.rungs.includes(phase);
  const announce = () =>
    study.input.onEvent?.({ event: "phase", trial_id: draft.trial.trial_id, phase, detail, rung });
  for (let attempt = 1;; attempt++) {
    if (study.ports.signal.aborted) return { ending: cancelled(phase) };
    announce();
    const outcome = await timed(study, draft, phase, { call, announce });
    if (outcome.ok) return { value: outcome.value };
    if (study.ports.signal.aborted) return { ending: cancelled(phase) };
    if (outcome.failure.kind === "cancelled" && secondsLeft(study) <= 0) {
      return { ending: endedByTime(study, phase) };
    }
    if (attempt > 1 || !WORTH_A_RETRY.has(outcome.failure.kind)) {
      return { ending: endingOf({ ...outcome.failure, phase: outcome.failure.phase ?? phase }) };
    }
    const retry = {
      gate: phase,
      decision: "retry" as const,
      reason: `${outcome.failure.kind}: ${outcome.failure.message}`,
      value: null,
      threshold: null,
      attempt,
    };
    addGate(draft, retry, phase === "apply" ? beingApplied(draft) : latestAction(draft));
  }
}

/** The action that is under way has no artifact yet: what is there is its parent. */
function beingApplied({ trial, artifact }: Draft) {
  return { action_index: trial.artifact_ids.length, parent_id: artifact.artifact_id };
}

/** The time of a call that failed or was ended, beyond the spans that it finished. */
function unfinished(phase: string, took: number, finished: readonly Span[]): Span[] {
  const rest = took - finished.reduce((sum, span) => sum + span.seconds, 0);
  return rest > 0 ? [{ name: `${UNFINISHED} ${phase}`, seconds: rest, library: false }] : [];
}

async function timed<T>(
  study: Study,
  draft: Draft,
  phase: string,
  { call, announce }: {
    call: (alone: Alone) => Promise<Outcome<T>>;
    announce: () => void;
  },
): Promise<Outcome<T>> {
  const { slots } = study;
  const started = study.ports.clock.now();
  let waited = 0;
  const alone: Alone = async (work) => {
    const own = await waitFor(study, draft, slots.takeAll());
    if (own > 0) announce();
    try {
      return await work();
    } finally {
      waited += own + await waitFor(study, draft, slots.giveAll(draft.trial.number));
    }
  };
  const outcome = await call(alone).catch((error: unknown): Outcome<T> => ({
    ok: false,
    failure: { kind: "crash", message: String(error), hint: null, phase: phase },
    spans: [],
  }));
  const took = seconds(study, started) - waited / 1000;
  draft.waited += 1000 * took;
  const { action_index } = phase === "apply" ? beingApplied(draft) : {};
  const spans = [...outcome.spans, ...(outcome.ok ? [] : unfinished(phase, took, outcome.spans))]
    .map((span) => ({ ...span, phase, ...(action_index === undefined ? {} : { action_index }) }));
  draft.trial = { ...draft.trial, spans: [...draft.trial.spans, ...spans] };
  if (outcome.ok) {
    if (draft.parts === undefined) keepPace(study, phase, draft.trial.actions, took);
    else draft.parts.push(took);
  }
  return outcome;
}

/** What a failure makes of a trial: out of memory, like any action that cannot run, invalid. */
export function endingOf(failure: Failure): Ending {
  switch (failure.kind) {
    case "cancelled":
      return { state: "cancelled", failure };
    case "invalid":
    case "out_of_memory":
      return { state: "invalid", failure };
    default:
      return { state: "failed", failure };
  }
}

function endedByTime(study: Study, phase: string): Ending {
  const message = study.beyond.under_way === 0
    ? `The time of the study ended during ${phase}`
    : `It took longer than was foretold: the time of the study had ended ` +
      `${Math.round(-secondsLeft(study))} s before, and it was stopped during ${phase}`;
  return endingOf({ kind: "cancelled", message, hint: "Resume it with a larger limit", phase });
}

function cancelled(phase: string): Ending {
  const message = `The study was cancelled during ${phase}`;
  return endingOf({ kind: "cancelled", message, hint: "Resume the study to run it again", phase });
}

/** What a recipe's last method advises; null where it says nothing. */
export function hintOf(study: Study, trial: Trial, about: HintAbout): string | null {
  const last = trial.actions.at(-1);
  if (last === undefined) return null;
  const { method } = findMethod(study.input.methods, last.agent, last.method);
  return method.hint?.(about, last.params) ?? null;
}

/** The failure of a figure that is not a finite number; null where all are. */
export function notANumber(
  measurements: readonly Measurement[],
  phase: string,
  hint: string | null,
): Failure | null {
  const row = measurements.find(({ value }) => !Number.isFinite(value));
  if (row === undefined) return null;
  const of = row.task === null ? "" : ` of ${row.task}`;
  return {
    kind: "not_a_number",
    message: `Cannot use ${row.metric}${of} as it is ${row.value}: the strategy broke the model`,
    hint,
    phase,
  };
}
