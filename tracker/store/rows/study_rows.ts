import { FULL, givenLimits, isDecisive, type JournalRecord, samplesAt } from "../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "./change.ts";
import { runRows } from "./provenance_columns.ts";
import { carbonColumns } from "./reading_rows.ts";
import { originalRows } from "./runtime_rows.ts";

type StudyResumed = Extract<JournalRecord, { type: "study_resumed" }>;
type StudyOpened = Extract<JournalRecord, { type: "study_opened" }>;

const TABLES = [
  "studies",
  "objectives",
  "study_tasks",
  "rungs",
  "method_verdicts",
  "assumptions",
  "environments",
  "runs",
  "limit_changes",
  "proposals",
  "consultations",
  "earlier_trials",
  "format_losses",
  "runtime_timings",
] as const;

function modelColumns({ facts: { model } }: StudyOpened): Row {
  return {
    model_source: model.source,
    architecture: model.architecture,
    model_type: model.model_type,
    model_dtype: model.dtype,
    parameters: model.parameters,
    embedding_parameters: model.embedding_parameters,
    linear_parameters: model.linear_parameters,
    original_bytes: model.original_bytes,
    fp16_bytes: model.fp16_bytes,
    tied_embeddings: model.tied_embeddings,
    layers: model.layers,
    hidden_size: model.hidden_size,
    intermediate_size: model.intermediate_size,
    heads: model.heads,
    kv_heads: model.kv_heads,
    vocabulary: model.vocabulary,
    context_length: model.context_length,
    grid_bits: model.grid?.bits ?? null,
    grid_group_size: model.grid?.group_size ?? null,
    grid_symmetric: model.grid?.symmetric ?? null,
    grid_fraction: model.grid?.fraction ?? null,
  };
}

function deviceColumns({ facts: { device, dataset } }: StudyOpened): Row {
  return {
    device: device.device,
    device_name: device.device_name,
    platform: device.platform,
    cores: device.cores,
    memory_gb: device.memory_gb,
    free_memory_gb: device.free_memory_gb,
    vram_gb: device.vram_gb,
    compute_capability: device.compute_capability,
    free_disk_gb: device.free_disk_gb,
    torch_version: device.torch_version,
    torch_build: device.torch_build,
    energy_reader: device.energy_reader,
    cpu_watts_per_thread: device.cpu_power?.watts_per_thread ?? null,
    cpu_power_source: device.cpu_power?.source ?? null,
    ...carbonColumns(device.carbon_intensity),
    dataset_kind: dataset.kind,
    dataset_rows: dataset.rows,
    dataset_sha256: dataset.sha256,
  };
}

function specColumns({ spec }: StudyOpened): Row {
  // Limits on single tasks and goals stand in constraint_verdicts, as each trial's thresholds.
  const { max_task_drops: _, goals: _goals, ...constraints } = spec.constraints;
  return {
    dataset_class: spec.dataset_class,
    primary_objective: spec.primary_objective,
    runtime: spec.runtime,
    model_size_gb: spec.model_size_gb,
    required_memory_gb: spec.required_memory_gb,
    preferred_quant: spec.preferred_quant,
    ...constraints,
    max_kv_gb: spec.constraints.max_kv_gb ?? null,
    context_tokens: spec.context_tokens ?? null,
    weight_accuracy: spec.reward_weights.accuracy,
    weight_latency: spec.reward_weights.latency,
    weight_memory: spec.reward_weights.memory,
    weight_energy: spec.reward_weights.energy,
    weight_co2: spec.reward_weights.co2 ?? null,
    weight_size: spec.reward_weights.size ?? null,
    weight_distance: spec.reward_weights.distance ?? null,
    warnings: spec.warnings,
  };
}

function requestColumns({ request, provenance }: StudyOpened): Row {
  return {
    model_name: request.model_name,
    dataset: request.dataset,
    seed: request.seed,
    target: request.target ?? null,
    budget_seconds: request.budget_seconds ?? null,
    gpu_hours: request.gpu_hours ?? null,
    budget_joules: request.budget_joules ?? null,
    max_trials: request.max_trials ?? null,
    command: provenance.command,
    code_commit: provenance.code_commit,
    pare_version: provenance.pare_version,
    model_revision: provenance.model_revision,
  };
}

/** What taking a study up changes: its limits, where they were set anew, and its end. */
export function resumedRows(record: StudyResumed, position: number): Change[] {
  const { study_id, at, limits = {} } = record;
  const changed_at = moment(at);
  const { budget_seconds, gpu_hours, budget_joules, max_trials } = limits;
  const set = Object.fromEntries(
    Object.entries({ budget_seconds, gpu_hours, budget_joules, max_trials })
      .flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
  );
  const ended = { resumed_at: changed_at, closed_at: null, stop: null, message: null };
  return [
    { op: "change", table: "studies", where: { study_id }, set: { ...ended, ...set } },
    ...adds(
      "limit_changes",
      givenLimits(limits).map((limit_name) => ({
        ...{ study_id, position, changed_at, limit_name },
        value: limits[limit_name]!,
      })),
    ),
    ...runRows(record, position, true),
  ];
}

/** The ladder: a row for each rung and task. */
function rungRows({ study_id, spec }: StudyOpened): Row[] {
  return spec.rungs.flatMap(({ fidelity, samples }, height) =>
    Object.entries(samples).map(([task, count]) => ({
      ...{ study_id, height, fidelity, task },
      samples: count,
    }))
  );
}

/** A study's own rows: what was asked, found and decided before the first trial. */
export function studyRows(record: StudyOpened, position: number): Change[] {
  const { study_id, spec } = record;
  const proxy = spec.rungs.find(({ fidelity }) => !isDecisive(fidelity));
  const planned = spec.tasks.map((plan) => ({
    study_id,
    ...plan,
    proxy_samples: proxy?.samples[plan.task] ?? null,
    full_samples: samplesAt(spec, FULL, plan.task) ?? null,
    available_samples: plan.available_samples ?? null,
    metric: plan.metric ?? null,
    chance: plan.chance ?? null,
    weight: plan.weight ?? 1,
    strata: plan.strata ?? null,
    missing_reason: null,
  }));
  const missing = spec.missing_tasks.map(({ task, reason }) => ({
    study_id,
    task,
    task_version: null,
    metric: null,
    primary: false,
    proxy_samples: null,
    full_samples: null,
    available_samples: null,
    chance: null,
    weight: null,
    strata: null,
    missing_reason: reason,
  }));
  return [
    { op: "forget", tables: TABLES, where: { study_id } },
    ...adds("studies", [{
      study_id,
      position,
      kind: record.request.kind,
      opened_at: moment(record.at),
      closed_at: null,
      resumed_at: null,
      stop: null,
      message: null,
      recommended: null,
      front_objectives: [],
      front_note: null,
      ...requestColumns(record),
      ...modelColumns(record),
      ...deviceColumns(record),
      ...specColumns(record),
    }]),
    ...adds("objectives", spec.objectives.map((one, rank) => ({ study_id, rank, ...one }))),
    ...adds("study_tasks", [...planned, ...missing]),
    ...adds("rungs", rungRows(record)),
    ...adds("method_verdicts", spec.methods.map((one) => ({ study_id, ...one }))),
    ...adds(
      "assumptions",
      spec.assumptions.map((one) => ({
        study_id,
        ...one,
        value: one.value === null ? null : String(one.value),
      })),
    ),
    ...originalRows(record, position),
    ...runRows(record, position, false),
    { op: "figures", study_id, trial_id: null },
    { op: "front", study_id },
  ];
}
