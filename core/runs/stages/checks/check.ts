import { SLACK } from "../../../evidence/slack.ts";
import type { StageDecision } from "../../../schemas/stages/decision.ts";

/** What a check found, before it is put into the ledger. */
export type StageCheck =
  & Pick<
    StageDecision,
    | "about"
    | "subject"
    | "value"
    | "interval"
    | "threshold"
    | "samples"
    | "reference"
    | "score"
    | "chance"
    | "by_estimate"
    | "reason"
  >
  & { readonly decision: "passed" | "failed" | "undecided" | "not_applicable" };

/** The figures of a check or a row that none decides. */
export const UNMEASURED = {
  value: null,
  interval: null,
  threshold: null,
  samples: null,
  reference: null,
  score: null,
  chance: null,
  by_estimate: false,
} as const;

/** A check that no figure decides. */
export function saidCheck(
  about: StageCheck["about"],
  subject: string | null,
  decision: StageCheck["decision"],
  reason: string,
): StageCheck {
  return { ...UNMEASURED, about, subject, decision, reason };
}

/** A figure beside the least that it may be. */
interface Figure {
  readonly about: StageCheck["about"];
  readonly subject: string | null;
  readonly value: number;
  readonly interval: readonly [number, number];
  readonly samples: number;
  readonly least: number;
  /** Such as "retention of mmlu". */
  readonly what: string;
  readonly reference?: number;
  readonly score?: number;
  readonly chance?: number;
}

const shown = (value: number): string => value.toFixed(3);

/**
 * Whether a figure is at least its threshold: the whole interval above it passes, below it fails.
 * Between, it is undecided, or, where `last` says that no more samples may be taken, its value decides
 * and says so.
 */
export function leastCheck(figure: Figure, last: boolean): StageCheck {
  const { about, subject, value, interval, samples, least, what } = figure;
  const [low, high] = interval;
  const sure = low >= least - SLACK ? "passed" : high < least - SLACK ? "failed" : null;
  const by_value = value >= least - SLACK ? "passed" : "failed";
  const decision = sure ?? (last ? by_value : "undecided");
  const said = `${what} is ${shown(value)} (95 % interval ${shown(low)} to ${shown(high)}, ` +
    `${samples} samples), ${value >= least - SLACK ? "not below" : "below"} ${least}`;
  const how = sure !== null
    ? ""
    : last
    ? ": the interval holds both, no more samples may be taken, the estimate decides"
    : ": the interval holds both";
  return {
    ...{ about, subject, value, interval: [low, high], threshold: least, samples, decision },
    reference: figure.reference ?? null,
    score: figure.score ?? null,
    chance: figure.chance ?? null,
    by_estimate: sure === null && last,
    reason: `${said}${how}`,
  };
}
