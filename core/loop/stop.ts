import type { Failure } from "../schemas/failure.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import type { Episode, StopReason } from "../schemas/journal.ts";
import type { Trial } from "../schemas/trial.ts";
import { strategyKey, trialName } from "../strategies/strategy_names.ts";
import { gpuHours, remainingSeconds, spentJoules, spentSeconds } from "./cost/budget.ts";
import type { Study } from "./study.ts";
import { goOn } from "../advice/advice.ts";
import { DEFAULT_CONVERGENCE_EPISODES } from "../spec/limits.ts";

export interface Stop {
  readonly stop: StopReason;
  readonly message: string;
}

/** A relative gain in hypervolume below this is noise of the timing, not progress. */
const SMALLEST_GAIN = 1e-3;

/** So many trials in a row that the machine failed end a study: the next would fail too. */
const FAILURES_IN_A_ROW = 3;

/** So many proposals in a row that cannot run end a search: it has lost its way. */
const INVALID_IN_A_ROW = 10;

/** Why the study ends now; null: it goes on. */
export function stopNow(study: Study): Stop | null {
  return cancelled(study) ?? machineFailed(study) ?? targetReached(study) ?? trialCap(study) ??
    timeIsUp(study) ?? lost(study) ?? converged(study) ?? notWorthIt(study);
}

export function cancelled({ ports, input }: Study): Stop | null {
  return ports.signal.aborted
    ? { stop: "cancelled", message: `The study was cancelled: \`${goOn(input)}\` goes on.` }
    : null;
}

const MACHINE: ReadonlySet<Failure["kind"]> = new Set([
  "crash",
  "stall",
  "missing_environment",
  "disk_full", // once may be one large artifact: the next is smaller, or there already
]);

function machineFailed(study: Study): Stop | null {
  const run = study.trials.filter((trial) => trial.number >= study.firstNumber);
  const tail = run.slice(-FAILURES_IN_A_ROW);
  const all = tail.length === FAILURES_IN_A_ROW &&
    tail.every((trial) => trial.failure !== null && MACHINE.has(trial.failure.kind));
  if (!all) return null;
  const last = tail.at(-1)!.failure!;
  return {
    stop: "failed",
    message:
      `${FAILURES_IN_A_ROW} trials in a row failed, the last by ${last.kind}: ${last.message}`,
  };
}

/** The user named a latency or a size, and a fully evaluated trial meets every constraint. */
function targetReached(study: Study): Stop | null {
  const { max_latency_ms, max_size_gb } = study.input.request.constraints;
  if (max_latency_ms === undefined && max_size_gb === undefined) return null;
  const reached = study.trials.find((trial) =>
    trial.strategy !== null && trial.state === "completed" && isDecisive(trial.fidelity) &&
    trial.constraints.every((verdict) => verdict.verdict === "met")
  );
  if (reached === undefined) return null;
  const named = [
    ...(max_latency_ms === undefined ? [] : [`${max_latency_ms} ms per token`]),
    ...(max_size_gb === undefined ? [] : [`${max_size_gb} GB`]),
  ];
  return {
    stop: "target",
    message: `${trialName(reached.number)} meets every constraint, ${named.join(" and ")} ` +
      "among them.",
  };
}

/** Whether a trial did any work: a strategy refused beforehand does not use up the trials. */
function counts(trial: Trial): boolean {
  const refused = trial.state === "invalid" && trial.artifact_ids.length === 0;
  return trial.strategy !== null && trial.state !== "cancelled" && !refused;
}

/** One that was run again for its full evaluation counts once. */
function triedRecipes(study: Study): number {
  const tried = study.trials.filter(counts);
  const again = tried.filter((trial) =>
    trial.state === "completed" && isDecisive(trial.fidelity) &&
    tried.some((other) =>
      other.number < trial.number && other.state === "completed" && !isDecisive(other.fidelity) &&
      strategyKey(other.actions) === strategyKey(trial.actions)
    )
  );
  return tried.length - again.length;
}

/** Trials that may still be begun; null: as many as one likes. */
export function trialsLeft(study: Study): number | null {
  const cap = study.input.request.max_trials;
  return cap === undefined ? null : Math.max(0, cap - triedRecipes(study) - study.open.size);
}

function trialCap(study: Study): Stop | null {
  const cap = study.input.request.max_trials;
  if (trialsLeft(study) !== 0) return null;
  return {
    stop: "max_trials",
    message: cap === 1
      ? "The one trial that was asked for is run."
      : `All ${cap} trials that were asked for are run.`,
  };
}

/** The budget, the GPU hours or the joules are used; null: they are not. */
export function timeIsUp(study: Study): Stop | null {
  const { gpu_hours, budget_seconds, budget_joules } = study.input.request;
  if (!study.limits_hold) return null;
  const joules = spentJoules(study) ?? 0;
  if (budget_joules !== undefined && joules >= budget_joules) {
    const spent = `${Math.round(joules)} J are spent`;
    return { stop: "joules", message: `The budget of ${budget_joules} J is used: ${spent}.` };
  }
  if (gpu_hours !== undefined && gpuHours(study) >= gpu_hours) {
    return { stop: "gpu_hours", message: `The ${gpu_hours} GPU hours are used.` };
  }
  if (remainingSeconds(study) > 0) return null;
  return {
    stop: "budget",
    message: `The budget of ${budget_seconds} s is used: ${Math.round(spentSeconds(study))} s ` +
      "are spent.",
  };
}

function lost(study: Study): Stop | null {
  const tail = study.trials.slice(-INVALID_IN_A_ROW);
  const all = tail.length === INVALID_IN_A_ROW &&
    tail.every((trial) => trial.state === "invalid" && trial.artifact_ids.length === 0);
  if (!all || study.queue.length > 0) return null;
  return {
    stop: "exhausted",
    message: `The last ${INVALID_IN_A_ROW} proposals cannot run here, the last because ` +
      `${tail.at(-1)!.failure?.message ?? "of an unknown reason"}.`,
  };
}

function converged(study: Study): Stop | null {
  if (study.queue.length > 0) return null;
  const wanted = study.input.request.convergence_episodes ?? DEFAULT_CONVERGENCE_EPISODES;
  if (episodesWithoutGain(study) < wanted) return null;
  return {
    stop: "converged",
    message: `No gain in hypervolume in ${wanted} episodes: ` +
      `${study.episodes.at(-1)?.hypervolume?.toFixed(4) ?? "none measured"}.`,
  };
}

/** Episodes of the samplers since the front last grew; the user's strategies and seeds do not count. */
function episodesWithoutGain(study: Study): number {
  let best = 0;
  let idle = 0;
  for (const episode of study.episodes) {
    const { hypervolume } = episode;
    const value = hypervolume ?? 0;
    const gained = value > best * (1 + SMALLEST_GAIN);
    if (gained) best = value;
    if (gained) idle = 0;
    else if (isSearch(episode)) idle++;
  }
  return idle;
}

/** Whether an episode is of a sampler: the user's strategies and seeds are tried whatever they gain. */
function isSearch({ mode }: Episode): boolean {
  return mode === "exploit" || mode === "explore";
}

/**
 * The share by which the hypervolume rises an hour, as it did over the samplers' last so many episodes;
 * null: there are too few of them, or records of before, which do not say what they cost.
 */
export function gainPerHour(episodes: readonly Episode[], count: number): number | null {
  const [first] = episodes.filter(isSearch).slice(-count);
  if (first === undefined || episodes.filter(isSearch).length < count) return null;
  const before = episodes[episodes.indexOf(first) - 1];
  const last = episodes.at(-1)!;
  if (!before?.hypervolume || last.hypervolume === null) return null;
  if (before.spent === undefined || last.spent === undefined) return null;
  const hours = (last.spent.seconds - before.spent.seconds) / 3600;
  return hours > 0 ? Math.max(0, last.hypervolume / before.hypervolume - 1) / hours : null;
}

/** What the search may be expected to gain is less than the study asks for an hour. */
function notWorthIt(study: Study): Stop | null {
  const { least_gain_per_hour: least, convergence_episodes } = study.input.request;
  if (least === undefined || study.queue.length > 0) return null;
  const count = convergence_episodes ?? DEFAULT_CONVERGENCE_EPISODES;
  const gain = gainPerHour(study.episodes, count);
  if (gain === null || gain >= least) return null;
  return {
    stop: "not_worth_it",
    message: `Over the last ${count} episodes the hypervolume rose by ${percent(gain)} an hour, ` +
      `less than the ${percent(least)} that are asked for.`,
  };
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
