import { choice, defineMethod, real } from "../../core/mod.ts";
import { CACHE, leavesCache } from "./_cache.ts";

/** Why some presses are no trial, as the end of a sentence. */
const HIDES = "it hides keys of some heads and keeps them all: no byte of the cache is spared";
const PASSES = "it reads the prompt in passes of its own";
const LATER = "it lets go of tokens while the answer is written, and nothing of the prompt";
const CHANGES = "it changes keys or values: what it leaves are not tokens of the prompt";
const FETCHES = "it fetches what it goes by from the hub, for a few models alone";
const NO_RATIO = "it goes by no ratio of the prompt's tokens";

const REFUSED: Readonly<Record<string, string>> = {
  AdaKVPress: HIDES,
  CriticalAdaKVPress: HIDES,
  DMSPress: HIDES,
  DuoAttentionPress: HIDES,
  LUKVPress: HIDES,
  FastKVzipPress: PASSES,
  FinchPress: PASSES,
  KVComposePress: PASSES,
  KVgradPress: PASSES,
  KVzipPress: PASSES,
  RestoreKVPress: PASSES,
  CAMPress: LATER,
  CompressionRatioDecodingPress: LATER,
  DecodingPress: LATER,
  PrefillDecodingPress: LATER,
  KeyRerotationPress: CHANGES,
  MergingPress: CHANGES,
  ExpectedAttentionStatsPress: FETCHES,
  KVzapPress: FETCHES,
  QFilterPress: FETCHES,
  SimLayerKVPress: NO_RATIO,
  ThinKPress: CHANGES,
};

/** Presses of kvpress 0.5.5 that leave some of a prompt's tokens as they were. */
const PRESSES = [
  ...["BlockPress", "CURPress", "CapPress", "ChunkKVPress", "ChunkPress", "CompactorPress"],
  ...["ComposedPress", "CriticalKVPress", "EntropyGatedChunkKVPress", "ExpectedAttentionPress"],
  ...["KeyDiffPress", "KnormPress", "LagKVPress", "LeverageScorePress", "NonCausalAttnPress"],
  ...["ObservedAttentionPress", "PerLayerCompressionPress", "PyramidKVPress", "RandomPress"],
  ...["SnapKVPress", "StreamingLLMPress", "TOVAPress"],
] as const;

/** Shares of a prompt that a first try lets go of. */
const FIRST_RATIOS = { conservative: 0.5, balanced: 0.75, aggressive: 0.875 } as const;
/** A ratio beyond which nothing is left of a short prompt, and one below which nothing is gained. */
const RATIOS = { minimum: 0.02, maximum: 0.99 } as const;

const ratioOf = (kept: number): number => Math.round(1e6 * (1 - kept)) / 1e6;

/**
 * Presses of NVIDIA's kvpress by name, evaluated in that library's own environment. The ratio is kvpress's:
 * the share of a prompt's tokens that is let go of, as each press counts it.
 */
export default defineMethod({
  ...CACHE,
  name: "kvpress",
  summary: "Keeps keys and values of the tokens that a press of kvpress leaves",
  needs: { environment: "kvpress", tool: "kvpress", gpu: false, own_code: "PARE_PRESSES" },
  knobs: {
    press: choice([...PRESSES, ...Object.keys(REFUSED)], {
      default: "KeyDiffPress",
      unit: "name",
      pattern: "[A-Za-z_][\\w.]*:[A-Za-z_]\\w*",
      description:
        "The press, by its name in kvpress, or MODULE:CLASS of code that PARE_PRESSES names",
    }),
    press_ratio: real({
      ...RATIOS,
      default: 0.5,
      unit: "share of the prompt",
      description: "Share of a prompt's tokens that the press lets go of, as it counts them",
      aliases: ["compression_ratio"],
    }),
    press_arguments: choice(["{}"], {
      default: "{}",
      unit: "JSON",
      pattern: "\\{[^\\n]*\\}",
      description:
        'The press\'s other arguments by name, such as {"window_size": 16}; a press in it by its name',
    }),
  },
  leaves: ({ press_ratio }, facts) => {
    const kept = Math.max(1, Math.floor((1 - press_ratio) * facts.model.context_length));
    return leavesCache(facts, { kept_tokens: { mean: kept, most: kept }, evict_after: "context" });
  },
  keeps: ({ press_ratio }, tokens) => ({
    tokens: Math.max(1, Math.floor((1 - press_ratio) * tokens)),
    copies: 1,
  }),
  label: ({ press, press_ratio, press_arguments: more }) => [
    press,
    `${Math.round(100 * (1 - press_ratio))}%`,
    ...(more === "{}" ? [] : [more]),
  ],
  hint: (about) => `Take a ${about === "quality" ? "smaller" : "larger"} press_ratio`,
  accepts({ press, press_arguments: more }) {
    const refused = REFUSED[press];
    if (refused !== undefined) return { ok: false, reason: `${press} is no trial: ${refused}` };
    try {
      JSON.parse(more);
    } catch (error) {
      return { ok: false, reason: `its arguments are no JSON: ${(error as Error).message}` };
    }
    return { ok: true };
  },
  auto: () => ({
    press_ratio: { value: FIRST_RATIOS.balanced, reason: "a quarter of each prompt stays" },
  }),
  seed: (boldness) => ({ press_ratio: FIRST_RATIOS[boldness] }),
  next(params, finding) {
    const left = 1 - params.press_ratio;
    const press_ratio = ratioOf(finding === "lost" ? Math.min(1, 2 * left) : left / 2);
    const inRange = press_ratio >= RATIOS.minimum && press_ratio <= RATIOS.maximum;
    return inRange ? { ...params, press_ratio } : null;
  },
  keeping: (budget) =>
    budget < 1
      ? { press_ratio: ratioOf(budget) }
      : { refused: "a press goes by a ratio of each prompt: give budgets below 1" },
});
