import type { Measurement, Trial } from "../../core/mod.ts";
import { bytes, number } from "../view/format.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, list, paragraph, table } from "./blocks.ts";
import { comparisonBlocks } from "./comparison_blocks.ts";
import { speedBlocks } from "./speed_blocks.ts";
import { RUNTIME_QUALITY_HEAD, runtimeQualityRows } from "./runtime_quality.ts";

function modelSection(view: StudyView): Block[] {
  const { model, device } = view.facts;
  const grid = model.grid === null ? [] : [
    `**Weights on a grid.** ${Math.round(model.grid.fraction * 100)} % of the linear weights lie ` +
    `on a ${model.grid.symmetric ? "symmetric" : "asymmetric"} ${model.grid.bits}-bit grid in ` +
    `groups of ${model.grid.group_size}: rounding to that grid gives them back, ` +
    `${model.grid.symmetric ? "exactly" : "but for the file's whole zero points"}, and says ` +
    `nothing about a method, so methods on it are refused.`,
  ];
  return [
    heading(2, "Model and machine"),
    ...list([
      `${model.architecture}, ${number(model.parameters / 1e6, 4)} M parameters ` +
      `(${number(model.embedding_parameters / 1e6, 3)} M in embeddings` +
      `${model.tied_embeddings ? ", tied" : ""}), ${model.layers} layers, hidden ` +
      `${model.hidden_size}, ${model.heads} heads, ${model.kv_heads} KV heads; ` +
      `${bytes(model.fp16_bytes)} at 16 bits; came as ${model.source}, ${model.dtype}.`,
      ...grid,
      `${device.device_name}, ${device.cores} cores, ${number(device.memory_gb)} GB memory` +
      `${device.vram_gb === null ? ", no GPU" : `, ${number(device.vram_gb)} GB GPU memory`}; ` +
      `torch ${device.torch_version} (${device.torch_build}).`,
    ]),
    ...list([...view.spec.warnings]),
  ];
}

function describeTask(m: Measurement): string[] {
  return [
    m.task ?? "mean over tasks",
    m.task_version ?? "–",
    m.metric,
    `${number(m.value, 4)}${m.standard_error === null ? "" : ` ± ${number(m.standard_error, 2)}`}`,
    String(m.n),
    m.fidelity,
    m.provenance,
  ];
}

function qualityTable(trial: Trial | undefined): Block[] {
  if (trial === undefined) return [];
  const quality = trial.measurements.filter((m) =>
    ["accuracy", "perplexity"].includes(m.metric) && m.slice === null
  );
  return [table(
    ["task", "version", "metric", "baseline ± SE", "n", "fidelity", "provenance"],
    quality.map(describeTask),
  )];
}

function numericsLines(view: StudyView): string[] {
  const seen = new Set<string>();
  for (const trial of view.trials) {
    for (const m of trial.measurements) {
      if (m.metric !== "latency_ms" || m.numerics === null) continue;
      const { inference_precision, kv_precision, activation_group } = m.numerics;
      seen.add(
        `${m.runtime}: inference ${inference_precision}, KV cache ${kv_precision}, ` +
          (activation_group === 0
            ? "activations not quantized"
            : `activations quantized in groups of ${activation_group}`) +
          ` (${m.method ?? "median of repeats"})`,
      );
    }
  }
  return [...seen];
}

function verdictRows(view: StudyView): string[][] {
  return view.trials.flatMap((trial) =>
    trial.constraints.map((c) => [
      `t${String(trial.number).padStart(2, "0")}`,
      c.constraint,
      number(c.threshold),
      number(c.value),
      c.interval === null ? "–" : `${number(c.interval[0])} to ${number(c.interval[1])}`,
      c.verdict +
      (c.samples_to_decide === null ? "" : ` (about ${c.samples_to_decide} samples would decide)`),
    ])
  );
}

function failedRows(view: StudyView): string[][] {
  return view.trials.filter((trial) => trial.state !== "completed").map((trial) => [
    `t${String(trial.number).padStart(2, "0")}`,
    trial.strategy?.strategy_id ?? "baseline",
    trial.state,
    trial.failure?.message ?? trial.gates.find((g) => g.decision !== "pass")?.reason ?? "",
  ]);
}

function nameOf(view: StudyView, trial_id: string | null): string {
  const trial = view.trials.find((one) => one.trial_id === trial_id);
  return trial === undefined
    ? trial_id ?? "the study"
    : `t${String(trial.number).padStart(2, "0")}`;
}

/** What looked wrong, as it was recorded. */
function alertRows(view: StudyView): string[][] {
  return view.alerts.map(({ trial_id, condition, evidence, action, outcome }) => [
    nameOf(view, trial_id),
    condition,
    evidence,
    action,
    outcome ?? "–",
  ]);
}

function refusedRows(view: StudyView): string[][] {
  return [...view.refused_comparisons].map(([trial_id, why]) => [nameOf(view, trial_id), why]);
}

function whenAny(rows: string[][], title: string, head: string[]): Block[] {
  return rows.length === 0 ? [] : [heading(2, title), table(head, rows)];
}

/** How everything was measured, decided and assumed: what makes the report defensible. */
export function evidenceBlocks(view: StudyView): Block[] {
  const { provenance, spec } = view;
  const refused = spec.methods.filter((m) => !m.supported).map((m) => [m.method, m.reason]);
  return [
    ...comparisonBlocks(view),
    ...whenAny(refusedRows(view), "Not compared", ["trial", "why"]),
    ...whenAny(alertRows(view), "Alerts", ["trial", "condition", "evidence", "action", "outcome"]),
    ...whenAny(verdictRows(view), "Constraints", [
      "trial",
      "constraint",
      "threshold",
      "value",
      "95 % interval",
      "verdict",
    ]),
    ...speedBlocks(view),
    ...whenAny(runtimeQualityRows(view), "Scored as they run", RUNTIME_QUALITY_HEAD),
    ...whenAny(failedRows(view), "Not measured to the end", ["trial", "strategy", "state", "why"]),
    ...whenAny(refused, "Methods refused for this model or machine", ["method", "why"]),
    ...modelSection(view),
    heading(2, "How it was measured"),
    ...qualityTable(view.trials.find((t) => t.strategy === null && t.state === "completed")),
    ...list([
      ...numericsLines(view),
      ...spec.missing_tasks.map((m) => `Not measured: ${m.task}: ${m.reason}`),
      `Reward weights: accuracy ${spec.reward_weights.accuracy}, latency ` +
      `${spec.reward_weights.latency}, memory ${spec.reward_weights.memory}, energy ` +
      `${spec.reward_weights.energy}. The reward steers the search; the front is the claim.`,
    ]),
    ...whenAny(
      spec.assumptions.map((a) => [a.field, String(a.value ?? "none"), a.source, a.reason]),
      "What nobody said and pare filled in",
      ["field", "value", "from", "why"],
    ),
    heading(2, "Run it again"),
    { block: "code", language: "sh", text: provenance.command },
    paragraph(
      `Code ${provenance.code_commit ?? "not in a git checkout"}, pare ` +
        `${provenance.pare_version}, seed ${view.request.seed}, model revision ` +
        `${provenance.model_revision ?? "none given"}; environments ` +
        Object.entries(provenance.environments).map(([name, hash]) => `${name} ${hash}`).join(
          ", ",
        ) +
        ".",
    ),
  ];
}
