import type { Handoff } from "../../../core/mod.ts";
import { type Block, heading, list, paragraph, table } from "../reports/blocks.ts";
import { renderHtml } from "../reports/render_html.ts";
import { number } from "../view/number_text.ts";

const megabytes = (value: number): string => `${number(value)} MB`;
const milliseconds = (value: number | null): string =>
  value === null ? "not measured" : `${number(value)} ms a token`;

const HEAD = ["baseline", "final", "retention", "95 %"];

/** Files that a staged run leaves beside a study's. */
export const HANDOFF = "handoff.json";
export const HANDOFF_PAGE = "handoff.html";

type Kept = Handoff["benchmarks"][string];

function keptRow({ baseline, final, retention, interval }: Kept): string[] {
  const range = interval?.map((end) => end.toFixed(3)).join(" to ") ?? "–";
  return [
    number(baseline),
    number(final),
    retention === null ? "not judged" : number(retention),
    range,
  ];
}

function benchmarkBlocks({ benchmarks, expert_benchmarks }: Handoff): Block[] {
  const core = Object.entries(benchmarks).map(([name, kept]) => [name, ...keptRow(kept)]);
  const experts = Object.entries(expert_benchmarks).flatMap(([domain, own]) =>
    Object.entries(own).map(([name, kept]) => [domain, name, ...keptRow(kept)])
  );
  const note = "Retention is what is left of the baseline's score above guessing.";
  return [
    heading(2, "Core benchmarks"),
    table(["benchmark", ...HEAD], core, note),
    ...experts.length === 0 ? [] : [
      heading(2, "Experts' benchmarks"),
      table(["domain", "benchmark", ...HEAD], experts),
    ],
  ];
}

function behaviourBlocks({ edge_of_chaos: chaos, eudaimonia }: Handoff): Block[] {
  const rows = [
    ...chaos === null ? [] : [["edge of chaos", number(chaos.accuracy), chaos.status]],
    ...Object.entries(eudaimonia).map(([rule, score]) => [rule, number(score), "–"]),
  ].map(([check, score, status]) => [check!, score!, status!.replace("_", " ")]);
  if (rows.length === 0) return [];
  return [heading(2, "Behaviour"), table(["check", "score", "status"], rows)];
}

function gateBlocks({ quality_gates }: Handoff): Block[] {
  const rows = Object.entries(quality_gates).map((
    [stage, { passed, retries, decision, reason }],
  ) => [
    stage,
    passed ? "passed" : decision === "not_tried" ? "not tried" : "failed",
    String(retries),
    decision.replace("_", " "),
    reason,
  ]);
  if (rows.length === 0) return [];
  const head = ["stage", "gate", "retries", "decision", "why"];
  return [heading(2, "Quality gates"), table(head, rows)];
}

function sizeBlocks({ sizes }: Handoff): Block[] {
  if (sizes.length === 0) return [];
  const rows = sizes.map((size) => [
    `${size.stage} ${size.attempt}`,
    megabytes(size.bytes / 1e6),
    size.formula_bytes === null ? "–" : megabytes(size.formula_bytes / 1e6),
    size.expected_ratio === null ? "–" : `${number(size.expected_ratio)} ×`,
    `${size.ratio.toFixed(2)} ×`,
    `${size.cumulative_ratio.toFixed(2)} ×`,
  ]);
  const head = ["attempt", "on disk", "by formula", "expected", "to before", "to 2 bytes a weight"];
  const why = sizes.flatMap(({ stage, attempt, why_not }) =>
    why_not === null ? [] : [`${stage} ${attempt}: ${why_not}`]
  );
  return [heading(2, "Sizes"), table(head, rows), ...list(why)];
}

/** A handoff in words and tables, in the order in which whoever deploys it asks. */
function handoffBlocks(handoff: Handoff): Block[] {
  const { compression_level: level, ready_for_edge_deployment: ready } = handoff;
  const silent = handoff.not_judged;
  return [
    heading(1, `Handoff: ${level === "original" ? "the original" : `what ${level} left`}`),
    paragraph(`Study \`${handoff.study_id}\`.`),
    paragraph(`**${ready ? "Ready" : "Not ready"} for edge deployment.**`),
    ...list(handoff.not_ready_because),
    {
      block: "terms",
      terms: [
        ["model", `\`${handoff.model}\``],
        [
          "artifact",
          `\`${handoff.artifact_id}\`: over its files' checksums, those that were measured`,
        ],
        [
          "size",
          `${megabytes(handoff.size_mb)} of ${megabytes(handoff.original_size_mb)}: ` +
          `${handoff.compression_ratio.toFixed(2)} times smaller on disk`,
        ],
        ["hardware", handoff.recommended_hardware],
        ["latency, measured", milliseconds(handoff.inference_latency_measured_ms)],
        [
          "latency, estimate",
          `${
            milliseconds(handoff.inference_latency_estimate_ms)
          }: the baseline's by the ratio of ` +
          "bytes, as if memory alone limited it",
        ],
      ],
    },
    ...benchmarkBlocks(handoff),
    ...behaviourBlocks(handoff),
    ...gateBlocks(handoff),
    ...sizeBlocks(handoff),
    ...silent.length === 0 ? [] : [heading(2, "What was not judged"), ...list(silent)],
  ];
}

/** A handoff as one page without a script. */
export function handoffHtml(handoff: Handoff): string {
  return renderHtml(`Handoff of ${handoff.study_id}`, handoffBlocks(handoff));
}
