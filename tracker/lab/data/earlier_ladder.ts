import {
  type Assumption,
  type Facts,
  ladderByAgreement,
  type RunRequest,
  type SeenAgreement,
  UsageError,
} from "../../../core/mod.ts";
import type { Store } from "../../store/store.ts";

/** Gives a store as it is open now; null: nothing is recorded. */
interface Recorded {
  current(this: void): Promise<Pick<Store, "ask"> | null>;
}

/**
 * The store, where studies are recorded in it; null: none is yet. What else keeps it from being read is
 * told where the study opens it to write.
 */
async function recordedStudies({ current }: Recorded): Promise<Pick<Store, "ask"> | null> {
  try {
    return await current();
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** How well the rungs of earlier studies ordered trials, the latest study first. */
const AGREEMENTS = `
  SELECT r.study_id, r.fidelity, r.metric, r.trials, r.spearman, r.spearman_low, r.spearman_high,
    r.samples, g.height, g.counts
  FROM rung_agreement r
  JOIN studies s USING (study_id)
  JOIN (
    SELECT study_id, fidelity, any_value(height) AS height,
      json_group_object(task, samples)::VARCHAR AS counts
    FROM rungs GROUP BY study_id, fidelity
  ) g ON g.study_id = r.study_id AND g.fidelity = r.fidelity
  WHERE s.architecture = $architecture AND s.dataset = $dataset AND r.study_id <> $study_id
    AND r.spearman IS NOT NULL
  ORDER BY s.opened_at DESC, g.height`;

type Row = Record<string, unknown>;

function agreementOf(row: Row): SeenAgreement {
  return {
    fidelity: String(row["fidelity"]),
    metric: String(row["metric"]),
    n: Number(row["trials"]),
    spearman: Number(row["spearman"]),
    interval: [Number(row["spearman_low"]), Number(row["spearman_high"])],
    samples: Number(row["samples"]),
    height: Number(row["height"]),
    counts: JSON.parse(String(row["counts"])),
  };
}

/**
 * A request that asks for the ladder of earlier studies, with the counts of the latest one whose rungs
 * surely order trials as its full evaluation does, and what was found; any other as it is. Counts that
 * the request gives itself stand.
 */
export async function withEarlierLadder(
  request: RunRequest,
  { model: { architecture }, dataset: { dataset } }: Facts,
  study_id: string,
  recorded: Recorded,
): Promise<{ request: RunRequest; assumptions: Assumption[] }> {
  const { ladder, ...own } = request.samples;
  if (ladder === undefined) return { request, assumptions: [] };
  const params = { architecture, dataset, study_id };
  const store = await recordedStudies(recorded);
  const rows = store === null ? [] : (await store.ask(AGREEMENTS, { params })) as Row[];
  const said = (value: string, reason: string): Assumption => ({
    ...{ field: "samples", value, source: "inferred", reason },
  });
  for (const [earlier, seen] of Map.groupBy(rows, (row) => String(row["study_id"]))) {
    const chosen = ladderByAgreement(seen.map(agreementOf));
    if (chosen === null) continue;
    const samples = { ...chosen.samples, ...own };
    const shown = chosen.samples.kl === undefined
      ? `first the samples of its rung`
      : `kl=${chosen.samples.kl} first`;
    const assumptions = [said(shown, `in ${earlier}, ${chosen.reason}`)];
    return { request: { ...request, samples }, assumptions };
  }
  const why = rows.length === 0
    ? `no earlier study of ${architecture} on ${dataset} has trials enough on two rungs`
    : "no rung of an earlier study surely orders trials as its full evaluation does";
  return { request: { ...request, samples: own }, assumptions: [said("as usual", why)] };
}
