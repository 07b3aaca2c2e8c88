import type { JournalRecord, Outcome, Span } from "../../../../core/mod.ts";

/** What was done about memory that ran out, and what came of it. */
type Told = Pick<
  Extract<JournalRecord, { type: "alert" }>,
  "condition" | "evidence" | "action" | "outcome"
>;

/**
 * Runs an evaluation; where memory runs out, again with half the batch, down to one. Answers that were given
 * before stay. `tell` hears of each halving once its outcome is known.
 */
export async function inSmallerBatches<R extends { readonly batch_size: number }, T>(
  request: R,
  run: (request: R) => Promise<Outcome<T>>,
  tell: (told: Told) => Promise<void>,
): Promise<Outcome<T>> {
  const spans: Span[] = [];
  let outcome = await run(request);
  let size = request.batch_size;
  while (!outcome.ok && outcome.failure.kind === "out_of_memory" && size > 1) {
    const { message: evidence } = outcome.failure;
    spans.push(...outcome.spans);
    size = Math.floor(size / 2);
    outcome = await run({ ...request, batch_size: size });
    const became = outcome.ok
      ? "evaluate went on to its end"
      : `evaluate ended: ${outcome.failure.kind}`;
    const action = `evaluated again in batches of ${size}, half as many as before`;
    await tell({ condition: "out_of_memory", evidence, action, outcome: became });
  }
  return { ...outcome, spans: [...spans, ...outcome.spans] };
}
