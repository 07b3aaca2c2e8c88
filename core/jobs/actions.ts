/** What came of what was done about jobs, and what attempts cost. */
import { type Job, type JobAction, type JobAttempt } from "./queue_state.ts";

function ended({ how, reason }: JobAttempt): string {
  return how === null ? "under way" : `${how}: ${reason}`;
}

/** How it went on with a job after an action. */
export function outcomeOf(job: Job, { attempt, remedy }: JobAction): string {
  const own = job.attempts[attempt - 1];
  const next = job.attempts[attempt];
  // What was told or collected ends nothing: the attempt itself shows what came of it.
  const stays = remedy === "told" || remedy === "collected";
  const shown = stays ? own : next;
  if (shown !== undefined) return ended(shown);
  return job.ended === null ? `not yet: ${job.state}` : `${job.state}: ${job.reason}`;
}

/** What an attempt has cost up to now, in the user's currency; null: nobody said a price. */
export function attemptPrice(attempt: JobAttempt, now: number): number | null {
  const { price_per_hour, began, seconds } = attempt;
  if (price_per_hour === null) return null;
  const took = seconds ?? (began === null ? 0 : Math.max(0, now - began) / 1000);
  return price_per_hour * took / 3600;
}

/** A sum in which a price that nobody said counts nothing; null: nobody said one. */
export function addPrice(sum: number | null, price: number | null): number | null {
  return price === null ? sum : (sum ?? 0) + price;
}

/** What all attempts of a job have cost; null: of none a price was said. */
export function jobPrice({ attempts }: Job, now: number): number | null {
  return attempts.reduce<number | null>((sum, one) => addPrice(sum, attemptPrice(one, now)), null);
}
