import { stringify } from "yaml";
import {
  besideOriginal,
  isQualityMetric,
  type Measurement,
  trialName,
} from "../../../../core/mod.ts";
import { contextSentences } from "../../caches/cache_words.ts";
import { bytes, number, percent } from "../../view/number_text.ts";
import { sidesOf } from "../../view/deployment.ts";
import { modelLabel, type StudyView } from "../../view/study_view.ts";
import type { TrialRow } from "../../view/trial_rows.ts";
import { type Authorship, constraintsLine, titleOf } from "../answer_blocks.ts";
import { isQuality } from "../benchmark_blocks.ts";
import { type Block, heading, list, paragraph, table } from "../blocks.ts";
import { comparedCells } from "../comparison_blocks.ts";
import { bibtex } from "../limit_blocks.ts";
import { renderMarkdown } from "../render_markdown.ts";

/** What a card says that no study knows. */
export interface CardFacts extends Authorship {
  /** As the hub names it, such as apache-2.0; absent: not known, and the card says so. */
  readonly license?: string;
  /** Lines that load the checkpoint, without a path of this machine; absent: none. */
  readonly loader?: string;
}

function wholeTasks(view: StudyView, trial_id: string): Measurement[] {
  const trial = view.trials.find((one) => one.trial_id === trial_id);
  return (trial?.measurements ?? []).filter((one) =>
    isQuality(one) && one.task !== null && one.slice === null && one.fidelity === trial?.fidelity &&
    one.provenance === "measured" && isQualityMetric(one.metric) && Number.isFinite(one.value)
  );
}

/** The model as the hub names it: only where it came from there. */
function baseModel({ facts: { model } }: StudyView): string | null {
  return model.source === "hub" ? model.model_name : null;
}

/** What the hub reads before the text. */
function frontMatter(view: StudyView, row: TrialRow, { license }: CardFacts): string {
  const base = baseModel(view);
  const trial = view.trials.find(({ trial_id }) => trial_id === row.trial_id);
  const methods = [...new Set(trial?.actions.map(({ method }) => method))];
  const results = wholeTasks(view, row.trial_id).map((one) => ({
    task: { type: "text-generation" },
    dataset: { name: one.task, type: one.task },
    metrics: [{
      type: one.metric,
      value: one.value,
      name: `${one.metric}, ${one.n} samples, ± ${number(one.standard_error, 2)} standard error`,
    }],
  }));
  return stringify({
    ...(base === null ? {} : { base_model: base }),
    ...(license === undefined ? {} : { license }),
    pipeline_tag: "text-generation",
    tags: ["compressed", "pare", ...methods],
    "model-index": [{
      name: `${modelLabel(view.facts)}: ${row.recipe}`,
      ...(results.length === 0 ? {} : { results }),
    }],
  });
}

/** Energy of a token, as it was read; an estimate says that it is one. */
function energyLine({ energy }: TrialRow, view: StudyView): string {
  if (energy === null) return "Energy per token: not measured.";
  const measured = view.trials.some(({ measurements }) =>
    measurements.some(({ metric, value, provenance }) =>
      metric === "energy_j_per_1k_tokens" && value === energy.value && provenance === "measured"
    )
  );
  const said = `${number(energy.value / 1000)} J per generated token`;
  return measured
    ? `Energy: ${said}, ${energy.method}.`
    : `Energy: ${said}, not measured but estimated: ${energy.method}.`;
}

function costLines(view: StudyView, row: TrialRow): string[] {
  const { fp16_bytes } = view.facts.model;
  const ratio = row.size_bytes === null || !(fp16_bytes > 0)
    ? ""
    : ` (${(fp16_bytes / row.size_bytes).toFixed(2)} times smaller than 16-bit floats)`;
  return [
    `Size: ${bytes(row.size_bytes)}${ratio}.`,
    row.latency_ms === null
      ? "Latency: not measured."
      : `Latency: ${number(row.latency_ms.value)} ms per generated token on ` +
        `${view.facts.device.device_name} with ${row.runtime ?? view.spec.runtime}` +
        `${row.latency_emulated ? ", emulated" : ""}` +
        `${
          row.latency_ratio === null
            ? ""
            : `, ${besideOriginal(number(row.latency_ratio.value), sidesOf(view, row))}`
        }.`,
    ...(row.memory_bytes === null ? [] : [`Peak memory: ${bytes(row.memory_bytes)}.`]),
    energyLine(row, view),
  ];
}

function comparisonTable(view: StudyView, row: TrialRow): Block[] {
  const compared = view.comparisons.get(row.trial_id) ?? [];
  if (compared.length === 0) return [];
  return [table(
    ["task", "metric", "samples", "original", "this model", "difference [95 %]"],
    compared.map(comparedCells),
    "The same samples on both sides, and the interval of the pairs.",
  )];
}

/** The card of the recommended checkpoint as the hub takes it (README.md); null: none is recommended. */
export function modelCard(view: StudyView, facts: CardFacts = {}): string | null {
  const row = view.rows.find(({ trial_id }) => trial_id === view.recommended);
  if (row === undefined) return null;
  const base = baseModel(view) ?? modelLabel(view.facts);
  const { loader, license } = facts;
  const blocks: Block[] = [
    heading(1, `${modelLabel(view.facts)}, compressed: ${row.recipe}`),
    paragraph(
      `Trial ${trialName(row.number)} of the study \`${view.study_id}\` (${
        titleOf(view)
      }), made from ` +
        `${base} with pare ${view.provenance.pare_version}.`,
    ),
    ...(license === undefined
      ? [paragraph("License: not known to the study; that of the original applies.")]
      : []),
    paragraph(`Constraints of the study: ${constraintsLine(view.spec)}.`),
    heading(2, "Quality"),
    ...comparisonTable(view, row),
    ...(row.front_probability === null ? [] : [paragraph(
      `Probability that it is on the front of its study: ${percent(row.front_probability)}.`,
    )]),
    heading(2, "Cost"),
    ...list([...costLines(view, row), ...contextSentences(view)]),
    ...(loader === undefined || loader === ""
      ? []
      : [heading(2, "Use"), { block: "code" as const, language: "python", text: loader }]),
    heading(2, "Limits"),
    paragraph(
      "Quality was measured on the tasks above alone, in the study's language and prompts; what the " +
        "original does wrong it does too. Speed and energy are those of one machine.",
    ),
    heading(2, "Citation"),
    { block: "code", language: "bibtex", text: bibtex(view, facts) },
  ];
  return `---\n${frontMatter(view, row, facts)}---\n\n${renderMarkdown(blocks)}`;
}
