import {
  type LoadLimits,
  type LoadRequest,
  type LoadSummary,
  streamRandom,
  summarize,
} from "../../../core/mod.ts";
import type { LoadTarget } from "./ask_stream.ts";
import { runPart, type StepAsked, type StepState } from "./run_step.ts";

/** What a step came to on one server. */
export interface StepMeasured {
  readonly target: LoadTarget;
  readonly asked: StepAsked;
  readonly summary: LoadSummary;
  readonly requests: readonly LoadRequest[];
  /** What each of its parts came to, in their order. */
  readonly parts: readonly LoadSummary[];
}

/** Parts of a step where two servers take turns. */
const TURNS = 4;

function partOf(asked: StepAsked, turn: number, turns: number): StepAsked {
  const { requests, seconds, warming, ...rest } = asked;
  const from = (whole: number, at: number) => Math.floor((whole * at) / turns);
  return {
    ...rest,
    warming: turn === 0 ? warming : 0,
    ...(requests === undefined
      ? {}
      : { requests: from(requests, turn + 1) - from(requests, turn) }),
    ...(seconds === undefined ? {} : { seconds: seconds / turns }),
  };
}

/**
 * One load of one server, or of two that take turns in the same minutes, each first as often: what else
 * the machine does then meets both.
 */
export async function measureStep(
  targets: readonly LoadTarget[],
  asked: StepAsked,
  limits: LoadLimits,
  seed: number,
  signal: AbortSignal,
): Promise<StepMeasured[]> {
  const turns = targets.length === 1 ? 1 : TURNS;
  const states = targets.map((): StepState & { parts: LoadSummary[] } => ({
    // The same prompts for both, in the same order.
    ...{ done: [], random: streamRandom(seed, `load ${asked.load} ${asked.level}`), active_ms: 0 },
    parts: [],
  }));
  for (let turn = 0; turn < turns && !signal.aborted; turn++) {
    const order = turn % 2 === 0 ? [...targets.keys()] : [...targets.keys()].reverse();
    for (const at of order) {
      const before = states[at]!.done.length;
      await runPart(targets[at]!, partOf(asked, turn, turns), states[at]!, signal);
      states[at]!.parts.push(summarize(states[at]!.done.slice(before), limits));
    }
  }
  return targets.map((target, at) => {
    const { done, parts } = states[at]!;
    return { target, asked, summary: summarize(done, limits), requests: done, parts };
  });
}
