import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  flag,
  type Leaves,
  real,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import {
  type BlockKind,
  blockWeights,
  DECODED,
  type GgmlForm,
  isWritten,
  matrixBytes,
  stackBytes,
} from "../forms/ggml.ts";
import {
  dividesRows,
  hasLinearLayers,
  linearRows,
  modelMemory,
  packsLinearLayers,
  roundsOnce,
} from "./_groups.ts";
import { blockTensors, expertCount, movesColumns, weightsOf } from "../forms/_ggml_blocks.ts";
import {
  assignedKinds,
  embeddingKind,
  headKind,
  linearKinds,
  MIX_NAMES,
  type MixName,
  needsImportance,
} from "../forms/_ggml_mixes.ts";
import { calibrationWindows } from "./_linear.ts";

/** Whose quantizer it is. */
const TOOL = "llama_cpp";
/** The smallest block; every row must be whole ones. */
const BLOCK = 32;
/** SmolLM2-135M on two cores: the file is written and read in 4 s, quantized in 3 to 60. */
const START_SECONDS = 8;
const SECONDS_A_WEIGHT = 6e-8;
/** The i-quants search a codebook. */
const SECONDS_A_SEARCHED_WEIGHT = 5e-7;
/** 300 tokens a second of SmolLM2-135M. */
const SECONDS_A_WEIGHT_AND_WINDOW = 6e-9;
/** Seven kinds, quantized and scored. */
const SECONDS_A_WEIGHT_BY_FISHER = 1e-6;
/** Far outliers in blocks of two bits leave a layer this near to itself; another layer has about 0. */
const LEAST_COSINE = 0.3;

/** The share of a file's bytes for which a head of 4 bits is worth a try. */
const LEAST_SAVED = 0.1;

/** The column loop; besides, the windows go through every block twice, and through all to the head. */
const SECONDS_A_WEIGHT_BY_COLUMNS = 6e-8;

/** What an assignment looks like; mixing/assignment.py of the Python half reads it. */
const ASSIGNMENT = "[A-Z0-9_]{4,7}=[0-9,-]+( [A-Z0-9_]{4,7}=[0-9,-]+){0,31}";

/** Mixes whose blocks hold 32 weights. */
const SMALL_BLOCKS: readonly MixName[] = ["Q4_0", "Q5_0", "Q8_0", "IQ4_NL"];

const OUTER = [
  ...["mix", "floats", "Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q5_0", "IQ4_NL", "Q4_0"] as const,
];
type Outer = (typeof OUTER)[number];

interface KquantParams {
  readonly block_mix: MixName;
  readonly embedding_blocks: Outer;
  readonly head_blocks: Outer;
  readonly assignment: string;
  readonly kinds_by: "mix" | "fisher";
  readonly eight_bit_share: number;
  readonly rounded_by: "library" | "gptq";
  readonly importance: boolean;
}

type Outers = Pick<KquantParams, "embedding_blocks" | "head_blocks">;

/** Kinds of the embedding and of a head beside it; null: floats. */
function outerKinds(params: KquantParams, facts: Facts): (BlockKind | null)[] {
  const { block_mix: mix, embedding_blocks: embedding, head_blocks: head } = params;
  const tied = facts.model.tied_embeddings;
  const own = tied ? headKind(mix, facts) : embeddingKind(mix, facts);
  const kind = (outer: Outer, mixed: BlockKind) =>
    outer === "mix" ? mixed : outer === "floats" ? null : outer;
  const first = kind(embedding, own);
  return tied ? [first] : [first, kind(head, headKind(mix, facts))];
}

/** The linear layers as they will be: as assigned, else as the mix has them. */
function kindsOf({ block_mix: mix, assignment, importance }: KquantParams, facts: Facts) {
  const given = assignment === "none" ? null : assignedKinds(assignment, facts);
  return given ?? linearKinds(mix, importance, facts);
}

/** The share of the linear layers' weights whose integers GPTQ may choose: of other kinds several weights
 * share one or stay floats, and experts that lie in one tensor stay. */
function chosenShare(params: KquantParams, facts: Facts): number {
  const kinds = kindsOf(params, facts);
  const sum = (all: typeof kinds) =>
    all.reduce((sum, { weights, matrices }) => sum + weights * matrices, 0);
  return sum(kinds.filter(({ kind, stacked }) => !stacked && !/^(IQ[123]|TQ|MX|F16)/.test(kind))) /
    sum(kinds);
}

function byFisher({ kinds_by, eight_bit_share }: KquantParams): boolean {
  return kinds_by === "fisher" || eight_bit_share > 0;
}

/** Bytes of the linear layers, of experts that lie in one tensor, and of embedding and head. */
function bytesOf(params: KquantParams, facts: Facts) {
  const kinds = kindsOf(params, facts);
  const share = params.eight_bit_share;
  const [linear, stacked] = [false, true].map((own) =>
    kinds.filter((one) => one.stacked === own).reduce((sum, { kind, weights, matrices }) => {
      const bytes = (kind: BlockKind) =>
        own ? stackBytes(kind, weights, matrices) : matrices * matrixBytes(kind, weights);
      return sum + bytes(kind) + share * Math.max(0, bytes("Q8_0") - bytes(kind));
    }, 0)
  ).map(Math.round);
  const outer = outerKinds(params, facts);
  const weights = facts.model.embedding_parameters / outer.length;
  const kept = weightBytes(facts.model).embedding / outer.length;
  const embedding = outer.reduce(
    (sum, kind) => sum + (kind === null ? kept : matrixBytes(kind, weights)),
    0,
  );
  return { linear: linear!, stacked: stacked!, embedding };
}

function leaves(params: KquantParams, facts: Facts): Leaves {
  const { model } = facts;
  const made = bytesOf(params, facts);
  const linearOnes = kindsOf(params, facts).map(({ kind }) => kind);
  const kinds = {
    // Of an old record, which names no matrices, and where Fisher chooses, they are not known yet.
    linear: params.kinds_by === "fisher" || blockTensors(facts) === null
      ? null
      : [...new Set(linearOnes)],
    embedding: outerKinds(params, facts).filter((kind) => kind !== null),
  };
  const change = (part: "linear" | "embedding", weights: number): Change => {
    const bits = 8 * made[part] / weights;
    const form: GgmlForm = { form: "ggml", mix: params.block_mix, bits, kinds: kinds[part] };
    return { part, effect: "rounds", form, least_cosine: LEAST_COSINE, no_faster: DECODED };
  };
  const outer = outerKinds(params, facts).some((kind) => kind !== null);
  const changes = [
    change("linear", model.linear_parameters),
    ...(outer ? [change("embedding", model.embedding_parameters)] : []),
  ];
  const { linear, embedding, stacked } = made;
  const kept = weightBytes(model);
  const stacks = (blockTensors(facts) ?? []).filter((one) => one.stacked);
  const rest = kept.rest - 2 * weightsOf(stacks) + stacked;
  return { changes, model: withWeightBytes(model, { ...kept, linear, embedding, rest }) };
}

/** Another head for the same linear layers: as the mix has it where a smaller one lost too much, of 4 bits
 * where GPTQ rounds it and its bytes are many; null: it is so already. */
function otherHead(params: KquantParams, lost: boolean, facts: Facts): Partial<Outers> | null {
  const bytes = (more: Partial<Outers>) => bytesOf({ ...params, ...more }, facts);
  const { linear, stacked, embedding } = bytes({});
  const mixed = { embedding_blocks: "mix", head_blocks: "mix" } as const;
  if (lost) return embedding < bytes(mixed).embedding ? mixed : null;
  const tied = facts.model.tied_embeddings;
  const smaller = tied
    ? { embedding_blocks: "IQ4_NL" } as const
    : { head_blocks: "IQ4_NL" } as const;
  const saved = embedding - bytes(smaller).embedding;
  const much = saved > LEAST_SAVED * (linear + stacked + embedding);
  return params.rounded_by === "gptq" && much ? smaller : null;
}

/** Whether the model is of an architecture that a GGUF file is written of, and its matrices are known. */
function supports(facts: Facts): Support {
  const tensors = blockTensors(facts);
  const stacks = tensors?.some(({ stacked }) => stacked) === true;
  const packs = stacks ? hasLinearLayers(facts) : packsLinearLayers(facts);
  if (!packs.ok) return packs;
  const written = isWritten(facts);
  if (!written.ok) return written;
  const own = tensors?.filter(({ stacked }) => !stacked);
  if (own !== undefined && weightsOf(own) === facts.model.linear_parameters) return { ok: true };
  return {
    ok: false,
    reason: "the matrices of the model's blocks are not on record: import it anew",
  };
}

function accepts(params: KquantParams, facts: Facts): Support {
  const columns = (blockTensors(facts) ?? []).map((one) => one.columns);
  const divides = dividesRows(BLOCK, [...linearRows(facts), ...columns, facts.model.hidden_size]);
  if (!divides.ok) return divides;
  const { block_mix: mix, assignment, importance } = params;
  const whole = SMALL_BLOCKS.includes(mix) && assignment === "none" && params.kinds_by === "mix";
  if (!whole && movesColumns(facts)) {
    const reason =
      "llama.cpp has columns of its out_proj in another order, which tears blocks of " +
      `256: take a block_mix of ${SMALL_BLOCKS.join(", ")}`;
    return { ok: false, reason };
  }
  const tensors = blockTensors(facts) ?? [];
  if (assignment !== "none" && expertCount(tensors) > 1) {
    const reason =
      "an assignment gives single layers their kinds, and experts share one: take kinds_by";
    return { ok: false, reason };
  }
  if (assignment !== "none" && assignedKinds(assignment, facts) === null) {
    const last = tensors.reduce((sum, { blocks }) => sum + blocks.length, 0) - 1;
    const reason = `its assignment does not give each of the layers 0-${last} one of llama.cpp's ` +
      "kinds, such as Q4_K=0-9 Q6_K=10-20";
    return { ok: false, reason };
  }
  if (assignment !== "none" && params.kinds_by === "fisher") {
    return { ok: false, reason: "its assignment names the kinds already: take kinds_by: mix" };
  }
  if (params.eight_bit_share > 0 && (assignment !== "none" || params.kinds_by === "fisher")) {
    const reason = "eight_bit_share chooses kinds by the Fisher information: leave out " +
      (assignment === "none" ? "kinds_by" : "assignment");
    return { ok: false, reason };
  }
  if (params.rounded_by === "gptq" && chosenShare(params, facts) === 0) {
    const reason = `none of the matrices that ${mix} makes here holds an integer a weight: ` +
      "take rounded_by: library";
    return { ok: false, reason };
  }
  if (!importance && needsImportance(mix, kindsOf(params, facts))) {
    const what = assignment === "none" ? mix : "this assignment";
    return { ok: false, reason: `llama.cpp makes ${what} with an importance matrix alone` };
  }
  const odd = outerKinds(params, facts).find((kind) =>
    kind !== null && facts.model.hidden_size % blockWeights(kind) !== 0
  );
  if (odd === undefined) return { ok: true };
  return {
    ok: false,
    reason: `a row of the embedding has ${facts.model.hidden_size} weights, which are not whole ` +
      `blocks of ${odd}: take Q8_0, or mix, which falls back by itself`,
  };
}

const KQUANTS = "kquant is llama.cpp's own quantizer: block_mix says which";

/** llama.cpp's quantizer. */
export default defineMethod({
  name: "kquant",
  summary: "Quantizes to llama.cpp's blocks (k-quants and others) by its mixes of kinds",
  named_for: { llama_quantize: KQUANTS, k_quants: KQUANTS, gguf: KQUANTS },
  knobs: {
    block_mix: choice(MIX_NAMES, {
      default: "Q4_K_M",
      unit: "mix of kinds",
      description: "As llama-quantize spells it; where a row is not whole blocks of 256 it falls " +
        "back to blocks of 32, which take more bytes",
      aliases: ["ftype", "quant_type"],
    }),
    embedding_blocks: choice(OUTER, {
      default: "mix",
      unit: "kind of block",
      description: "Of the embedding, and of the head where it is one with it; floats: it stays",
      aliases: ["token_embedding_type"],
    }),
    head_blocks: choice(OUTER, {
      default: "mix",
      unit: "kind of block",
      description: "Of an output head that is not the embedding; floats: it stays",
      aliases: ["output_tensor_type"],
    }),
    assignment: choice(["none"], {
      default: "none",
      unit: "kind=layers of the model's order",
      pattern: ASSIGNMENT,
      description: "Kinds of single layers, such as Q6_K=0-6,9 Q4_K=7-8, in the place of the mix's",
      aliases: ["layer_bits", "tensor_type"],
    }),
    kinds_by: choice(["mix", "fisher"], {
      default: "mix",
      unit: "who chooses a layer's kind",
      description:
        "The mix's own rules, or the least rise of the loss by the Fisher information, " +
        "in no more bytes than the mix takes",
    }),
    eight_bit_share: real({
      default: 0,
      minimum: 0,
      maximum: 0.5,
      unit: "share of the linear layers' weights",
      description: "That are Q8_0 in the place of the mix's kind: those by which the loss falls " +
        "most, by the Fisher information",
    }),
    rounded_by: choice(["library", "gptq"], {
      default: "library",
      unit: "who chooses the integers",
      description: "llama.cpp's quantizer, or GPTQ's column loop on the scales that it found: of " +
        "kinds with an integer a weight, which those below 4 bits by codebook are not",
    }),
    importance: flag({
      default: true,
      description: "Weigh columns by the mean square of their inputs on calibration text",
      aliases: ["imatrix"],
    }),
    samples: calibrationWindows(16),
  },
  needs: { environment: "default", tool: TOOL, data: "calibration", gpu: false },
  leaves,
  order: roundsOnce,
  label: (params) => {
    const { block_mix, embedding_blocks, head_blocks, assignment, importance } = params;
    const eight = Math.round(100 * params.eight_bit_share);
    const details = [
      ...(eight === 0 ? [] : [`${eight} % Q8_0`]),
      ...(embedding_blocks === "mix" ? [] : [`embedding ${embedding_blocks}`]),
      ...(head_blocks === "mix" ? [] : [`head ${head_blocks}`]),
    ];
    const rounding = [
      ...(params.kinds_by === "mix" ? [] : ["by fisher"]),
      ...(params.rounded_by === "library" ? [] : ["by gptq"]),
      ...(importance ? [] : ["unweighted"]),
    ];
    const kinds = [assignment === "none" ? block_mix : "as assigned", ...details].join(", ");
    return [details.length > 0 && rounding.length > 0 ? `${kinds},` : kinds, ...rounding];
  },
  hint: (about) => about === "quality" ? "Take a larger mix" : "Take a smaller mix",
  supports,
  accepts,
  seed: (boldness) => ({
    block_mix: boldness === "conservative" ? "Q6_K" : boldness === "balanced" ? "Q4_K_M" : "Q3_K_M",
  }),
  next(params, finding, facts) {
    if (params.assignment !== "none") return null; // the next mix is another assignment
    const size = (mix: MixName) => bytesOf({ ...params, block_mix: mix }, facts).linear;
    const now = size(params.block_mix);
    const further = MIX_NAMES.filter((mix) =>
      (finding === "lost" ? size(mix) > now : size(mix) < now) &&
      accepts({ ...params, block_mix: mix }, facts).ok
    ).sort((a, b) => size(a) - size(b));
    const mix = finding === "lost" ? further[0] : further.at(-1);
    const head = otherHead(params, finding === "lost", facts);
    if (mix === undefined) return head && { ...params, ...head };
    // The same bytes first: each nearly halved a KL of the demo's model (docs/measurements/sizes.md).
    if (finding === "lost" && params.rounded_by !== "gptq" && chosenShare(params, facts) > 0.5) {
      return { ...params, rounded_by: "gptq" };
    }
    if (head !== null) return { ...params, ...head };
    if (finding === "lost" && params.kinds_by === "mix" && params.eight_bit_share === 0) {
      return { ...params, kinds_by: "fisher" };
    }
    return { ...params, block_mix: mix };
  },
  estimateSeconds(params, { model }) {
    const { block_mix: mix, importance, rounded_by, samples } = params;
    const a_pass = samples * model.linear_parameters * SECONDS_A_WEIGHT_AND_WINDOW;
    const searched = mix.startsWith("IQ");
    const weights = model.linear_parameters + model.embedding_parameters;
    return START_SECONDS +
      weights * (searched ? SECONDS_A_SEARCHED_WEIGHT : SECONDS_A_WEIGHT) +
      (importance ? a_pass : 0) +
      (rounded_by === "library" ? 0 : weights * SECONDS_A_WEIGHT_BY_COLUMNS + 3 * a_pass) +
      (!byFisher(params) ? 0 : model.linear_parameters * SECONDS_A_WEIGHT_BY_FISHER + 3 * a_pass);
  },
  // The model and its float32 file, which the quantizer maps; squared gradients and seven kinds;
  // the model, kept for the columns.
  estimateMemory: (params, facts) =>
    modelMemory(facts, (byFisher(params) ? 4 : 2) + (params.rounded_by === "library" ? 0 : 1)),
});
