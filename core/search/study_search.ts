import type { SearchContext } from "../contract/plugin.ts";
import { type ComparableStudy, comparableStudy } from "../front/comparable.ts";
import { directionsOf, type ObjectiveFigure, objectiveFigure } from "../front/objectives.ts";
import type { Action, ResolvedAction } from "../schemas/action.ts";
import { FULL, isDecisive } from "../schemas/fidelity.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import { limitsOf } from "../strategies/compatibility.ts";
import { predictBytes } from "../strategies/chain.ts";
import { readRatio } from "../strategies/read_bytes.ts";
import { type AgentMethod, resolveActions } from "../strategies/resolve_action.ts";
import { isWorthARetry, untried, usableMethods } from "../strategies/untried.ts";
import { type MethodSpace, methodSpace } from "./method_space.ts";
import type { SearchState, Seen } from "./space.ts";

/** A study as a search algorithm is asked with it. */
export interface StudySearch {
  readonly state: SearchState;
  readonly space: MethodSpace;
  /** Trials whose recipes have no point in the space, each with the reason. */
  readonly left_out: readonly { readonly trial_id: string; readonly reason: string }[];
}

type Compared = ComparableStudy["trials"][number];

/** What became of a trial, as a search sees it; one below the last rung was stopped, or waits there. */
function stateOf({ state, fidelity, failure }: Compared): Seen["state"] {
  switch (state) {
    case "running":
      return "pending";
    case "completed":
      return isDecisive(fidelity) ? "done" : "stopped";
    case "stopped":
      return "stopped";
    case "invalid":
      return "infeasible";
    case "cancelled":
      return "failed";
    case "failed":
      return failure !== null && isWorthARetry(failure.kind) ? "failed" : "infeasible";
  }
}

/** The trial's figures for the objectives on the rung that it reached; null: one is missing. */
function figuresOf(trial: Compared, { spec }: ComparableStudy): ObjectiveFigure[] | null {
  const figures = spec.objectives.map(({ metric }) =>
    objectiveFigure(trial, metric, spec, isDecisive(trial.fidelity) ? FULL : trial.fidelity ?? FULL)
  );
  const whole = figures.every((one) => one !== undefined && Number.isFinite(one.value));
  return whole ? figures as ObjectiveFigure[] : null;
}

/** How far a limit is exceeded, as a share of it; at most 0 where nothing says that it is. */
function excess({ value, threshold, verdict }: ConstraintVerdict): number {
  if (value === null || !Number.isFinite(value)) return 0;
  const over = (value - threshold) / (Math.abs(threshold) || 1);
  return verdict === "met" ? Math.min(0, over) : over;
}

function seenOf(trial: Compared, point: Seen["point"], study: ComparableStudy): Seen {
  const figures = figuresOf(trial, study);
  return {
    point,
    state: stateOf(trial),
    values: figures?.map(({ value }) => value) ?? null,
    ...(figures === null ? {} : { errors: figures.map((one) => one.standard_error ?? 0) }),
    ...(trial.constraints.length === 0 ? {} : { violations: trial.constraints.map(excess) }),
  };
}

/** A recipe with a value for every knob, or why it has none: a knob or method that is gone. */
function resolved(
  trial: Pick<Compared, "actions" | "strategy">,
  methods: readonly AgentMethod[],
  { facts }: SearchContext,
): readonly ResolvedAction[] | string {
  const written = trial.strategy?.actions ?? [];
  if (trial.actions.length >= written.length) return trial.actions;
  try {
    return resolveActions(written, methods, facts);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Bytes by formula for the objective that is bytes; what else a recipe gives is not known before. */
function knownOf(
  context: SearchContext,
  methods: readonly AgentMethod[],
  space: MethodSpace,
  { spec }: ComparableStudy,
): SearchState["known"] {
  const { facts } = context;
  return (point) => {
    const bytes = bytesOf(space.actionsOf(point));
    return spec.objectives.map(({ metric }) => metric === "size_bytes" ? bytes : null);
  };
  function bytesOf(actions: readonly Action[]): number | null {
    try {
      return predictBytes(resolveActions(actions, methods, facts), methods, facts);
    } catch {
      return null; // a point that is forbidden, too
    }
  }
}

/** What falls with the bytes of weights that a token reads: they are moved for it, and lie in memory. */
const FORETOLD: ReadonlySet<string> = new Set(["latency_ms", "memory_bytes", "gpu_memory_bytes"]);

/**
 * Latency and memory as the bytes that a token reads foretell them: the baseline's, less what reading
 * fewer bytes has saved so far (the share of the bytes by least squares through the baseline, at most all
 * of it; all of it where nothing is measured). Undefined where neither is an objective, no baseline is
 * timed or the runtime does not tell.
 */
function expectedOf(
  context: SearchContext,
  methods: readonly AgentMethod[],
  space: MethodSpace,
  study: ComparableStudy,
): SearchState["expected"] {
  const baseline = study.trials.find(({ strategy }) => strategy === null);
  const own = baseline === undefined ? null : figuresOf(baseline, study);
  if (own === null || !methods.some(({ reads }) => reads !== undefined)) return undefined;
  const less = (actions: readonly ResolvedAction[]) => {
    const ratio = readRatio(actions, methods, context.facts);
    return ratio === null ? null : 1 - ratio;
  };
  const foretold = study.spec.objectives.flatMap(({ metric }, at) => {
    const of = own[at]!.value;
    return FORETOLD.has(metric) ? [{ at, of, share: savedShare(study, at, of, less) }] : [];
  });
  if (foretold.length === 0) return undefined;
  return (point) => {
    const found = study.spec.objectives.map((): number | null => null);
    try {
      const saved = less(resolveActions(space.actionsOf(point), methods, context.facts));
      for (const { at, of, share } of foretold) {
        found[at] = saved === null ? null : of * (1 - share * saved);
      }
    } catch {
      // a point that is forbidden, too
    }
    return found;
  };
}

/** Which share of what the bytes foretell an objective has saved in the trials so far. */
function savedShare(
  study: ComparableStudy,
  at: number,
  of: number,
  less: (actions: readonly ResolvedAction[]) => number | null,
): number {
  let [both, squares] = [0, 0];
  for (const trial of study.trials) {
    const value = trial.strategy === null ? undefined : figuresOf(trial, study)?.[at]?.value;
    if (value === undefined || trial.actions.length === 0) continue;
    const saved = less(trial.actions) ?? 0;
    both += saved * (1 - value / of);
    squares += saved ** 2;
  }
  return squares > 0 ? Math.min(1, Math.max(0, both / squares)) : 1;
}

/**
 * A study's history as points with the values of its objectives, over the space of its methods. A trial
 * whose recipe does not fit the space (slots in another order, a method that is gone) is left out, with
 * the reason. What is tried already is forbidden too, whether or not it has a point.
 */
export function studySearch(
  context: SearchContext,
  more: Pick<SearchState, "initial"> = {},
): StudySearch {
  const methods = usableMethods(context);
  const limits = limitsOf(context.spec, context.trials);
  const space = methodSpace(methods, context.facts, limits);
  const study = comparableStudy(context.trials, context.spec);
  const seen: Seen[] = [];
  const left_out: { trial_id: string; reason: string }[] = [];
  for (const trial of study.trials) {
    if (trial.strategy === null) continue;
    const actions = resolved(trial, methods, context);
    const place = typeof actions === "string" ? { reason: actions } : space.pointOf(actions);
    if ("point" in place) seen.push(seenOf(trial, place.point, study));
    else left_out.push({ trial_id: trial.trial_id, reason: place.reason });
  }
  const closed = new Set(study.trials.map(({ trial_id }) => trial_id));
  for (const { trial_id, actions } of context.under_way) {
    const place = closed.has(trial_id) ? null : space.pointOf(actions);
    if (place !== null && "point" in place) {
      seen.push({ point: place.point, state: "pending", values: null });
    }
  }
  const admissible = untried(context);
  const open: MethodSpace = {
    ...space,
    forbidden: (point) =>
      isAdmissible(point) ? null : space.forbidden(point) ?? "its recipe was tried before",
  };
  function isAdmissible(point: Seen["point"]): boolean {
    try {
      return admissible(space.actionsOf(point));
    } catch {
      return false; // a plugin that throws: the space says in its words
    }
  }
  const { trials_left } = context.budget;
  const expected = expectedOf(context, methods, space, study);
  const state: SearchState = {
    space: open,
    directions: directionsOf(study.spec),
    seen,
    known: knownOf(context, methods, space, study)!,
    ...(expected === undefined ? {} : { expected }),
    ...(trials_left === null ? {} : { budget: trials_left + seen.length + left_out.length }),
    random: context.random,
    seed: context.seed,
    ...more,
  };
  return { state, space: open, left_out };
}
