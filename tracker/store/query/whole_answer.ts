import type { QueryResult } from "./result.ts";

/** How long a question waits for an index that gets no further, and for one that does. */
const PATIENCE = { still_ms: 5_000, whole_ms: 600_000 };

/**
 * An answer that lacks nothing: it is asked again while the index is brought up to the journal, a part
 * at each asking. Where that gets no further, as another process keeps it, the answer says so.
 */
export async function wholeAnswer(
  ask: () => Promise<QueryResult>,
  { still_ms, whole_ms } = PATIENCE,
): Promise<QueryResult> {
  const began = performance.now();
  let moved = began;
  let before: string | null = null;
  for (;;) {
    const answer = await ask();
    const { stale } = answer;
    if (stale === null) return answer;
    const now = performance.now();
    if (stale !== before) moved = now; // it says how far it is
    before = stale;
    if (now - moved > still_ms || now - began > whole_ms) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
