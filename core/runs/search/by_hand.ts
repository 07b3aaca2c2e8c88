import { type Calls, callsOf } from "./calls_by_hand.ts";
import { unknownName, UsageError } from "../../errors.ts";
import { Action, type ActionInput } from "../../schemas/action.ts";
import { isDecisive } from "../../schemas/fidelity.ts";
import type { GateDecision, Trial } from "../../schemas/trial.ts";
import type { Spec } from "../../schemas/spec.ts";
import { toldBeforehand } from "../../loop/told_beforehand.ts";
import { resolveActions, withOwnNames } from "../../strategies/resolve_action.ts";
import { strategyKey } from "../../strategies/strategy_names.ts";
import { closeSearch } from "../../loop/end/close_study.ts";
import { closeTrial, endingOf } from "../../loop/draft.ts";
import { begin, learn, measure } from "../../loop/episode.ts";
import { finishHeld } from "../../loop/rungs/climb_rungs.ts";
import { kindOf } from "../request.ts";
import { type Proposal, propose } from "../../loop/propose.ts";
import { ensureBaseline } from "../../loop/run_baseline.ts";
import {
  applyNext,
  evaluate,
  evaluateGated,
  evaluateMidway,
  isWhole,
} from "../../loop/run_trial.ts";
import { cancelled, type Stop } from "../../loop/stop.ts";
import { isFinished } from "../../resume/replay.ts";
import { finishStudy, runProposals, takeTurn } from "../../loop/turn.ts";
import {
  baselineOf,
  currentFront,
  type Draft,
  isTimed,
  type Study,
  visibleTrials,
} from "../../loop/study.ts";
import { type StudyInput, type StudyPorts, type StudyResult } from "../../loop/study_input.ts";

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
   * Measures quality after any action, on the study's first rung where none is named. In the midst of
   * the chain its figures are recorded apart. The gate's decision; null where it failed, or on the
   * last rung, which no gate judges.
   */
  evaluate(fidelity?: string): Promise<GateDecision | null>;
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

/**
 * A study by hand: the arrows of the loop one by one, in any order that makes sense, recorded as by
 * the coordinator. One call is made at a time; a pause of a second or more between two of them counts
 * as nobody's work: not for the budget, nor as time of a trial that is open.
 */
export interface StudyByHand extends AsyncDisposable {
  readonly study_id: string;
  readonly spec: Spec;
  /** Closed trials, and held ones as results of the rung that they reached, by number. */
  trials(): readonly Trial[];
  /** Trial ids of the front, best reward first. */
  front(): readonly string[];
  /** Measures the uncompressed model where that is not done yet. */
  baseline(): Promise<Trial>;
  /** What the loop would run next: of the queue, then of the samplers; null: nothing is left. */
  propose(): Promise<Proposal | null>;
  /** A recipe of your own. */
  recipe(actions: readonly ActionInput[], reason?: string): Proposal;
  /** Opens a trial, unless a limit of the request is reached. */
  begin(proposal: Proposal): Promise<TrialByHand>;
  /**
   * One episode of a proposal, from its first action to `learn`. A recipe that was run to its end
   * already is not run again: its trial comes back.
   */
  run(proposal: Proposal): Promise<Trial>;
  /**
   * Episodes of several proposals, side by side as far as the study has workers: their trials in the
   * same order, null where it was cancelled before one began.
   */
  runAll(proposals: readonly Proposal[]): Promise<(Trial | null)[]>;
  /**
   * The coordinator's next episode, the baseline before it where that lacks; null: the study is over,
   * for a reason that `close` gives.
   */
  episode(): Promise<Trial | null>;
  /** Ends it at once, to be resumed: as `close`, and trials that are held stay on their rung. */
  leave(): Promise<StudyResult>;
  /**
   * Ends the study; trials that are open are closed, held ones evaluated in full as at any end. A
   * second time it gives the same result, and so does leaving the scope of `await using`.
   */
  close(): Promise<StudyResult>;
}

const BY_HAND: Stop = { stop: "by_hand", message: "The study was driven by hand and closed." };

const LEFT: Stop = { stop: "cancelled", message: "The study was left before its end: it goes on." };

/**
 * Opens a study, or takes one up, to be driven by hand. What is asked by hand is no episode of the
 * search: the request's limits do not end it. One that is closed with nothing done since it was taken
 * up ends as it had ended before.
 */
export async function openByHand(input: StudyInput, ports: StudyPorts): Promise<StudyByHand> {
  const study = await kindOf(input.request).open(input, ports);
  study.limits_hold = false;
  const calls = callsOf<StudyResult>(study);
  /** Why the coordinator's episodes are over. */
  let over: Stop | null = null;
  const first = study.nextNumber;
  const end = (stop: Stop) => {
    const untouched = over === null && study.nextNumber === first && study.open.size === 0;
    const before = untouched ? input.history?.study.ended : null;
    return before ? closeSearch(study, before) : closeByHand(study, over ?? stop);
  };
  const close = () => calls.end(() => end(BY_HAND));
  return {
    study_id: input.study_id,
    spec: study.spec,
    trials: () => visibleTrials(study),
    front: () => currentFront(study).ids,
    async baseline() {
      const stop = await calls.make("measure the baseline", () => ensureBaseline(study));
      if (stop !== null) {
        calls.require("measure the baseline"); // where it was cancelled meanwhile
        throw new UsageError(stop.message);
      }
      return baselineOf(study)!; // there is one where nothing stopped it
    },
    run: async (proposal) => (await runAllByHand(study, [proposal], calls))[0]!, // the first begins
    runAll: (proposals) => runAllByHand(study, proposals, calls),
    async episode() {
      calls.require("take an episode");
      requireNoneOpen(study);
      const turn = over ?? await calls.make("take an episode", () => nextTurn(study));
      if (!("stop" in turn)) return turn;
      over = turn;
      return null;
    },
    leave: () => calls.end(() => end(LEFT)),
    async propose() {
      calls.require("propose a recipe");
      requireBaseline(study, "propose a recipe");
      const ask = () => withinLimits(study, () => propose(study));
      const proposal = await calls.make("propose a recipe", ask);
      return typeof proposal === "string" ? null : proposal;
    },
    recipe: (actions, reason = "given by hand") => recipeOf(study, actions, reason),
    async begin(proposal) {
      calls.require("begin a trial");
      requireBaseline(study, "begin a trial");
      requireProposal(proposal);
      study.keys.add(strategyKey(proposal.resolved));
      const draft = await calls.make("begin a trial", () => begin(study, proposal));
      return trialByHand(study, draft, calls);
    },
    close,
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
}

async function runAllByHand(
  study: Study,
  proposals: readonly Proposal[],
  calls: Calls<StudyResult>,
): Promise<(Trial | null)[]> {
  calls.require("run a recipe");
  requireBaseline(study, "run a recipe");
  proposals.forEach(requireProposal);
  requireNoneOpen(study);
  const known = new Map<string, Trial | null>();
  for (const trial of visibleTrials(study)) {
    const key = strategyKey(trial.actions);
    if (trial.strategy !== null && isFinished(trial) && !known.has(key)) known.set(key, trial);
  }
  const keyOf = ({ resolved }: Proposal) => strategyKey(resolved);
  const fresh = proposals.filter((one, at) =>
    !known.has(keyOf(one)) && proposals.findIndex((other) => keyOf(other) === keyOf(one)) === at
  );
  for (const one of fresh) study.keys.add(keyOf(one));
  const run = fresh.length === 0
    ? []
    : await calls.make("run a recipe", () => runProposals(study, fresh));
  fresh.forEach((one, at) => known.set(keyOf(one), run[at]!));
  return proposals.map((one) => known.get(keyOf(one)) ?? null);
}

async function nextTurn(study: Study): Promise<Trial | Stop> {
  return await withinLimits(
    study,
    async () => await ensureBaseline(study) ?? await takeTurn(study),
  );
}

/** A trial of one's own is closed before a whole one is run. */
function requireNoneOpen(study: Study): void {
  const open = [...study.open].find((draft) => !study.held.includes(draft));
  if (open === undefined) return;
  throw new UsageError(
    `Cannot run a trial as ${open.trial.trial_id} is open: learn() or abandon() it first`,
  );
}

/**
 * The actions of a recipe that a user wrote, and what they come to.
 *
 * @throws UsageError for what is no list of actions, or names what there is not.
 */
export function checkRecipe(
  given: readonly ActionInput[],
  { methods, facts }: Pick<StudyInput, "methods" | "facts">,
): Pick<Proposal, "actions" | "resolved"> {
  const parsed = Action.array().min(1).safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new UsageError(
      `Cannot take the recipe as ${issue!.path.join(".") || "it"} is wrong (${issue!.message}): ` +
        "give a list of { agent, method, params }",
    );
  }
  const resolved = resolveActions(parsed.data, methods, facts, "user");
  return { actions: withOwnNames(parsed.data, methods), resolved };
}

function recipeOf(study: Study, given: readonly ActionInput[], reason: string): Proposal {
  const { actions, resolved } = checkRecipe(given, study.input);
  return {
    ...{ actions, resolved, origin: { sampler: "user", mode: "user", reason } },
    beforehand: toldBeforehand(study, resolved),
  };
}

function requireBaseline(study: Study, what: string): void {
  if (baselineOf(study) !== undefined) return;
  throw new UsageError(`Cannot ${what} as the baseline is not measured: call baseline() first`);
}

/** A notebook's cells are not checked for types. */
function requireProposal(proposal: Proposal | null): void {
  if (Array.isArray(proposal?.resolved)) return;
  throw new UsageError(
    proposal === null
      ? "Cannot begin a trial as propose() has nothing left: give a recipe([…]) of your own"
      : "Cannot begin a trial of that: give what propose() or recipe([…]) gives",
  );
}

/** The search's own steps, by hand too, keep to the limits of the request. */
async function withinLimits<T>(study: Study, work: () => Promise<T>): Promise<T> {
  study.limits_hold = true;
  try {
    return await work();
  } finally {
    study.limits_hold = false;
  }
}

/** What is open is closed as cancelled; a study whose signal is set ends as any that is cancelled. */
async function closeByHand(study: Study, reason: Stop): Promise<StudyResult> {
  study.limits_hold = reason !== BY_HAND; // trials that wait were asked for by hand
  const stop = cancelled(study) ?? reason;
  for (const draft of [...study.open]) {
    if (!study.held.includes(draft)) await abandon(study, draft, "The study was closed before it");
  }
  // What earlier runs left is run again at the end of a search alone.
  if (stop !== BY_HAND) return await finishStudy(study, stop);
  await finishHeld(study, stop);
  return await closeSearch(study, stop);
}

async function abandon(study: Study, draft: Draft, message: string): Promise<Trial> {
  const failure = { kind: "cancelled" as const, message, hint: null, phase: null };
  return await closeTrial(study, draft, endingOf(failure));
}

function trialByHand(study: Study, draft: Draft, calls: Calls<StudyResult>): TrialByHand {
  /** How far each action's result was evaluated, by the number of actions applied. */
  const reached = new Map<number, string>();
  const refuse = (what: string, reason: string): never => {
    throw new UsageError(`Cannot ${what} ${draft.trial.trial_id} as ${reason}`);
  };
  const requireOpen = (what: string): void => {
    calls.require(`${what} ${draft.trial.trial_id}`);
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
  const make = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    calls.make(`${what} ${draft.trial.trial_id}`, work);
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
      return await make("apply", () => decided(draft, () => applyNext(study, draft)));
    },
    async evaluate(fidelity) {
      requireGoing("evaluate");
      if (draft.trial.artifact_ids.length === 0) refuse("evaluate", applied());
      const known = study.rungs;
      const rung = fidelity ?? known[0]!; // a study has one at least
      if (!known.includes(rung)) refuse("evaluate", unknownName("fidelity", rung, known));
      const depth = draft.trial.artifact_ids.length;
      const before = reached.get(depth);
      if (before !== undefined && known.indexOf(rung) <= known.indexOf(before)) {
        refuse("evaluate", `this artifact is evaluated already: ${before}`);
      }
      reached.set(depth, rung);
      return await make("evaluate", () => decided(draft, () => evaluateAt(study, draft, rung)));
    },
    async measure() {
      requireGoing("measure");
      if (!isWhole(draft)) refuse("measure", applied());
      if (hasTimes(draft)) refuse("measure", "its speed is measured: go on with learn()");
      await make("measure", () => measure(study, draft));
    },
    async learn() {
      requireOpen("learn from");
      if (draft.ended === null) {
        if (!isWhole(draft)) refuse("learn from", applied());
        if (draft.trial.fidelity === null) {
          refuse("learn from", "it is not evaluated: call evaluate()");
        }
        if (isTimed(study) && !hasTimes(draft)) {
          refuse("learn from", "its speed is not measured: call measure()");
        }
      }
      return await make("learn from", () => learn(study, draft));
    },
    async abandon(reason) {
      requireOpen("abandon");
      return await make("abandon", () => abandon(study, draft, reason));
    },
  };
}

/** The midst of a chain and its end; there the first fidelity has a gate. */
async function evaluateAt(study: Study, draft: Draft, fidelity: string) {
  if (!isWhole(draft)) return await evaluateMidway(study, draft, fidelity);
  if (fidelity === study.rungs[0] || !isDecisive(fidelity)) {
    return await evaluateGated(study, draft, fidelity);
  }
  study.fullEvaluations++;
  return await evaluate(study, draft, fidelity);
}

/** Whether speed and memory are measured; what a runtime scores is neither. */
function hasTimes({ trial }: Draft): boolean {
  return trial.measurements.some(({ runtime, metric }) =>
    runtime !== null && !metric.startsWith("runtime_")
  );
}

function endOf({ ended, trial }: Draft): { state: string; reason: string } {
  const reason = ended?.failure?.message ?? trial.gates.at(-1)?.reason ?? "";
  return { state: ended?.state ?? "", reason };
}

/** What the gate said of an action; null where none did. */
async function decided(
  draft: Draft,
  work: () => Promise<Draft["ended"]>,
): Promise<GateDecision | null> {
  const before = draft.trial.gates.length;
  draft.ended = await work();
  return draft.trial.gates.slice(before).findLast(({ decision }) => decision !== "retry") ?? null;
}
