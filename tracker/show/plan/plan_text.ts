import type { Layout, ServingPlan } from "../../../core/serving/plan/schema.ts";
import { textTable } from "../terminal/table.ts";

const GIB = 1024 ** 3;

export const gib = (bytes: number, digits = 1) => `${(bytes / GIB).toFixed(digits)} GiB`;
export const count = (value: number) => value.toLocaleString("en-US");

/** Parameters as people call them: `235.1 B`, `494.0 M`. */
function parametersText(value: number): string {
  return value >= 1e9 ? `${(value / 1e9).toFixed(1)} B` : `${(value / 1e6).toFixed(1)} M`;
}

/** A range with and without the estimate of graphs; one number where both are the same. */
export function range([with_graphs, without]: readonly [number, number]): string {
  return with_graphs === without ? count(without) : `${count(with_graphs)}–${count(without)}`;
}

/** How a layout spreads the model. */
export function spreadText({ tensor_parallel, pipeline_parallel }: Layout): string {
  return pipeline_parallel === 1
    ? `TP ${tensor_parallel}`
    : `TP ${tensor_parallel}, PP ${pipeline_parallel}`;
}

/** Tokens a second with the error that is said of them. */
function speedText(value: number, error: number): string {
  return `${value >= 100 ? Math.round(value / 10) * 10 : Math.round(value)} ± ${
    Math.round(error * 100)
  } %`;
}

function weightsTable({ weights }: ServingPlan): string {
  return textTable(
    ["part", "parameters", "bytes", "stored as"],
    weights.parts.map((part) => [
      part.part,
      parametersText(part.parameters),
      gib(part.bytes, 2),
      part.form,
    ]),
  );
}

function cacheTable({ cache }: ServingPlan): string {
  return textTable(
    ["layers", "keep", "bytes a token", "bytes a sequence"],
    cache.lines.map((line) => [
      String(line.layers),
      line.kind,
      line.bytes_per_token === null ? "–" : count(line.bytes_per_token),
      line.bytes_per_sequence === null ? "grows" : count(line.bytes_per_sequence),
    ]),
  );
}

function layoutsTable({ plans, asked }: ServingPlan): string {
  const head = ["cards", "spread", "weights", "activations", "graphs", "cache", "longest context"];
  const at = plans.find(({ fits }) => fits)?.context;
  const sequences = at === undefined ? "sequences" : `sequences at ${count(at)}`;
  return textTable(
    [...head, sequences, "tokens/s alone", "together"],
    plans.map((layout) => {
      const { memory, speed } = layout;
      return [
        String(layout.cards),
        spreadText(layout),
        gib(memory.weights),
        gib(memory.activations),
        gib(memory.graphs),
        gib(memory.cache),
        layout.fits ? range(layout.longest_context) : "does not fit",
        layout.fits ? range(layout.sequences_at_context) : "–",
        speed === null ? "–" : speedText(speed.decode_tokens_per_second, speed.error),
        speed === null ? "–" : speedText(speed.batch_tokens_per_second, speed.error),
      ];
    }),
    {
      first: ["cards", "spread", "longest context", sequences, "cache", "weights"].concat(
        asked.sequences > 1 ? ["together"] : [],
      ),
    },
  );
}

/** A word as a POSIX shell takes it. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command to copy: a flag with its value a line, so that it can be read. */
function commandText(
  { program, args }: { program: string; args: readonly string[] },
): string {
  const lines: string[] = [shellWord(program)];
  for (const word of args) {
    const joins = !word.startsWith("-") && lines.length > 0;
    if (joins) lines[lines.length - 1] += ` ${shellWord(word)}`;
    else lines.push(shellWord(word));
  }
  return lines.join(" \\\n    ");
}

/** The plan whose commands are printed: with all cards that were named, else the fewest that hold it. */
function chosenPlan({ plans, cards }: ServingPlan): Layout | undefined {
  const fitting = plans.filter(({ fits }) => fits);
  return fitting.find((one) => one.cards === cards.count) ?? fitting.at(-1);
}

function commandsText(plan: ServingPlan, container: boolean): string[] {
  const chosen = chosenPlan(plan);
  if (chosen === undefined) return [];
  const title = `For ${chosen.cards} × ${plan.cards.name}, ${spreadText(chosen)}, ${
    count(chosen.context)
  } tokens:`;
  return [
    title,
    ...Object.entries(chosen.servers).flatMap(([server, served]) => [
      `\n${server}${served.runs ? "" : " (not on these cards)"}`,
      commandText(served.command).replace(/^/gm, "  "),
      ...(container ? [commandText(served.container).replace(/^/gm, "  ")] : []),
      ...served.warnings.map((one) => `  note: ${one}`),
    ]),
  ];
}

function fewestText({ fewest_cards, cards }: ServingPlan): string {
  return fewest_cards === null
    ? `No number of ${cards.name} up to 128 holds it`
    : `Fewest: ${fewest_cards} × ${cards.name}`;
}

/** A plan as the command line prints it. */
export function planText(
  plan: ServingPlan,
  { container }: { readonly container: boolean },
): string {
  const { weights, cache, cards, asked } = plan;
  const native = cache.native_context === null
    ? ""
    : `; native context ${count(cache.native_context)}`;
  const active = weights.active_parameters < .9 * weights.parameters
    ? `, ${parametersText(weights.active_parameters)} a token`
    : "";
  const from = weights.source === "files" ? " (by its files)" : "";
  return [
    `${plan.model} (${plan.model_type}): ${
      parametersText(weights.parameters)
    } parameters${active}; ` +
    `${gib(weights.bytes)} of weights${from}, ${weights.form}`,
    ...plan.corrections.map((one) => `Not so: ${one}`),
    ...plan.refused.map(({ why }) => `Refused: ${why}`),
    "",
    weightsTable(plan),
    "",
    `Cache (${asked.cache_type}): ${
      count(cache.bytes_per_token)
    } bytes a token that grow with the context${native}`,
    cacheTable(plan),
    "",
    `${fewestText(plan)}, each ${gib(cards.memory_bytes)} by ${cards.memory_source}, ` +
    `${asked.utilization} of it used`,
    layoutsTable(plan),
    "A range is with and without the memory that vLLM since 0.21 holds back for CUDA graphs.",
    "Activations and graphs are rules of thumb (± 30 %); speeds are roofline estimates.",
    ...plan.warnings.map((one) => `note: ${one}`),
    "",
    ...commandsText(plan, container),
  ].join("\n");
}
