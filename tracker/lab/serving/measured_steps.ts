import { unknownName, UsageError } from "../../../core/errors.ts";
import type { Measured } from "../../../core/serving/plan/speed.ts";
import { findHome } from "../../ground/home.ts";
import { openStore } from "../../store/store.ts";

/** Steps of a load whose rows say how many requests were open at a time. */
const STEPS = `SELECT level, asked_prompt_tokens + asked_output_tokens / 2 AS kept,
  output_tokens_per_second AS speed
  FROM loads WHERE study_id = $load AND load = 'concurrency' AND NOT against AND failed = 0
  ORDER BY load_step`;

/**
 * What a load of `pare load` measured, for a plan of the cards that it ran on.
 *
 * @throws UsageError there is no such load, or none of its steps was at a concurrency
 */
export async function measuredSteps(
  load: string,
  store: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Measured> {
  await using opened = await openStore(findHome(env, store).store, { write: false });
  const { rows } = await opened.query(STEPS, { params: { load } });
  if (rows.length === 0) {
    const known = await opened.query("SELECT DISTINCT study_id FROM loads ORDER BY study_id");
    const names = known.rows.map((row) => String(row["study_id"]));
    if (!names.includes(load)) throw new UsageError(unknownName("load", load, names));
    throw new UsageError(
      `Cannot plan by ${load}: none of its steps was at a concurrency without a failure, so that ` +
        "nobody knows how many sequences were answered at a time",
    );
  }
  return {
    source: `corrected by ${rows.length} steps of ${load}`,
    steps: rows.map((row) => ({
      sequences: Number(row["level"]),
      kept_tokens: Number(row["kept"]),
      output_tokens_per_second: Number(row["speed"]),
    })),
  };
}
