import type { SearchContext } from "../contract/plugin.ts";
import type { ComparableStudy } from "../front/comparable.ts";
import { type ObjectiveFigure, objectiveFigure } from "../front/objectives.ts";
import { metricOf } from "../metrics/metric_table.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import { FULL, isDecisive } from "../schemas/fidelity.ts";
import { stillFits } from "../strategies/recovery.ts";
import { readRatio } from "../strategies/read_bytes.ts";
import { type AgentMethod, resolveActions } from "../strategies/resolve_action.ts";
import { foretoldLoss } from "../strategies/format_losses.ts";
import type { MethodSpace } from "./method_space.ts";
import type { SearchState } from "./space.ts";

type Compared = ComparableStudy["trials"][number];

/** The trial's figures for the objectives on the rung that it reached; null: one is missing. */
export function figuresOf(trial: Compared, { spec }: ComparableStudy): ObjectiveFigure[] | null {
  const figures = spec.objectives.map(({ metric }) =>
    objectiveFigure(trial, metric, spec, isDecisive(trial.fidelity) ? FULL : trial.fidelity ?? FULL)
  );
  const whole = figures.every((one) => one !== undefined && Number.isFinite(one.value));
  return whole ? figures as ObjectiveFigure[] : null;
}

/** What a formula tells of a recipe beforehand, and how an objective goes with it. */
interface Formula {
  /** 0: the recipe changes nothing; null: the formula does not tell. */
  tell(actions: readonly ResolvedAction[]): number | null;
  /** The objective where so much comes true, from the baseline's. */
  figure(told: number, baseline: number): number;
  /** How much came true, by the objective. */
  come(figure: number, baseline: number): number;
  /** Which share of what was told comes true, by the trials that were measured. */
  share(pairs: readonly { readonly told: number; readonly come: number }[]): number;
}

/** What falls with the bytes of weights that a token reads: they are moved for it, and lie in memory. */
const BY_BYTES: ReadonlySet<string> = new Set(["latency_ms", "memory_bytes", "gpu_memory_bytes"]);

/** By least squares through the baseline, at most all of it; all of it where nothing is measured. */
function savedShare(pairs: Parameters<Formula["share"]>[0]): number {
  const both = pairs.reduce((sum, { told, come }) => sum + told * come, 0);
  const squares = pairs.reduce((sum, { told }) => sum + told ** 2, 0);
  return squares > 0 ? Math.min(1, Math.max(0, both / squares)) : 1;
}

/** Above this a trial lost by something else than by rounding. */
const MOST_LOST = 2;

/** The middle one: a trial that was cut, too, lost more than rounding takes, whatever that says. */
export function lostShare(pairs: Parameters<Formula["share"]>[0]): number {
  const shares = pairs.filter(({ told }) => told > 0).map(({ told, come }) => come / told)
    .sort((a, b) => a - b);
  return Math.min(MOST_LOST, Math.max(0, shares[shares.length >> 1] ?? 1));
}

/** Latency and memory as the bytes that a token reads foretell them. */
function byBytes(context: SearchContext, methods: readonly AgentMethod[]): Formula {
  return {
    tell(actions) {
      const ratio = readRatio(actions, methods, context.facts);
      return ratio === null ? null : 1 - ratio;
    },
    figure: (saved, baseline) => baseline * (1 - saved),
    come: (figure, baseline) => 1 - figure / baseline,
    share: savedShare,
  };
}

/** Quality, and the distance to the original, as the scores of its layers foretell them. */
function byLayers(
  { facts, format_losses }: SearchContext,
  methods: readonly AgentMethod[],
  metric: string,
): Formula {
  const { kind, direction, scale, unit } = metricOf(metric) ?? { kind: "quality", scale: "share" };
  const loss = (actions: readonly ResolvedAction[]) =>
    foretoldLoss(actions, methods, facts, format_losses);
  if (kind !== "distance") {
    const sign = direction === "minimize" ? 1 : -1;
    return {
      tell: loss,
      figure: (lost, baseline) => baseline * Math.exp(sign * lost),
      come: (figure, baseline) => sign * Math.log(Math.max(figure, 1e-3 * baseline) / baseline),
      share: lostShare,
    };
  }
  // Of answers that change there are as many as distributions move far: KL goes by the square of that.
  const isShare = scale === "share" || unit === "1";
  return {
    tell(actions) {
      const lost = loss(actions);
      return lost === null || !isShare ? lost : Math.sqrt(lost);
    },
    figure: (lost) => isShare ? Math.min(1, lost) : lost,
    come: (figure) => figure,
    share: lostShare,
  };
}

/** Of what is not of answers, bytes on disk are known and all else is not told. */
function formulaOf(
  context: SearchContext,
  methods: readonly AgentMethod[],
  metric: string,
): Formula | null {
  if (BY_BYTES.has(metric)) {
    return methods.some(({ reads }) => reads !== undefined) ? byBytes(context, methods) : null;
  }
  const kind = metricOf(metric)?.kind;
  const ofAnswers = kind === "quality" || kind === "distance";
  return ofAnswers && context.format_losses.length > 0 ? byLayers(context, methods, metric) : null;
}

/**
 * Objectives as formulas foretell them from the baseline's figure: latency and memory by the bytes that a
 * token reads, quality by the scores of the original's layers, each as far as it came true in the trials
 * so far. Undefined where no formula tells of any, or no baseline is measured.
 */
export function foretoldFigures(
  context: SearchContext,
  methods: readonly AgentMethod[],
  space: MethodSpace,
  study: ComparableStudy,
): SearchState["expected"] {
  const baseline = study.trials.find(({ strategy }) => strategy === null);
  const own = baseline === undefined ? null : figuresOf(baseline, study);
  if (own === null) return undefined;
  const foretold = study.spec.objectives.flatMap(({ metric }, at) => {
    const formula = formulaOf(context, methods, metric);
    if (formula === null) return [];
    const of = own[at]!.value;
    const share = formula.share(study.trials.flatMap((trial) => {
      const value = trial.strategy === null ? undefined : figuresOf(trial, study)?.[at]?.value;
      if (value === undefined || trial.actions.length === 0) return [];
      // No formula tells of what a user gave.
      if (!trial.actions.every((action) => stillFits(action, methods))) return [];
      return [{ told: formula.tell(trial.actions) ?? 0, come: formula.come(value, of) }];
    }));
    return [{ at, of, share, formula }];
  });
  if (foretold.length === 0) return undefined;
  return (point) => {
    const found = study.spec.objectives.map((): number | null => null);
    try {
      const actions = resolveActions(space.actionsOf(point), methods, context.facts);
      for (const { at, of, share, formula } of foretold) {
        const told = formula.tell(actions);
        found[at] = told === null ? null : formula.figure(share * told, of);
      }
    } catch {
      // a point that is forbidden, too
    }
    return found;
  };
}
