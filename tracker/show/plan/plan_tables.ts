import { grouped } from "../../../core/serving/plan/fit.ts";
import type { Layout, ServingPlan } from "../../../core/serving/plan/schema.ts";

const GIB = 1024 ** 3;

export const gib = (bytes: number, digits = 1) => `${(bytes / GIB).toFixed(digits)} GiB`;
export const count = grouped;

/** Parameters as people call them: `235.1 B`, `494.0 M`. */
function parametersText(value: number): string {
  return value >= 1e9 ? `${(value / 1e9).toFixed(1)} B` : `${(value / 1e6).toFixed(1)} M`;
}

/** A range with and without the estimate of graphs; one number where both are the same. */
function range([with_graphs, without]: readonly [number, number]): string {
  return with_graphs === without ? count(without) : `${count(with_graphs)}–${count(without)}`;
}

/** How a layout spreads the model. */
export function spreadText({ tensor_parallel, pipeline_parallel }: Layout): string {
  const stages = pipeline_parallel === 1 ? "" : `, PP ${pipeline_parallel}`;
  return `TP ${tensor_parallel}${stages}`;
}

const rounded = (value: number) =>
  count(value >= 100 ? Math.round(value / 10) * 10 : Math.round(value));

/** Tokens a second, from the least to the most that the error leaves open. */
function speedText(value: number, error: number): string {
  return `${rounded(value * (1 - error))}–${rounded(value * (1 + error))}`;
}

/** A table of a plan, for a terminal and for a page. */
export interface PlanTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function weightsTable({ weights }: ServingPlan): PlanTable {
  return {
    head: ["part", "parameters", "bytes", "stored as"],
    rows: weights.parts.map(({ part, parameters, bytes, form }) => [
      part,
      parametersText(parameters),
      gib(bytes, 2),
      form,
    ]),
  };
}

export function cacheTable({ cache }: ServingPlan): PlanTable {
  return {
    head: ["layers", "keep", "bytes a token", "bytes a sequence"],
    rows: cache.lines.map(({ layers, kind, bytes_per_token, bytes_per_sequence }) => [
      String(layers),
      kind,
      bytes_per_token === null ? "–" : count(bytes_per_token),
      bytes_per_sequence === null ? "grows" : count(bytes_per_sequence),
    ]),
  };
}

/** Each spread that fits, or the one that was asked for, with how far its cache goes. */
export function layoutsTable({ plans }: ServingPlan): PlanTable {
  const contexts = new Set(plans.filter(({ fits }) => fits).map(({ context }) => context));
  const [at] = contexts.size === 1 ? contexts : [];
  const sequences = ({ sequences_at_context, context }: Layout) =>
    `${range(sequences_at_context)}${at === undefined ? ` of ${count(context)}` : ""}`;
  return {
    head: [
      ...["cards", "spread", "weights", "activations", "graphs", "cache", "longest context"],
      at === undefined ? "sequences" : `sequences of ${count(at)}`,
      ...["tokens/s alone", "together"],
    ],
    rows: plans.map((layout) => {
      const { memory, speed, fits } = layout;
      return [
        String(layout.cards),
        spreadText(layout),
        gib(memory.weights),
        gib(memory.activations),
        gib(memory.graphs),
        gib(memory.cache),
        fits ? range(layout.longest_context) : "does not fit",
        fits ? sequences(layout) : "–",
        speed === null ? "–" : speedText(speed.decode_tokens_per_second, speed.error),
        speed === null ? "–" : speedText(speed.batch_tokens_per_second, speed.error),
      ];
    }),
  };
}

/** The plan whose commands are shown: with all cards that were named, else the most that fit. */
export function chosenPlan({ plans, cards }: ServingPlan): Layout | undefined {
  const fitting = plans.filter(({ fits }) => fits);
  return fitting.find((one) => one.cards === cards.count) ?? fitting.at(-1);
}

/** What a plan is of, in a line. */
export function headline({ model, model_type, weights }: ServingPlan): string {
  const active = weights.active_parameters < .9 * weights.parameters
    ? `, ${parametersText(weights.active_parameters)} a token`
    : "";
  const from = weights.source === "files" ? " (by its files)" : "";
  return `${model} (${model_type}): ${parametersText(weights.parameters)} parameters${active}; ` +
    `${gib(weights.bytes)} of weights${from}, ${weights.form}`;
}

export function cacheLine({ cache, asked }: ServingPlan): string {
  const native = cache.native_context === null
    ? ""
    : `; native context ${count(cache.native_context)}`;
  return `Cache (${asked.cache_type}): ${
    count(cache.bytes_per_token)
  } bytes a token that grow with ` +
    `the context${native}`;
}

export function fewestLine({ fewest_cards, cards, asked }: ServingPlan): string {
  const fewest = fewest_cards === null
    ? `No number of ${cards.name} up to 128 holds it`
    : `Fewest: ${fewest_cards} × ${cards.name}`;
  return `${fewest}, each ${gib(cards.memory_bytes)} by ${cards.memory_source}, ` +
    `${asked.utilization} of it used`;
}

/** How the figures are to be taken. */
export function howSure({ plans }: ServingPlan): string[] {
  const speed = plans.find((one) => one.speed !== null)?.speed;
  return [
    "A range is with and without the memory that vLLM since 0.21 holds back for CUDA graphs.",
    "Activations and graphs are rules of thumb: ± 30 %.",
    ...(speed === undefined || speed === null
      ? []
      : [`Speeds are of answers alone, prompts read before: ${speed.source}.`]),
  ];
}

/** A word as a POSIX shell takes it. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command to copy: a flag with its value a line, so that it can be read. */
export function commandText(
  { program, args }: { readonly program: string; readonly args: readonly string[] },
): string {
  const lines: string[] = [shellWord(program)];
  for (const word of args) {
    if (word.startsWith("-")) lines.push(shellWord(word));
    else lines[lines.length - 1] += ` ${shellWord(word)}`;
  }
  return lines.join(" \\\n    ");
}
