import { mean } from "../../evidence/statistics.ts";
import type { ResolvedAction } from "../../schemas/action.ts";
import type { Spent } from "../../schemas/journal.ts";
import type { Trial } from "../../schemas/trial.ts";
import { chainOf } from "../../strategies/chain.ts";
import type { AgentMethod } from "../../strategies/resolve_action.ts";
import { workPace } from "./pace.ts";
import type { Study } from "../study.ts";

/** Seconds since a moment of the study's clock. */
export function seconds(study: Study, since: number): number {
  return (study.ports.clock.now() - since) / 1000;
}

/** Wall time of the study over all its runs, without the pauses of one by hand. */
export function spentSeconds(study: Study): number {
  return study.spent_before + seconds(study, study.started) - study.paused;
}

/** Infinity where no budget is set, or none holds. */
export function remainingSeconds(study: Study): number {
  const budget = study.input.request.budget_seconds;
  return budget === undefined || !study.limits_hold ? Infinity : budget - spentSeconds(study);
}

/** Seconds until the budget or the GPU hours end; Infinity where neither is set. */
export function secondsLeft(study: Study): number {
  const { gpu_hours } = study.input.request;
  const gpu =
    gpu_hours === undefined || !study.limits_hold || study.input.facts.device.device !== "cuda"
      ? Infinity
      : gpu_hours * 3600 - 3600 * gpuHours(study);
  return Math.min(remainingSeconds(study), gpu);
}

/** A timer may ring a moment before its time; then the budget would not seem used yet. */
const SLACK_MS = 50;
/** Timers hold no more: 24 days. */
export const LONGEST_MS = 2 ** 31 - 1;

/** Work that the end of the budget ends too: the call that is running then fails as cancelled. */
export async function withinTime<T>(study: Study, work: () => Promise<T>): Promise<T> {
  const ms = 1000 * secondsLeft(study) + SLACK_MS;
  const timer = ms > LONGEST_MS ? undefined : study.ports.clock.endAfter?.(ms);
  try {
    return await work();
  } finally {
    timer?.clear();
  }
}

/** What a trial has beyond the end of the budget at least: seconds are not worth what was computed. */
const LEAST_BEYOND = 60;

/**
 * A trial's work. Where the budget ends meanwhile it has as long again as it was said to take, and is then
 * ended as one that is cancelled. Of several at once the longest counts: what ends one ends all.
 */
export async function withinBeyond<T>(
  study: Study,
  said: () => number,
  work: () => Promise<T>,
): Promise<T> {
  const { beyond, ports: { clock } } = study;
  const left = secondsLeft(study);
  const ms = left === Infinity
    ? Infinity
    : 1000 * (left + Math.max(LEAST_BEYOND, said())) + SLACK_MS;
  const rings = clock.now() + ms;
  beyond.under_way++;
  if (ms <= LONGEST_MS && rings > beyond.rings) {
    beyond.timer?.clear();
    Object.assign(beyond, { rings, timer: clock.endAfter?.(ms) });
  }
  try {
    return await work();
  } finally {
    if (--beyond.under_way === 0) {
      beyond.timer?.clear();
      Object.assign(beyond, { rings: -Infinity, timer: undefined });
    }
  }
}

/** What a plugin gives, or `ended` where the study is cancelled or its time is up before. */
export async function untilTimeIsUp<T>(study: Study, work: () => Promise<T>): Promise<T | "ended"> {
  const { signal, clock } = study.ports;
  const ms = 1000 * secondsLeft(study) + SLACK_MS;
  let end = (): void => {};
  const ended = new Promise<"ended">((resolve) => {
    end = () => resolve("ended");
  });
  if (signal.aborted) end();
  signal.addEventListener("abort", end);
  const timer = ms > LONGEST_MS ? undefined : clock.endAfter?.(ms, end);
  try {
    return await Promise.race([work(), ended]);
  } finally {
    timer?.clear();
    signal.removeEventListener("abort", end);
  }
}

/** The phase of the timing. */
export const SPEED = "speed";

function expected(observed: readonly number[]): number {
  return observed.length === 0 ? 0 : mean(observed);
}

/**
 * What a trial will take: its methods' own estimates at the pace of this machine, and the evaluations on
 * its first rung and the timing as they went so far.
 */
export function estimateTrial(study: Study, actions: readonly ResolvedAction[]): number {
  const { methods, facts } = study.input;
  const work = chainOf(actions, methods, facts).reduce(
    (sum, { action, entry, met }) => sum + entry.method.estimateSeconds(action.params, met),
    0,
  );
  // With a gate after each action, all but the last are evaluated in the trial's midst.
  const evaluations = study.input.request.gate_actions === true ? Math.max(1, actions.length) : 1;
  return workPace(study) * work + evaluations * estimateRung(study, study.rungs[0]!, actions) +
    estimatePhase(study, SPEED);
}

/** The same with every rung above the first, as one takes that comes to the last. */
export function estimateWhole(study: Study, actions: readonly ResolvedAction[]): number {
  return study.rungs.slice(1).reduce(
    (sum, rung) => sum + estimateRung(study, rung, actions),
    estimateTrial(study, actions),
  );
}

/** How many times as long as others an evaluation of these takes, by what their methods say. */
export function slownessOf(
  methods: readonly AgentMethod[],
  actions: readonly ResolvedAction[],
): number {
  return actions.reduce((product, { agent, method: name, params }) => {
    const entry = methods.find((one) => one.agent === agent && one.method.name === name);
    return product * (entry?.method.slowness?.(params) ?? 1);
  }, 1);
}

/** Seconds of an evaluation of these on a rung, as evaluations went so far; 0: none went. */
export function estimateRung(
  study: Study,
  rung: string,
  actions: readonly ResolvedAction[],
): number {
  return slownessOf(study.input.methods, actions) * estimatePhase(study, rung);
}

/** Keeps what an evaluation on a rung of these took, or their timing, for what others are said to take. */
export function keepPace(
  study: Study,
  phase: string,
  actions: readonly ResolvedAction[],
  took: number,
): void {
  const times = phase === SPEED ? 1 : slownessOf(study.input.methods, actions);
  study.seconds.get(phase)?.push(took / times);
}

/** Seconds of an evaluation on a rung that nothing slows, or of the timing, as they went so far; 0: none went. */
export function estimatePhase(study: Study, phase: string): number {
  return expected(study.seconds.get(phase) ?? []);
}

/** Hours of the GPU so far: a trial holds it from its start to its end. 0 on a CPU. */
export function gpuHours(study: Study): number {
  if (study.input.facts.device.device !== "cuda") return 0;
  const closed = study.trials.reduce((sum, trial) => sum + wallSeconds(trial), 0);
  const open = [...study.open].filter(({ trial }) => trial.strategy !== null)
    .reduce((sum, { trial }) => sum + workSeconds(trial), 0);
  return (closed + open) / 3600;
}

function wallSeconds(trial: Trial): number {
  if (trial.finished_at === null) return 0;
  const wall = (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000;
  // A trial held for a late full evaluation does not hold the GPU meanwhile: its spans tell.
  const work = workSeconds(trial);
  return work > 0 ? Math.min(wall, work) : wall;
}

function workSeconds({ spans }: Trial): number {
  return spans.reduce((sum, span) => sum + span.seconds, 0);
}

/** Joules so far, over all runs but for what a kill cut off; null: nothing here counts them. */
export function spentJoules(
  { joules_before, metered_from, ports: { meter } }: Study,
): number | null {
  if (meter === undefined || metered_from === null) return null;
  return joules_before + meter.joules() - metered_from;
}

/** What the study has cost so far, over all its runs. */
export function spentOf(study: Study): Spent {
  const cuda = study.input.facts.device.device === "cuda";
  return {
    seconds: spentSeconds(study),
    gpu_hours: cuda ? gpuHours(study) : null,
    joules: spentJoules(study),
  };
}
