import { type Artifact, FormatLoss } from "../../../core/mod.ts";
import type { Store } from "../../store/store.ts";

/**
 * Scores of the original's layers by KL, added up by part and format. int8 rounds inputs, too: its bits a
 * weight do not tell it from other formats. Of several studies that scored the same model, the one that
 * asks, else the newest.
 */
const LOSSES = `
  WITH scored AS (
    SELECT study_id, CASE part WHEN 'linear' THEN 'linear' ELSE 'embedding' END AS part, format,
      sum(size_bytes) / sum(size_bytes / weight_bits) AS weight_bits, sum(value) AS kl
    FROM layer_scores
    WHERE artifact_id = $artifact_id AND scorer = 'kl' AND program = 'pare'
      AND NOT starts_with(format, 'int8') AND (study_id = $study_id OR $others)
    GROUP BY ALL
  )
  SELECT study_id, part, format, weight_bits, kl FROM scored
  WHERE study_id = (
    SELECT study_id FROM scored JOIN events e USING (study_id) WHERE e.type = 'layers_scored'
    ORDER BY study_id = $study_id DESC, happened_at DESC, study_id LIMIT 1
  )
  ORDER BY part DESC, weight_bits, format`;

/** What formats cost the original, as far as its layers were scored; none: nobody has. */
export async function formatLosses(
  store: Store,
  { artifact_id }: Pick<Artifact, "artifact_id">,
  study_id: string,
  { others }: { others: boolean },
): Promise<FormatLoss[]> {
  const params = { artifact_id, study_id, others };
  const rows = await store.ask(LOSSES, { params });
  return rows.map((row) => FormatLoss.parse(row));
}
