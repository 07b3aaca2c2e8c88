import { UsageError } from "../errors.ts";
import type { Evaluation } from "../ports.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { applyAnswers, missingKeyConstraints } from "../spec/questions.ts";
import { setWorkers } from "../spec/workers.ts";
import { climbedRungs } from "../schemas/rungs.ts";
import type { RunNeeds } from "../contract/run_needs.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";
import { strategyKey } from "../strategies/strategy_names.ts";
import { Slots } from "./beside/slots.ts";
import { slownessOf, SPEED } from "./cost/budget.ts";
import { BASELINE } from "./draft.ts";
import { checkUserStrategies, initialQueue } from "./queue.ts";
import { alertOfChangedEnvironments } from "./changed_environments.ts";
import { answerFigures, askLostAgain } from "./lost_samples.ts";
import { isFinished, type OpenTrial, timingKey } from "../resume/replay.ts";
import { baselineOf, record, type Study, withRung } from "./study.ts";
import type { StudyHistory, StudyInput, StudyPorts } from "./study_input.ts";

/**
 * Opens a study, or takes it up again. A user's mistake is thrown before anything is written. A
 * resumed study keeps the spec that it was opened with; trials that the end of a process left open
 * are closed as cancelled.
 */
export async function openStudy(
  input: StudyInput,
  ports: StudyPorts,
  needs: RunNeeds,
): Promise<Study> {
  checkUserStrategies(input);
  const { study_id, request, facts, provenance, history } = input;
  const asked = () => needs.constraints ? confirmed(input.spec, ports) : input.spec;
  const spec = history?.study.opened.spec ?? await asked();
  const rungs = climbedRungs(spec, request, needs);
  const trials = history?.study.trials ?? [];
  const earlier = history?.study.earlier ?? input.earlier ?? [];
  const { queue, refused } = initialQueue(input, spec, [
    ...trials,
    ...(history?.study.open ?? []).map((open) => interrupted(open, study_id, request.seed)),
  ], earlier);
  const numbers = [...trials, ...(history?.study.open ?? [])].map(({ number }) => number);
  const nextNumber = Math.max(BASELINE, ...numbers) + 1;
  const study: Study = {
    input,
    needs,
    ports,
    spec,
    trials: [...trials],
    open: new Set(),
    slots: new Slots(
      setWorkers(request),
      facts.device.device === "cpu" && input.timed_apart !== true,
    ),
    held: [],
    artifacts: new Map(history?.study.artifacts ?? []),
    evaluations: restored(history),
    elsewhere: new Set((history?.study.elsewhere ?? []).map(timingKey)),
    episodes: [...history?.study.episodes ?? []],
    queue,
    keys: new Set(trials.filter(isFinished).map((trial) => strategyKey(trial.actions))),
    answers: (history?.study.answers ?? []).filter(({ answer }) => answer !== null),
    asked: { number: 0, times: 0 },
    estimated: null,
    earlier,
    format_losses: history?.study.format_losses ?? input.format_losses ?? [],
    refused: history === undefined ? [...refused] : [],
    rungs,
    seconds: phaseSeconds(trials, rungs, input.methods),
    started: ports.clock.now(),
    spent_before: history?.study.spent_seconds ?? 0,
    joules_before: history?.study.episodes.at(-1)?.spent?.joules ?? 0,
    metered_from: ports.meter?.joules() ?? null,
    beyond: { rings: -Infinity, under_way: 0, timer: undefined },
    limits_hold: true,
    paused: 0,
    nextNumber,
    fullEvaluations:
      trials.filter((trial) => trial.strategy !== null && isDecisive(trial.fidelity)).length,
    firstNumber: nextNumber,
  };
  requireBaselineSamples(study);
  if (history === undefined) {
    await record(study, { type: "study_opened", study_id, request, facts, spec, provenance });
    if (study.earlier.length > 0) {
      await record(study, { type: "earlier_trials_given", study_id, trials: [...study.earlier] });
    }
  } else {
    const limits = input.limits === undefined ? {} : { limits: input.limits };
    await record(study, { type: "study_resumed", study_id, provenance, ...limits });
    await alertOfChangedEnvironments(study, history.study.opened.provenance);
    await closeInterrupted(study, history);
    await askLostAgain(study, history.lost ?? []);
  }
  await alertOfUnread(study);
  const isNews = (history?.study.format_losses ?? null) === null;
  if (isNews && study.format_losses.length > 0) {
    await record(study, {
      type: "format_losses_given",
      study_id,
      losses: [...study.format_losses],
    });
  }
  return study;
}

/** Says what of earlier studies could not be read. */
async function alertOfUnread(study: Study): Promise<void> {
  const { study_id, unread = [] } = study.input;
  for (const evidence of unread) {
    await record(study, {
      type: "alert",
      study_id,
      trial_id: null,
      condition: "unread_history",
      evidence,
      action: "left out",
      outcome: "the study goes on; its samplers are shown less",
    });
  }
}

/** The spec with the answers of whoever is there to be asked. */
async function confirmed(spec: Spec, { ask }: StudyPorts): Promise<Spec> {
  if (!ask.interactive) return spec;
  let answered = spec;
  for (const { field, question, fallback } of missingKeyConstraints(spec)) {
    const value = await ask.number(question, fallback);
    if (value !== null) answered = applyAnswers(answered, { [field]: value });
  }
  return answered;
}

function restored(history: StudyHistory | undefined): Study["evaluations"] {
  const evaluations: Study["evaluations"] = new Map();
  for (const { trial_id, fidelity, samples, ...kept } of history?.evaluations ?? []) {
    const trial = history?.study.trials.find((one) => one.trial_id === trial_id);
    if (trial === undefined) continue;
    const measurements = answerFigures(trial, fidelity);
    const evaluation: Evaluation = { measurements, samples, ...kept };
    evaluations.set(trial_id, withRung(evaluations.get(trial_id), fidelity, evaluation));
  }
  return evaluations;
}

/** What the phases of the earlier runs took: a study that goes on expects what it has seen. */
function phaseSeconds(
  trials: readonly Trial[],
  rungs: readonly string[],
  methods: readonly AgentMethod[],
): Study["seconds"] {
  const of = (phase: string): number[] =>
    trials.flatMap(({ state, spans, actions }) => {
      const own = spans.filter((span) => span.phase === phase);
      if (state !== "completed" || own.length === 0) return [];
      const took = own.reduce((sum, span) => sum + span.seconds, 0);
      return [phase === SPEED ? took : took / slownessOf(methods, actions)];
    });
  return new Map([...rungs, SPEED].map((phase) => [phase, of(phase)]));
}

function requireBaselineSamples(study: Study): void {
  const baseline = baselineOf(study);
  if (baseline === undefined) return;
  const known = study.evaluations.get(baseline.trial_id);
  const asked = (study.input.history?.lost ?? []).filter(({ trial_id }) =>
    trial_id === baseline.trial_id
  );
  const isThere = (rung: string) =>
    known?.has(rung) === true || asked.some(({ fidelity }) => fidelity === rung);
  if (study.rungs.every(isThere)) return;
  throw new UsageError(
    `Cannot resume ${study.input.study_id} as the samples of its baseline ` +
      `${baseline.trial_id} are missing: restore them, or start a new study`,
  );
}

async function closeInterrupted(study: Study, history: StudyHistory): Promise<void> {
  const { study_id, request } = study.input;
  for (const open of history.study.open) {
    const trial = interrupted(open, study_id, request.seed);
    study.trials.push(trial);
    await record(study, { type: "trial_closed", trial });
  }
}

/** A trial whose process ended under it, as far as it is known: it took until its last record. */
function interrupted(open: OpenTrial, study_id: string, seed: number): Trial {
  const wall = (Date.parse(open.last_at) - Date.parse(open.opened_at)) / 1000;
  const seconds = Math.max(0, wall - open.paused_seconds);
  return {
    trial_id: open.trial_id,
    study_id,
    number: open.number,
    strategy: open.strategy,
    actions: [],
    artifact_ids: [],
    state: "cancelled",
    fidelity: null,
    failure: {
      kind: "cancelled",
      message: "The process ended before the trial was closed",
      hint: "It is run again under a new number",
      phase: null,
    },
    measurements: [],
    constraints: [],
    gates: [],
    reward: null,
    spans: [{ name: "unfinished", seconds, library: false }],
    seed,
    ...(open.provenance === undefined ? {} : { provenance: open.provenance }),
    started_at: open.opened_at,
    finished_at: open.last_at,
  };
}
