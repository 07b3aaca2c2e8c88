import type { SinkSchedule, SinkStatus } from "../index/sink_schedule.ts";
import { behindSentence, heldSentence } from "./stale.ts";

/** How long a question waits for what was recorded last. */
const PATIENCE = { wait_ms: 1_000, at_most_ms: 1_000 };

/** Answers with everything recorded so far, or that say why they lack some. */
export function currentAnswers(
  sink: Pick<SinkSchedule, "status" | "flush" | "wake">,
): <T extends { stale: string | null }>(work: () => Promise<T>) => Promise<T> {
  return async (work) => {
    const status = sink.status().caught_up
      ? null
      : await sink.flush(PATIENCE.wait_ms, { at_most_ms: PATIENCE.at_most_ms });
    const answer = await work();
    if (answer.stale !== null) {
      // The answer itself found the index damaged, and made a part of it anew: the next question is
      // to know that too, however far the sink believes to have come.
      await sink.flush(PATIENCE.wait_ms, { at_most_ms: 0 });
      sink.wake();
    }
    return { ...answer, stale: answer.stale ?? (status === null ? null : staleness(status)) };
  };
}

/** Why an answer behind a flush that came this far lacks something. */
function staleness({ caught_up, held_by, database_bytes, journal_bytes }: SinkStatus) {
  if (caught_up) return null;
  return held_by === null ? behindSentence(database_bytes, journal_bytes) : heldSentence(held_by);
}
