import { choice, defineMethod, type Facts, type Finding } from "../../core/mod.ts";
import { blockBits, seedsBytes, type SeedsForm } from "../forms/seeds.ts";
import {
  codecHint,
  cutsRows,
  encodesOnce,
  hasMatrices,
  leavesEncoded,
  NOT_A_CODECS,
  PROCESS_BYTES,
} from "./_codec.ts";

const REGISTERS = [8, 10, 12, 14, 16] as const;
const BLOCKS = [4, 6, 8, 12, 16] as const;
const COEFFICIENTS = [2, 3, 4] as const;
const EXPONENT_RULES = ["ceil", "floor", "best"] as const;
/**
 * Seconds on one core: 0.035 ms a block of the demo's model with 12 bits of seed, on a busy machine;
 * 0.14 ms of Gaussian weights with 16, of which a bound of every seed is the part that grows.
 */
const PRICES = { block: 2.5e-5, block_and_seed: 2.5e-9, seed: 1e-5 };
const START_SECONDS = 3;
/** Bounds of a chunk of blocks, a layer's floats, and what was found of it. */
const SEARCH_BYTES = 0.3e9;
const FLOAT_BYTES = 4;

interface SeedParams {
  readonly seed_bits: (typeof REGISTERS)[number];
  readonly block_weights: (typeof BLOCKS)[number];
  readonly coefficients: (typeof COEFFICIENTS)[number];
  readonly exponent_rule: (typeof EXPONENT_RULES)[number];
}

/** The usual block where it divides every row, else the largest that does. */
function seedBlock(facts: Facts): SeedParams["block_weights"] {
  const fits = BLOCKS.filter((block) => cutsRows(block, facts).ok);
  return fits.includes(8) ? 8 : fits.at(-1) ?? 8;
}

/** Smaller blocks where quality was lost, then longer seeds; larger ones where it was kept. */
function nextParams(params: SeedParams, finding: Finding, facts: Facts): SeedParams | null {
  const fits = BLOCKS.filter((block) => cutsRows(block, facts).ok);
  const block_weights = finding === "lost"
    ? fits.findLast((block) => block < params.block_weights)
    : fits.find((block) => block > params.block_weights);
  if (block_weights !== undefined) return { ...params, block_weights };
  const longest = REGISTERS.at(-1)!;
  if (finding === "kept" || params.seed_bits === longest) return null;
  return { ...params, seed_bits: longest };
}

function seedsForm({ seed_bits, block_weights, coefficients }: SeedParams): SeedsForm {
  return { form: "seeds", seed_bits, block_weights, coefficients };
}

const NO_TEXT = "it encodes weights and generates no text: more seed_bits or coefficients, or a " +
  "smaller block_weights, lose less";

/** SeedLM by its paper (arXiv 2410.10714), data-free; the seeds are searched exhaustively. */
export default defineMethod({
  name: "seedlm",
  summary: "Stores each block of weights as a seed of pseudo-random numbers and coefficients",
  knobs_named_for: {
    ...{ temperature: NO_TEXT, num_generations: NO_TEXT, thought_guidance: NO_TEXT },
    ...NOT_A_CODECS,
  },
  knobs: {
    seed_bits: choice(REGISTERS, {
      default: 12,
      aliases: ["K"],
      unit: "bits of a seed",
      description: "Width of the shift register: 2 to that power of seeds are searched a block",
    }),
    block_weights: choice(BLOCKS, {
      default: 8,
      aliases: ["C"],
      unit: "weights a block",
      description: "Weights of a row that share a seed; must divide the row",
    }),
    coefficients: choice(COEFFICIENTS, {
      default: 3,
      aliases: ["P"],
      unit: "coefficients a block",
      description: "Columns of pseudo-random numbers that add up to a block, 4 bits each",
    }),
    exponent_rule: choice(EXPONENT_RULES, {
      default: "ceil",
      unit: "name",
      description:
        "Of a block's coefficients: the least that holds the largest; floor, the paper's, " +
        "twice the error; best, ceil's or the one below it, whichever errs less",
    }),
  },
  needs: { environment: "default", gpu: false },
  leaves: (params, facts) => leavesEncoded(["linear"], seedsForm(params), seedsBytes, facts),
  order: encodesOnce,
  label: (params) => {
    const bits = blockBits(params) / params.block_weights;
    return [
      `${Math.round(100 * bits) / 100}-bit`,
      `K${params.seed_bits}`,
      `C${params.block_weights}`,
    ];
  },
  hint: codecHint,
  supports: hasMatrices,
  accepts(params, facts) {
    const has = hasMatrices(facts);
    return has.ok ? cutsRows(params.block_weights, facts) : has;
  },
  auto: (facts) => ({
    block_weights: { value: seedBlock(facts), reason: "8, or the largest that divides every row" },
  }),
  seed(boldness, facts) {
    const block_weights = seedBlock(facts);
    if (boldness === "conservative") return { block_weights, coefficients: 4 };
    if (boldness === "balanced") return { block_weights };
    return cutsRows(12, facts).ok ? { block_weights: 12, coefficients: 4 } : null;
  },
  next: nextParams,
  estimateSeconds({ seed_bits, block_weights }, { model }) {
    const seeds = 2 ** seed_bits;
    const blocks = model.linear_parameters / block_weights;
    return START_SECONDS + seeds * PRICES.seed +
      blocks * (PRICES.block + seeds * PRICES.block_and_seed);
  },
  // The checkpoint stays on disk; every layer's code, the table of the seeds and one layer's search.
  estimateMemory({ seed_bits, block_weights, coefficients }, { model }) {
    const features = block_weights * (block_weights + 1) / 2 + 2 * block_weights * coefficients;
    const table = 2 * FLOAT_BYTES * features * 2 ** seed_bits;
    return PROCESS_BYTES + SEARCH_BYTES + table + model.linear_parameters;
  },
});
