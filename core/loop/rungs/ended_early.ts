import { judgeTasks } from "../../evidence/task_limits.ts";
import { predictorWords } from "../../evidence/sequence/control_variate.ts";
import { judgeSequence, LEVEL, sequenceInterval } from "../../evidence/sequence/verdict.ts";
import { CHECKED_GATE } from "../../front/stop_rule.ts";
import { addGate, type Compared, type Draft, type Ending, type Study } from "../study.ts";
import { decideJoining, type LookedAt } from "./joining.ts";

/** What a look at a part of a rung's samples found. */
export interface Looked {
  /** Beside the baseline, on the samples of the look. */
  readonly compared: Compared;
  readonly at: LookedAt;
  /** Samples of the whole rung. */
  readonly all: number;
  /** Samples that were told to decide before the first look; null: none were. */
  readonly expected: number | null;
}

const STOPPED: Ending = { state: "stopped", failure: null };

/** The end of a trial whose samples show that it loses more than the limit; its gate says what was saved. */
export function endsAt(draft: Draft, found: Looked, limit: number): Ending | null {
  const { sequence, drop } = found.compared.quality;
  if (sequence === null) return null;
  const { verdict, n } = judgeSequence(sequence.drawn, limit);
  if (verdict !== "violated") return null;
  const interval = sequenceInterval(sequence.drawn)!; // of samples that have just decided
  return endDecided(draft, found, {
    what: "accuracy drop",
    ...{ drop, interval, limit, n, used: predictorWords(sequence.predicted) },
  });
}

/** The end of one whose samples show that it loses more on a task than that one's limit. */
export function endsByTask(draft: Draft, found: Looked, claims: number): Ending | null {
  const { tasks } = found.compared;
  const judged = judgeTasks(tasks, claims);
  const i = judged.findIndex(({ verdict }) => verdict === "violated");
  if (i < 0) return null;
  const { task, drop, limit, sequence } = tasks[i]!;
  const interval = sequenceInterval(sequence.drawn, LEVEL / claims)!;
  return endDecided(draft, found, {
    what: `drop of ${task}`,
    ...{ drop, interval, limit, n: judged[i]!.n, used: predictorWords(sequence.predicted) },
  });
}

/**
 * The end of one that is unlikely to join the front, by the rule of stops on the samples of the look. It
 * stays a result of the rung below, whose figures it has: where there is none, and it was not timed
 * yet, nothing is decided.
 */
export function endsUnlikely(study: Study, draft: Draft, found: Looked): Ending | null {
  const { trial } = draft;
  if (trial.fidelity === null) return null;
  const { decision, gate } = decideJoining(study, trial, { look: found.at });
  if (gate?.gate === CHECKED_GATE) addGate(draft, gate);
  if (decision !== "stop" || gate === null) return null;
  const { unread, saved } = savedBy(found);
  const reason = `${gate.reason}; ${saved}`;
  addGate(draft, { ...gate, reason, unread, ...expectedOf(found) });
  return { state: "completed", failure: null };
}

interface Decided {
  readonly what: string;
  readonly drop: number;
  readonly interval: readonly [number, number];
  readonly limit: number;
  /** Samples at the look that decided, and what was used beside them. */
  readonly n: number;
  readonly used: string;
}

function savedBy({ compared: { quality: { n } }, all }: Looked) {
  const unread = all - n;
  return { unread, saved: `${unread} of ${all} samples were not read` };
}

function expectedOf({ expected }: Looked): { expected?: number } {
  return expected === null ? {} : { expected };
}

function endDecided(draft: Draft, found: Looked, decided: Decided): Ending {
  const { fidelity, metric, n } = found.compared.quality;
  const { what, drop, interval: [low, high], limit, used } = decided;
  const { unread, saved } = savedBy(found);
  draft.decided = found.compared;
  addGate(draft, {
    gate: `${fidelity}_${metric}`,
    decision: "abort",
    reason: `${what} on ${n} ${fidelity} samples is ${drop.toFixed(3)} (95 % interval ` +
      `${low.toFixed(3)} to ${
        high.toFixed(3)
      }${used}), above ${limit}: decided after ${decided.n}, ${saved}`,
    value: drop,
    threshold: limit,
    samples: n,
    unread,
    ...expectedOf(found),
  });
  return STOPPED;
}
