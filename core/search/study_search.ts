import type { SearchContext } from "../contract/plugin.ts";
import { type ComparableStudy, comparableStudy } from "../front/comparable.ts";
import { directionsOf } from "../front/objectives.ts";
import type { Action, ResolvedAction } from "../schemas/action.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import { limitsOf } from "../strategies/compatibility.ts";
import { recipeCacheBytes } from "../strategies/caches/cache_at.ts";
import { predictBytes } from "../strategies/chain.ts";
import { type AgentMethod, resolveActions } from "../strategies/resolve_action.ts";
import { isWorthARetry, untried, usableMethods } from "../strategies/untried.ts";
import { earlierPoints } from "./earlier_points.ts";
import { figuresOf, foretoldFigures } from "./foretold_figures.ts";
import { type MethodSpace, methodSpace } from "./method_space.ts";
import type { SearchState, Seen } from "./space.ts";
import { studyCorner } from "./study_corner.ts";

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
  const { facts, spec: { context_tokens } } = context;
  return (point) => {
    const bytes = bytesOf(space.actionsOf(point));
    return spec.objectives.map(({ metric }) => bytes[metric] ?? null);
  };
  function bytesOf(actions: readonly Action[]): Readonly<Record<string, number>> {
    try {
      const resolved = resolveActions(actions, methods, facts);
      const size_bytes = predictBytes(resolved, methods, facts);
      const kv = context_tokens === undefined
        ? null
        : recipeCacheBytes(resolved, methods, facts, context_tokens);
      if (kv === null) return { size_bytes };
      return { size_bytes, kv_bytes_at_context: kv, memory_bytes_at_context: size_bytes + kv };
    } catch {
      return {}; // a point that is forbidden, too
    }
  }
}

/**
 * A study's history as points with the values of its objectives, over the space of its methods. A trial
 * whose recipe does not fit the space (slots in another order, a method that is gone) is left out, with
 * the reason. What is tried already is forbidden too, whether or not it has a point.
 */
export function studySearch(context: SearchContext): StudySearch {
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
  const expected = foretoldFigures(context, methods, space, study);
  const corner = studyCorner(study, context.facts);
  const learned = earlierPoints(context, space, study);
  const state: SearchState = {
    space: open,
    directions: directionsOf(study.spec),
    seen,
    known: knownOf(context, methods, space, study)!,
    ...(expected === undefined ? {} : { expected }),
    ...(corner === null ? {} : { corner }),
    ...(learned === undefined ? {} : { learned }),
    ...(trials_left === null ? {} : { budget: trials_left + seen.length + left_out.length }),
    random: context.random,
    seed: context.seed,
  };
  return { state, space: open, left_out };
}
