import { UsageError } from "./errors.ts";
import type { Action } from "./schemas/action.ts";
import type { GateDecision, Trial } from "./schemas/trial.ts";
import type { Spec } from "./schemas/spec.ts";
import { resolveActions } from "./strategies/resolve_action.ts";
import { closeStudy } from "./loop/close_study.ts";
import { closeTrial, endingOf } from "./loop/draft.ts";
import { begin, learn, measure } from "./loop/episode.ts";
import { finishHeld } from "./loop/full_evaluation.ts";
import { openStudy } from "./loop/open_study.ts";
import { type Proposal, propose } from "./loop/propose.ts";
import { ensureBaseline } from "./loop/run_baseline.ts";
import { applyNext, evaluate, evaluateFirst, evaluateMidway, isWhole } from "./loop/run_trial.ts";
import type { Stop } from "./loop/stop.ts";
import { baselineOf, currentFront, type Draft, type Study, visibleTrials } from "./loop/study.ts";
import {
  fidelitiesOf,
  type StudyInput,
  type StudyPorts,
  type StudyResult,
} from "./loop/study_input.ts";

/**
 * One trial by hand. Each call refuses in words what cannot be yet, and what comes after its end; a
 * gate that stops it, or a failure, is its end, and `learn` closes it.
 */
export interface TrialByHand {
  /** As it stands. */
  readonly trial: Trial;
  /** Why it goes no further; null: it may. */
  readonly ended: { readonly state: string; readonly reason: string } | null;
  /** Applies the next action, found or made. The gate's decision; null where it failed before. */
  apply(): Promise<GateDecision | null>;
  /**
   * Measures quality after any action. In the midst of the chain its figures are recorded apart. The
   * gate's decision; null where it failed, or at a full evaluation, which no gate judges.
   */
  evaluate(fidelity?: "proxy" | "full"): Promise<GateDecision | null>;
  /** Measures speed and memory of the finished model, the baseline in turn. */
  measure(): Promise<void>;
  /**
   * Constraints, reward, the full evaluation where it may reach the front; then the trial is closed,
   * or held until the study ends. Gives it as it stands.
   */
  learn(): Promise<Trial>;
  /** Closes it as cancelled, so that a resumed study runs its recipe again. */
  abandon(reason: string): Promise<Trial>;
}

/** A study by hand: the arrows of the loop one by one, recorded as by the coordinator. */
export interface StudyByHand {
  readonly spec: Spec;
  /** Closed trials, and held ones as results of the proxy, by number. */
  trials(): readonly Trial[];
  /** Trial ids of the front, best reward first. */
  front(): readonly string[];
  /** Measures the uncompressed model where that is not done yet. */
  baseline(): Promise<Trial>;
  /** What the loop would run next: of the queue, then of the samplers; null: nothing is left. */
  propose(): Promise<Proposal | null>;
  /** A recipe of your own. */
  recipe(actions: readonly Action[], reason?: string): Proposal;
  begin(proposal: Proposal): Promise<TrialByHand>;
  /** Ends the study; trials that are open are closed, held ones evaluated in full as at any end. */
  close(): Promise<StudyResult>;
}

const BY_HAND: Stop = { stop: "exhausted", message: "The study was driven by hand and closed." };

/** Opens a study, or takes one up, to be driven by hand. */
export async function openByHand(input: StudyInput, ports: StudyPorts): Promise<StudyByHand> {
  const study = await openStudy(input, ports);
  const handles = new Map<Draft, TrialByHand>();
  return {
    spec: study.spec,
    trials: () => visibleTrials(study),
    front: () => currentFront(study).ids,
    async baseline() {
      const stop = await ensureBaseline(study);
      if (stop !== null) throw new UsageError(stop.message);
      return baselineOf(study)!; // there is one where nothing stopped it
    },
    async propose() {
      requireBaseline(study, "propose a recipe");
      const proposal = await propose(study);
      return typeof proposal === "string" ? null : proposal;
    },
    recipe(actions, reason = "given by hand") {
      const { methods, facts } = study.input;
      const resolved = resolveActions(actions, methods, facts, "user");
      return { actions, resolved, origin: { sampler: "user", mode: "user", reason } };
    },
    async begin(proposal) {
      requireBaseline(study, "begin a trial");
      const draft = await begin(study, proposal);
      const handle = trialByHand(study, draft);
      handles.set(draft, handle);
      return handle;
    },
    async close() {
      for (const draft of [...study.open]) {
        if (!study.held.includes(draft)) await handles.get(draft)?.abandon("the study was closed");
      }
      await finishHeld(study, BY_HAND);
      return await closeStudy(study, BY_HAND);
    },
  };
}

function requireBaseline(study: Study, what: string): void {
  if (baselineOf(study) !== undefined) return;
  throw new UsageError(`Cannot ${what} as the baseline is not measured: call baseline() first`);
}

function trialByHand(study: Study, draft: Draft): TrialByHand {
  const refuse = (what: string, reason: string): never => {
    throw new UsageError(`Cannot ${what} ${draft.trial.trial_id} as ${reason}`);
  };
  const requireOpen = (what: string): void => {
    if (!study.open.has(draft)) refuse(what, `it is closed: ${draft.trial.state}`);
    if (study.held.includes(draft)) refuse(what, "it is held until the study ends: call close()");
  };
  const requireGoing = (what: string): void => {
    requireOpen(what);
    const ended = draft.ended === null ? null : endOf(draft);
    if (ended !== null) refuse(what, `it ended: ${ended.reason}; call learn() to close it`);
  };
  const applied = (): string => {
    const { artifact_ids, actions } = draft.trial;
    return `${artifact_ids.length} of ${actions.length} actions are applied: call apply() first`;
  };
  return {
    get trial() {
      return draft.trial;
    },
    get ended() {
      return draft.ended === null ? null : endOf(draft);
    },
    async apply() {
      requireGoing("apply");
      if (isWhole(draft)) refuse("apply", "every action is applied: go on with evaluate()");
      return await decided(draft, () => applyNext(study, draft));
    },
    async evaluate(fidelity) {
      requireGoing("evaluate");
      const [first] = fidelitiesOf(study.input.request);
      const rung = fidelity ?? first;
      if (draft.trial.artifact_ids.length === 0) refuse("evaluate", applied());
      if (!isWhole(draft)) return await decided(draft, () => evaluateMidway(study, draft, rung));
      if (rung === first) return await decided(draft, () => evaluateFirst(study, draft));
      study.fullEvaluations++;
      return await decided(draft, () => evaluate(study, draft, rung));
    },
    async measure() {
      requireGoing("measure");
      if (!isWhole(draft)) refuse("measure", applied());
      await measure(study, draft);
    },
    async learn() {
      requireOpen("learn from");
      if (draft.ended === null) {
        if (!isWhole(draft)) refuse("learn from", applied());
        if (draft.trial.fidelity === null) {
          refuse("learn from", "it is not evaluated: call evaluate()");
        }
        const timed = draft.trial.measurements.some(({ runtime, metric }) =>
          runtime !== null && !metric.startsWith("runtime_")
        );
        if (!timed) refuse("learn from", "its speed is not measured: call measure()");
      }
      return await learn(study, draft);
    },
    async abandon(reason) {
      requireOpen("abandon");
      const failure = { kind: "cancelled" as const, message: reason, hint: null, stage: null };
      return await closeTrial(study, draft, endingOf(failure));
    },
  };
}

function endOf({ ended, trial }: Draft): { state: string; reason: string } {
  const reason = ended?.failure?.message ?? trial.gates.at(-1)?.reason ?? "";
  return { state: ended?.state ?? "", reason };
}

/** What the gate said of a stage; null where none did. */
async function decided(
  draft: Draft,
  work: () => Promise<Draft["ended"]>,
): Promise<GateDecision | null> {
  const before = draft.trial.gates.length;
  draft.ended = await work();
  return draft.trial.gates.slice(before).findLast(({ decision }) => decision !== "retry") ?? null;
}
