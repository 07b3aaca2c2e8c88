import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { parse as parseToml } from "smol-toml";
import { type StudyRequestInput, unknownName, UsageError } from "../../../core/mod.ts";
import {
  DATASET_TYPES,
  type DatasetEntry,
  entrySettings,
  type EvaluationConfig,
  readEvaluationConfig,
} from "../../../core/serving/evaluation/evaluation_config.ts";
import { EVALUATION_PRESETS, SCENARIOS } from "../../../core/serving/evaluation/presets.ts";
import { quotasOf } from "../../../core/serving/evaluation/quotas.ts";
import { sectionOf } from "../../../core/serving/evaluation/sections.ts";
import type { Configuration } from "../../../core/runs/evaluation/configuration.ts";
import { type AskedScenario, readScenario } from "../../../core/serving/evaluation/scenario.ts";
import { readText } from "../../ground/storage/plain_file.ts";
import { readYaml } from "../../ground/storage/read_yaml.ts";
import { textTable } from "../../show/terminal/table.ts";

/** Bytes of a scenario: it is a page or two. */
const LONGEST = 200_000;

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

/** Who a scenario asks, and how; nothing where the configuration is none. */
export function scenarioParticipant(name: string): Omit<AskedScenario, "document"> {
  if (!isScenario(name)) return {};
  const { document: _, ...participant } = scenarioOf(name);
  return participant;
}

function readDocument(path: string): unknown {
  if (!existsSync(path)) {
    const presets = Object.keys(EVALUATION_PRESETS);
    throw new UsageError(`${unknownName("configuration", path, presets)}, or a YAML file`);
  }
  if (!isScenario(path)) return readYaml(path, "the configuration");
  try {
    return parseToml(readText(path, LONGEST));
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

type TaskSettings = NonNullable<StudyRequestInput["task_settings"]>[string];

const NO_SAMPLE = "no sample of the total is left for it";

/** Folders of an entry: where it lies, from the configuration's own; null: none is named. */
function folderOf(entry: DatasetEntry, name: string): string | null {
  const { path } = entrySettings(entry) ?? {};
  return typeof path === "string" ? resolve(existsSync(name) ? dirname(name) : ".", path) : null;
}

/** Why an entry cannot be had although a plugin has it; null: it can. The requirement's own folder is not public. */
function lacking(entry: DatasetEntry, name: string): string | null {
  const folder = folderOf(entry, name);
  if (folder === null || existsSync(folder) || entry["path"] === SCENARIOS) return null;
  if (entry["download_on_missing"] === true) return null;
  const otherwise = entry.type === "crypto"
    ? "without path, or with download_on_missing, its scenarios are made here"
    : "without path the hub's is taken";
  return `there is no folder ${folder}; ${otherwise}`;
}

/** What a study sets of how an entry's rows are made: of a folder where it is there. */
function settingsOf(entry: DatasetEntry, name: string): TaskSettings {
  const { path: _, ...own } = entrySettings(entry) ?? {};
  const folder = folderOf(entry, name);
  return { ...own, ...(folder === null || !existsSync(folder) ? {} : { path: folder }) };
}

/** How one dataset is sampled, in the words of a study. */
function samplingOf({ sampling }: EvaluationConfig, entry: DatasetEntry, samples: number | null) {
  const strategy = sampling.strategy === "weighted" ? "stratified" : sampling.strategy;
  return {
    ...{ strategy, shuffle: entry.shuffle, seed: sampling.seed },
    ...(samples === null ? {} : { total_limit: samples }),
    ...(entry.limit_per_task === undefined ? {} : { limit_per_task: entry.limit_per_task }),
  };
}

/** The datasets that can be had, the types of those that no plugin has, and reasons of others. */
function datasetsHad(config: EvaluationConfig, tasks: readonly string[], name: string) {
  const missing = ({ type }: DatasetEntry) => DATASET_TYPES.includes(type) && !tasks.includes(type);
  const out = config.datasets.filter(missing).map(({ type }) => type);
  const without = config.datasets.filter((entry) => !missing(entry)).flatMap((entry) => {
    const reason = lacking(entry, name);
    return reason === null ? [] : [{ dataset: entry.type, reason }];
  });
  const had = config.datasets.filter((entry) =>
    !missing(entry) && without.every(({ dataset }) => dataset !== entry.type)
  );
  if (had.length === 0 && without.length > 0) {
    throw new UsageError(
      `Cannot evaluate "${config.name}": of ${without[0]!.dataset} ${without[0]!.reason}`,
    );
  }
  if (had.length === 0) {
    throw new UsageError(
      `Cannot evaluate "${config.name}" as none of its datasets can be had here: no plugin has ` +
        `${out.join(", ")}; name tasks of \`pare datasets\` as types, or add one by --plugin`,
    );
  }
  return { had, out, without };
}

/** What is left out, or made here, a line each. */
function notesOf(
  had: readonly DatasetEntry[],
  name: string,
  { out, without, unasked }: {
    readonly out: readonly string[];
    readonly without: Configuration["left_out"];
    readonly unasked: readonly string[];
  },
): string[] {
  const unread = had.filter((entry) => {
    const folder = folderOf(entry, name);
    return entry["path"] !== undefined && (folder === null || !existsSync(folder));
  }).map(({ type }) => type);
  const note = (types: readonly string[], before: string, after: string) =>
    types.length === 0 ? [] : [`note: ${before} ${types.join(", ")}${after}`];
  return [
    ...note(out, "left out, as no plugin here has them:", "; weights are made anew"),
    ...note(unread, "no path is read for", ": their questions are made here"),
    ...without.map(({ dataset, reason }) => `note: left out: ${dataset}, as ${reason}`),
    ...note(unasked, `left out, as ${NO_SAMPLE}:`, "; weights are made anew"),
  ];
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
  const { had, out, without } = datasetsHad(config, tasks, name);
  const shares = quotasOf({ ...config, datasets: had });
  const datasets = had.filter((_, i) => shares[i]!.samples !== 0);
  const unasked = had.filter((_, i) => shares[i]!.samples === 0).map(({ type }) => type);
  const quotas = unasked.length === 0 ? shares : quotasOf({ ...config, datasets }); // weights anew; their samples are the same
  const by_task = Object.fromEntries(
    datasets.map((entry, i) => [entry.type, samplingOf(config, entry, quotas[i]!.samples)]),
  );
  const task_settings = Object.fromEntries(
    datasets.filter((entry) => entrySettings(entry) !== null)
      .map((entry) => [entry.type, settingsOf(entry, name)]),
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
      ...without,
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
      ...(Object.keys(task_settings).length === 0 ? {} : { task_settings }),
      task_weights: Object.fromEntries(datasets.map(({ type, weight }) => [type, weight])),
    },
    said: [
      `${config.name}: ${config.sampling.strategy}, seed ${config.sampling.seed}`,
      textTable(head, rows),
      ...notesOf(had, name, { out, without, unasked }),
    ].join("\n"),
  };
}
