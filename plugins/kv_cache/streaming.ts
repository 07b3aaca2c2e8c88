import { defineMethod, type Facts, integer, type Support } from "../../core/mod.ts";

/** Reading the parent's index and writing a file of a few lines. */
const SECONDS = 3;
const WINDOWS = { minimum: 16, maximum: 131_072 } as const;
/** Parts of the context that a first try keeps, and the most tokens of it. */
const FIRST_TRIES = {
  conservative: { part: 4, most: 1024 },
  balanced: { part: 8, most: 512 },
  aggressive: { part: 16, most: 256 },
} as const;

/** The largest power of two that is no more than a part of the context, within the knob's range. */
function windowOf({ model }: Facts, { part, most }: { part: number; most: number }): number {
  const room = Math.min(most, model.context_length / part);
  return Math.max(WINDOWS.minimum, 2 ** Math.floor(Math.log2(Math.max(1, room))));
}

/** Where all that the model can read is kept, nothing is gained. */
function evicts({ sinks, window }: { sinks: number; window: number }, { model }: Facts): Support {
  if (sinks + window < model.context_length) return { ok: true };
  const reason = `sinks and window keep ${sinks + window} tokens, all of the ` +
    `${model.context_length} that the model reads`;
  return { ok: false, reason };
}

/**
 * Attention sinks and a window (StreamingLLM, Xiao et al. 2024). Keys keep the rotation of their place
 * in the text, where the paper counts places within the cache: `kv_cache/policy.py` says why.
 */
export default defineMethod({
  name: "streaming",
  summary: "Keeps keys and values of the first few tokens, the attention sinks, and of a window",
  knobs: {
    sinks: integer({
      minimum: 0,
      maximum: 64,
      default: 4,
      unit: "tokens",
      description: "Tokens at the beginning that every later one sees",
    }),
    window: integer({
      ...WINDOWS,
      default: 512,
      unit: "tokens",
      log: true,
      description: "Latest tokens that a token sees, itself included",
    }),
  },
  needs: { environment: "default", gpu: false },
  leaves: ({ sinks, window }, { model }) => ({
    changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
    model: { ...model, cache: { kept_tokens: sinks + window } },
  }),
  order: {
    effect: "caches",
    follows: [],
    precedes: [],
    reason: "it takes the whole cache as the model makes it",
  },
  label: ({ sinks, window }) => [`${sinks}+${window}`],
  hint: (about) => about === "quality" ? "Take a longer window" : "Take a shorter window",
  supports: ({ model }) =>
    model.custom_code
      ? { ok: false, reason: "the model brings its own code, which may keep its cache elsewhere" }
      : { ok: true, reason: "works on keys and values of layers with full attention" },
  accepts: evicts,
  auto: (facts) => ({
    sinks: { value: 4, reason: "the paper's: more change little, fewer cost much" },
    window: {
      value: windowOf(facts, FIRST_TRIES.balanced),
      reason: `at most an eighth of the ${facts.model.context_length} tokens that the model reads`,
    },
  }),
  seed: (boldness, facts) => ({ sinks: 4, window: windowOf(facts, FIRST_TRIES[boldness]) }),
  next: (params, finding, facts) => {
    const window = finding === "lost" ? params.window * 2 : Math.floor(params.window / 2);
    if (window < WINDOWS.minimum || window > WINDOWS.maximum) return null;
    return evicts({ ...params, window }, facts).ok ? { ...params, window } : null;
  },
  estimateSeconds: () => SECONDS,
  estimateMemory: (_params, { model }) => model.fp16_bytes,
});
