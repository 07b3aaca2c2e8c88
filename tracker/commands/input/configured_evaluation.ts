import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { parse as parseToml } from "smol-toml";
import { parse } from "yaml";
import { type StudyRequestInput, unknownName, UsageError } from "../../../core/mod.ts";
import {
  DATASET_TYPES,
  type DatasetEntry,
  type EvaluationConfig,
  readEvaluationConfig,
} from "../../../core/serving/evaluation/evaluation_config.ts";
import { EVALUATION_PRESETS } from "../../../core/serving/evaluation/presets.ts";
import { quotasOf } from "../../../core/serving/evaluation/quotas.ts";
import { sectionOf } from "../../../core/serving/evaluation/sections.ts";
import type { Configuration } from "../../../core/runs/evaluation/configuration.ts";
import { type AskedScenario, readScenario } from "../../../core/serving/evaluation/scenario.ts";
import { textTable } from "../../show/terminal/table.ts";

/** Characters of a document: an evaluation is a page or two. */
const LONGEST = 1_000_000;

/** Whether a file is a scenario of AgentBeats, which names a configuration and who is asked. */
function isScenario(path: string): boolean {
  return path.endsWith(".toml");
}

/** A scenario, with the configuration that it names where that is there. */
function scenarioOf(path: string): AskedScenario {
  return readScenario(readDocument(path), process.env, (named) => {
    const file = resolve(dirname(path), named);
    const found = EVALUATION_PRESETS[named] ?? (existsSync(file) ? readDocument(file) : null);
    return found as Record<string, unknown> | null; // checked whole afterwards
  });
}

function readDocument(path: string): unknown {
  if (!existsSync(path)) {
    const presets = Object.keys(EVALUATION_PRESETS);
    throw new UsageError(`${unknownName("configuration", path, presets)}, or a YAML file`);
  }
  try {
    const text = readFileSync(path, "utf8");
    if (text.length > LONGEST) throw new Error(`it has more than ${LONGEST} characters`);
    return isScenario(path) ? parseToml(text) : parse(text, { maxAliasCount: 100 });
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new UsageError(`Cannot read the configuration ${path}: ${said}`);
  }
}

/** An evaluation that a configuration asks for, as far as it can be had here. */
export interface ConfiguredEvaluation {
  readonly config: EvaluationConfig;
  /** What the study keeps of it. */
  readonly configuration: Configuration;
  /** Fields of the study; a weighted total is given out to the datasets beforehand. */
  readonly study: Partial<StudyRequestInput>;
  /** What is asked of what, and what is left out, to be printed before anything begins. */
  readonly said: string;
  /** Who is asked, where a scenario says so. */
  readonly participant?: Omit<AskedScenario, "document">;
}

const NO_SAMPLE = "no sample of the total is left for it";

/** How one dataset is sampled, in the words of a study. */
function samplingOf({ sampling }: EvaluationConfig, entry: DatasetEntry, samples: number | null) {
  const strategy = sampling.strategy === "weighted" ? "stratified" : sampling.strategy;
  return {
    ...{ strategy, shuffle: entry.shuffle, seed: sampling.seed },
    ...(samples === null ? {} : { total_limit: samples }),
    ...(entry.limit_per_task === undefined ? {} : { limit_per_task: entry.limit_per_task }),
  };
}

/**
 * Reads a configuration: a YAML file as the requirement writes it, or a preset by name. Its datasets of
 * types that no plugin here has are said and left out, and the weights of the others made anew.
 * `changed`: stands above its sampling.
 *
 * @throws UsageError a field that is wrong, or no dataset is left
 */
export function configuredEvaluation(
  name: string,
  tasks: readonly string[],
  changed: Partial<EvaluationConfig["sampling"]> = {},
): ConfiguredEvaluation {
  const scenario = isScenario(name) ? scenarioOf(name) : undefined;
  const read = readEvaluationConfig(
    scenario?.document ?? EVALUATION_PRESETS[name] ?? readDocument(name),
  );
  const config = { ...read, sampling: { ...read.sampling, ...changed } };
  const missing = ({ type }: DatasetEntry) => DATASET_TYPES.includes(type) && !tasks.includes(type);
  const out = config.datasets.filter(missing).map(({ type }) => type);
  const had = config.datasets.filter((entry) => !missing(entry));
  if (had.length === 0) {
    throw new UsageError(
      `Cannot evaluate "${config.name}" as none of its datasets can be had here: no plugin has ` +
        `${out.join(", ")}; name tasks of \`pare datasets\` as types, or add one by --plugin`,
    );
  }
  const unread = had.filter(({ path }) => path !== undefined).map(({ type }) => type);
  const shares = quotasOf({ ...config, datasets: had });
  const datasets = had.filter((_, i) => shares[i]!.samples !== 0);
  const unasked = had.filter((_, i) => shares[i]!.samples === 0).map(({ type }) => type);
  const quotas = unasked.length === 0 ? shares : quotasOf({ ...config, datasets }); // weights anew; their samples are the same
  const by_task = Object.fromEntries(
    datasets.map((entry, i) => [entry.type, samplingOf(config, entry, quotas[i]!.samples)]),
  );
  const head = ["dataset", "samples", "weight"];
  const rows = quotas.map(({ type, samples, weight }) => [
    type,
    samples === null ? "all" : String(samples),
    weight.toFixed(3),
  ]);
  const reason = "no plugin here has it";
  const configuration: Configuration = {
    eval_config: name,
    name: config.name,
    num_tasks: config.sampling.total_limit ?? null,
    datasets: datasets.map(({ type, weight, section }) => ({
      dataset: type,
      weight,
      section: section ?? sectionOf(type),
    })),
    section_weights: config.sections,
    left_out: [
      ...out.map((dataset) => ({ dataset, reason })),
      ...unasked.map((dataset) => ({ dataset, reason: NO_SAMPLE })),
    ],
  };
  const { document: _, ...participant } = scenario ?? { document: {} };
  return {
    config,
    configuration,
    ...(scenario === undefined ? {} : { participant }),
    study: {
      dataset: datasets.map(({ type }) => type).join(","),
      seed: config.sampling.seed,
      sampling: { by_task },
      task_weights: Object.fromEntries(datasets.map(({ type, weight }) => [type, weight])),
    },
    said: [
      `${config.name}: ${config.sampling.strategy}, seed ${config.sampling.seed}`,
      textTable(head, rows),
      ...(out.length === 0
        ? []
        : [`note: left out, as no plugin here has them: ${out.join(", ")}; weights are made anew`]),
      ...(unread.length === 0
        ? []
        : [`note: no path is read for ${unread.join(", ")}: their questions are made here`]),
      ...(unasked.length === 0
        ? []
        : [`note: left out, as ${NO_SAMPLE}: ${unasked.join(", ")}; weights are made anew`]),
    ].join("\n"),
  };
}
