import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { handoffOf, type JournalRecord, replayStudy, stageSizes } from "../../core/mod.ts";
import { textTable } from "../terminal/table.ts";
import { bytes } from "../view/number_text.ts";
import { handoffHtml } from "./handoff_page.ts";

/** What a staged run leaves beside a study's files. */
export const HANDOFF = "handoff.json";
const HANDOFF_PAGE = "handoff.html";

/** Writes the handoff of a staged run and gives the table of its sizes, with where it lies. */
export async function endOfStages(
  records: readonly JournalRecord[],
  study_id: string,
  folder: string,
): Promise<string> {
  const study = replayStudy(records, study_id);
  const plan = study?.opened.request.stages;
  if (study === null || plan === undefined) return "";
  const { opened: { facts }, artifacts, trials, stage_decisions: ledger } = study;
  const sizes = stageSizes(ledger, plan, artifacts, facts);
  const rows = sizes.map((size) => [
    `${size.stage} ${size.attempt}`,
    size.passed ? "passed" : "failed",
    bytes(size.bytes),
    size.formula_bytes === null ? "–" : bytes(size.formula_bytes),
    size.expected_bytes === null ? "–" : bytes(size.expected_bytes),
    size.ratio.toFixed(2),
    size.cumulative_ratio.toFixed(2),
  ]);
  const head = ["stage", "gate", "on disk", "formula", "expected", "× before", "× 16-bit"];
  const table = rows.length === 0 ? [] : ["Sizes:", textTable(head, rows)];
  const why = sizes.flatMap(({ stage, why_not }) =>
    why_not === null ? [] : [`  ${stage}: ${why_not}`]
  );
  const handoff = handoffOf({ study_id, plan, ledger, trials, artifacts, facts });
  if (handoff === null) return [...table, ...why].join("\n");
  await mkdir(folder, { recursive: true });
  const path = join(folder, HANDOFF);
  await writeFile(path, `${JSON.stringify(handoff, null, 2)}\n`);
  const page = join(folder, HANDOFF_PAGE);
  await writeFile(page, handoffHtml(handoff));
  const ready = handoff.ready_for_edge_deployment
    ? "ready for edge deployment"
    : `not ready for edge deployment: ${handoff.not_ready_because.join("; ")}`;
  return [
    ...table,
    ...why,
    `Shipped         ${handoff.compression_level}: ${ready}`,
    `Handoff         ${page}`,
    `Handoff (JSON)  ${path}`,
    `Ledger          deno task pare stages show ${study_id}`,
  ].join("\n");
}
