import { constants } from "node:os";
import type { EngineState } from "../../../core/jobs/engine.ts";
import type { AttemptResult, AttemptSeen } from "../../../core/jobs/ports.ts";
import { logTail } from "../../../python-backends/child/log_tail.ts";
import { lostWords } from "../../../python-backends/lost_card.ts";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { attemptPaths, readResult, type Written } from "./attempt_folder.ts";
import { isClosed, leaseRenewed, livesHere, readLease } from "./lease.ts";
import { endRemains } from "./remains.ts";

/** What an attempt's own files say of its end, whatever its engine knows; null: nothing yet. */
export function endOf(folder: string): EngineState | null {
  const result = readResult(folder);
  if (result === null) {
    return isClosed(folder) ? { state: "ended", how: "cancelled", code: null } : null;
  }
  const { how, code, signal, not_started } = result;
  if (how === "cancelled") return { state: "ended", how, code };
  if (not_started !== null) return { state: "ended", how: "lost", code, reason: not_started };
  if (signal === null) return { state: "ended", how: "exit", code };
  const number = constants.signals[signal as NodeJS.Signals] ?? null;
  return { state: "ended", how: "signal", code: number, reason: signal };
}

/**
 * The same, where a wrapper of this machine that was killed is an end, too: nobody else ends what it
 * had started. Null: nothing yet, or it is held on another machine.
 */
export async function settled(folder: string): Promise<EngineState | null> {
  const lease = endOf(folder) === null ? readLease(folder) : null;
  if (lease === null || livesHere(lease) === null || isAlive(lease)) return endOf(folder);
  await endRemains(lease.token);
  const reason = "its wrapper was killed before it wrote a result";
  return endOf(folder) ?? { state: "ended", how: "lost", code: null, reason };
}

/** What another try may find otherwise. */
const PASSING = /No space left on device|ENOSPC|Stale file handle/i;

/** What came of an attempt, with its last words where it failed. */
function resultOf(folder: string, written: Written): AttemptResult {
  const { how, code, signal, not_started, lost_cards, seconds } = written;
  const words = logTail(attemptPaths(folder).log, 3).replaceAll("\n", "; ");
  const last = words === "" ? "" : `: ${words}`;
  const lost = lost_cards.length > 0;
  const passing = lost || PASSING.test(words); // an engine gives a card that is gone to nobody
  const failed = (reason: string) => ({ how: "failed", code, reason, seconds, passing }) as const;
  if (how === "timeout") return failed(`it was ended after ${Math.round(seconds)} s, as asked`);
  if (how !== "done") return { how, code, reason: `it was ${how}`, seconds, passing: false };
  if (not_started !== null) return failed(not_started);
  if (signal !== null) return { ...failed(`${signal} ended it${last}`), passing: true };
  if (code !== 0) {
    return failed(`${lost ? `${lostWords(lost_cards)}; ` : ""}exit code ${code}${last}`);
  }
  return { how, code, reason: "it has ended well", seconds, passing: false };
}

/** What an attempt's folder says; `leases` is a `watchLeases()` that lives as long as who looks. */
export function seenAttempt(
  folder: string,
  leases: (folder: string) => AttemptSeen["lease"],
): AttemptSeen {
  const lease = leases(folder);
  const written = readResult(folder); // last: it may have ended meanwhile
  const result = written === null ? null : resultOf(folder, written);
  const began = Date.parse(readLease(folder)?.since ?? "");
  if (Number.isNaN(began)) return { lease, result, progress: null };
  if (written === null && lease !== "stale") return { lease, result, progress: null, began };
  const ended = written === null ? leaseRenewed(folder) : began + 1000 * written.seconds;
  return { lease, result, progress: null, began, ended: ended ?? began };
}
