import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  type Finding,
  integer,
  type ModelFacts,
  real,
  type Support,
} from "../../core/mod.ts";
import { GRANULARITY } from "./_granularity.ts";
import { calibrationWindows, passSeconds, trainingMemory } from "./_weighing.ts";
import { hasChannels, hasHeads, narrowed, type Widths, widthsOf } from "./_decoder.ts";

const MOST = 0.5;
/** What a further try adds or takes away. */
const STEP = 0.125;
/** Weights a second on one core: norms in double precision, and one copy. */
const WEIGHTS_A_SECOND = 20e6;
const START_SECONDS = 6;
const PROCESS_BYTES = 0.8e9;

/** Norms of weights read no text, and are the same in every round. */
const byGradients = { knob: "importance", is: ["taylor", "taylor_mixed"] };

interface Params {
  readonly mlp_ratio: number;
  readonly attention_ratio: number;
  readonly attention_unit: "kv_heads" | "query_heads";
  readonly importance: "weight" | "taylor" | "taylor_mixed";
  readonly samples: number;
  readonly rounds: number;
  readonly round_to: 8 | 16 | 32 | 64;
}

/** As channels.py: the nearest multiple of `round_to`, of two as near the wider one. */
export function keptChannels(channels: number, ratio: number, round_to: number): number {
  if (ratio === 0) return channels;
  const steps = Math.floor(channels * (1 - ratio) / round_to + 0.5);
  return Math.min(channels, Math.max(1, steps) * round_to);
}

/** As channels.py: whole groups, the nearest number, of two as near the larger one. */
export function keptGroups(groups: number, ratio: number): number {
  return Math.max(1, Math.floor(groups * (1 - ratio) + 0.5));
}

function widthsAfter(params: Params, model: ModelFacts): Widths {
  const { mlp_ratio, attention_ratio, attention_unit, round_to } = params;
  const channels = keptChannels(model.intermediate_size, mlp_ratio, round_to);
  const group = Math.floor(model.heads / model.kv_heads);
  if (attention_unit === "query_heads") {
    const heads = model.kv_heads * keptGroups(group, attention_ratio);
    return { channels, heads, kv_heads: model.kv_heads };
  }
  const kv_heads = keptGroups(model.kv_heads, attention_ratio);
  return { channels, heads: group * kv_heads, kv_heads };
}

function supports({ model }: Facts): Support {
  return hasChannels(model);
}

function accepts(params: Params, { model }: Facts): Support {
  if (params.importance === "weight" && params.rounds > 1) {
    const reason = `norms of weights are the same in each of ${params.rounds} rounds, which ` +
      "would cut what one does";
    return { ok: false, reason };
  }
  const heads = params.attention_ratio > 0 ? hasHeads(model) : { ok: true } as const;
  if (!heads.ok) return heads;
  const [before, after] = [widthsOf(model), widthsAfter(params, model)];
  if (before.channels > after.channels || before.heads > after.heads) return { ok: true };
  const reason = `${before.channels} MLP channels, ${before.kv_heads} KV heads and ` +
    `${before.heads} query heads are left as they are by mlp_ratio ${params.mlp_ratio}, ` +
    `attention_ratio ${params.attention_ratio} and round_to ${params.round_to}`;
  return { ok: false, reason };
}

function leaves(params: Params, { model }: Facts) {
  const change: Change = { part: "linear", effect: "resizes", form: null, least_cosine: null };
  return { changes: [change], model: narrowed(model, widthsAfter(params, model)) };
}

/** The widest step, up to what runtimes like, that an eighth of the channels is not less than. */
function stepOf({ intermediate_size }: ModelFacts): 8 | 16 | 32 {
  return ([32, 16] as const).find((step) => step <= STEP * intermediate_size) ?? 8;
}

/** An eighth fewer or more channels; attention stays as it is, which costs more quality. */
function next(params: Params, finding: Finding): Params | null {
  const mlp_ratio = params.mlp_ratio + (finding === "lost" ? -STEP : STEP);
  return mlp_ratio < STEP || mlp_ratio > MOST ? null : { ...params, mlp_ratio };
}

function estimateSeconds({ importance, samples, rounds }: Params, { model, device }: Facts) {
  const passes = importance === "weight" ? 0 : rounds * samples * passSeconds(model, device, true);
  return START_SECONDS + model.linear_parameters / WEIGHTS_A_SECOND + passes;
}

/** Structured pruning in LLM-Pruner's manner, by weight norm or by gradients on some windows. */
export default defineMethod({
  name: "channels",
  summary: "Cuts the MLP channels and attention heads that matter least away, as many everywhere",
  knobs_named_for: {
    ...GRANULARITY,
    sparsity_ratio: "how many go is mlp_ratio of the MLP channels and attention_ratio of the heads",
  },
  knobs: {
    mlp_ratio: real({
      minimum: 0,
      maximum: MOST,
      default: 0.25,
      unit: "share of the MLP channels",
      description:
        "How many of every layer's MLP channels go: one config.json holds one width for all layers",
    }),
    attention_ratio: real({
      minimum: 0,
      maximum: MOST,
      default: 0,
      unit: "share of the heads",
      description: "How many of every layer's KV heads go, or of each KV head's query heads",
    }),
    attention_unit: choice(["kv_heads", "query_heads"], {
      default: "kv_heads",
      unit: "what of the attention goes",
      description:
        "KV heads, each with all its query heads, or as many query heads of every KV head",
    }),
    importance: choice(["weight", "taylor", "taylor_mixed"], {
      default: "taylor",
      unit: "what weighs a channel or head",
      description:
        "Norms of its weights, or what the loss would change without them: by gradients, to first " +
        "or second order",
    }),
    samples: { ...calibrationWindows, only_where: byGradients },
    rounds: integer({
      minimum: 1,
      maximum: 8,
      default: 1,
      unit: "rounds",
      description:
        "Rounds that cut the same share of what they meet, the gradients taken anew in each",
      only_where: byGradients,
    }),
    round_to: choice([8, 16, 32, 64], {
      default: 32,
      unit: "channels",
      description: "The channels that are left are a multiple of this, which runtimes like",
    }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  leaves,
  order: {
    effect: "resizes",
    follows: ["trains", "resizes"],
    precedes: ["trains", "resizes", "prunes", "rounds", "encodes"],
    reason: "it cuts rows and columns of plain float weights",
  },
  label: ({ mlp_ratio, attention_ratio, attention_unit, importance, rounds }) => [
    ...(mlp_ratio > 0 ? [`${Math.round(100 * mlp_ratio)}% of MLP`] : []),
    ...(attention_ratio > 0
      ? [
        `${Math.round(100 * attention_ratio)}% of ${
          attention_unit === "kv_heads" ? "heads" : "query heads"
        }`,
      ]
      : []),
    importance === "taylor_mixed" ? "taylor mixed" : importance,
    ...(rounds > 1 ? [`${rounds} rounds`] : []),
  ],
  hint: (about) => about === "quality" ? "Cut less, or train after it" : "Cut more",
  supports,
  accepts,
  auto: ({ model }) => ({
    round_to: {
      value: stepOf(model),
      reason: "the widest step that an eighth of the channels has",
    },
  }),
  seed(boldness, { model }) {
    const round_to = stepOf(model);
    if (boldness === "conservative") return { mlp_ratio: STEP, round_to };
    return boldness === "balanced" ? { mlp_ratio: 2 * STEP, round_to } : null;
  },
  next,
  estimateSeconds,
  // What is left as float16, one layer's norms in double precision; the model with its gradients.
  estimateMemory({ importance }, { model }) {
    if (importance === "weight") return PROCESS_BYTES + 4 * model.linear_parameters;
    return trainingMemory(model, importance === "taylor" ? 1 : 3);
  },
});
