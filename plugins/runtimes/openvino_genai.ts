import {
  type Change,
  choice,
  defineCaches,
  defineRuntime,
  flag,
  integer,
  type KnobValue,
  real,
  type Support,
} from "../../core/mod.ts";
import openvino from "./openvino.ts";

/** Tokens of a block of the cache on a CPU: what is kept, and let go of, at once. */
const BLOCK = 32;
const MOST_TOKENS = 131_072;

const EVICTING = { knob: "eviction", is: ["sum", "norm_sum", "adaptive_rkv"] } as const;
const TRISHAPE = { knob: "sparse_prefill", is: ["trishape"] } as const;

/** Sizes of an eviction, which the library counts in blocks and does not check. */
const SIZES = ["start_size", "recent_size", "max_cache_size"] as const;

/** Parts of a context that an eviction leaves, where a study counts its cache at one. */
const PARTS = [1 / 2, 1 / 4];
/** The first block, the latest, and one to choose. */
const LEAST_EVICTED = 3 * BLOCK;

type Params = Readonly<Record<string, KnobValue>>;

/** Python's word of a flag. */
const flagWord = (value: KnobValue | undefined): string => value === true ? "True" : "False";

/** What an eviction is in the library's scheduler. */
function evictionWords(params: Params): string[] {
  const { start_size, recent_size, max_cache_size, eviction, score_window } = params;
  const sizes = [start_size, recent_size, max_cache_size].join(", ");
  const crush = params["kvcrush_blocks"] === 0
    ? ""
    : `, kvcrush_config=KVCrushConfig(${params["kvcrush_blocks"]})`;
  return [
    "use_cache_eviction=True",
    `cache_eviction_config=CacheEvictionConfig(${sizes}, ` +
    `AggregationMode.${String(eviction).toUpperCase()}, apply_rotation=${
      flagWord(params["rotation"])
    }, snapkv_window_size=${score_window}${crush})`,
  ];
}

/** What a sparse prefill is in the library's scheduler. */
function sparseWords(
  { sparse_prefill, dense_tokens, seen_start, seen_recent, threshold }: Params,
): string[] {
  const mode = String(sparse_prefill).toUpperCase();
  const own = sparse_prefill === "trishape"
    ? `num_last_dense_tokens_in_prefill=${dense_tokens}, num_retained_start_tokens_in_cache=${seen_start}, ` +
      `num_retained_recent_tokens_in_cache=${seen_recent}`
    : `xattention_threshold=${threshold}`;
  return [
    "use_sparse_attention=True",
    `sparse_attention_config=SparseAttentionConfig(mode=SparseAttentionMode.${mode}, ${own})`,
  ];
}

const caches = defineCaches({
  forgets: true,
  knobs: {
    kv_precision: choice(["f32", "f16", "u8"], {
      default: "f16",
      unit: "type",
      description: "Keys and values are stored so",
    }),
    eviction: choice(["none", "sum", "norm_sum", "adaptive_rkv"], {
      default: "none",
      unit: "name",
      description:
        "What tokens are let go of after the prompt: those with the least attention in all, or for each time that they could be seen, or R-KV's choice",
    }),
    start_size: integer({
      minimum: 0,
      maximum: MOST_TOKENS,
      default: BLOCK,
      unit: "tokens",
      description: "First tokens, which always stay: whole blocks",
      only_where: EVICTING,
    }),
    recent_size: integer({
      minimum: 0,
      maximum: MOST_TOKENS,
      default: 4 * BLOCK,
      unit: "tokens",
      description: "Latest tokens, which always stay: whole blocks",
      only_where: EVICTING,
    }),
    max_cache_size: integer({
      minimum: BLOCK,
      maximum: MOST_TOKENS,
      default: 16 * BLOCK,
      unit: "tokens",
      description: "Tokens that stay, the first and the latest included: whole blocks",
      log: true,
      only_where: EVICTING,
    }),
    score_window: integer({
      minimum: 0,
      maximum: 1024,
      default: 8,
      unit: "tokens",
      description:
        "Last tokens of the prompt whose attention scores it first, as SnapKV's; 0 = all",
      aliases: ["snapkv_window_size"],
      only_where: EVICTING,
    }),
    rotation: flag({
      default: false,
      description: "Whether keys are turned to their places in what is left",
      aliases: ["apply_rotation"],
      only_where: EVICTING,
    }),
    kvcrush_blocks: integer({
      minimum: 0,
      maximum: 1024,
      default: 0,
      unit: "blocks",
      description: "Blocks that KVCrush keeps beside, for what was let go of; 0 = none",
      only_where: EVICTING,
    }),
    sparse_prefill: choice(["none", "trishape", "xattention"], {
      default: "none",
      unit: "name",
      description: "What of a prompt's attention is computed",
    }),
    dense_tokens: integer({
      minimum: 0,
      maximum: MOST_TOKENS,
      default: 100,
      unit: "tokens",
      description: "Last tokens of the prompt, which look at all others",
      only_where: TRISHAPE,
    }),
    seen_start: integer({
      minimum: 0,
      maximum: MOST_TOKENS,
      default: 4 * BLOCK,
      unit: "tokens",
      description: "First tokens, which all others look at: whole blocks",
      only_where: TRISHAPE,
    }),
    seen_recent: integer({
      minimum: 0,
      maximum: MOST_TOKENS,
      default: 60 * BLOCK,
      unit: "tokens",
      description: "Tokens before each that it looks at: whole blocks",
      only_where: TRISHAPE,
    }),
    threshold: real({
      minimum: 0.05,
      maximum: 1,
      default: 0.8,
      unit: "share of the attention",
      description: "Blocks are computed until they have so much of the attention",
      only_where: { knob: "sparse_prefill", is: ["xattention"] },
    }),
  },
  settings: {
    full_f16: {},
    full_u8: { kv_precision: "u8" },
    norm_sum: { eviction: "norm_sum" },
    norm_sum_u8: { eviction: "norm_sum", kv_precision: "u8" },
    kvcrush: { eviction: "sum", max_cache_size: 12 * BLOCK, kvcrush_blocks: 4 },
    xattention: { sparse_prefill: "xattention" },
  },
  sized: (tokens) =>
    PARTS.map((part) => Math.floor(part * tokens / BLOCK) * BLOCK)
      .filter((size) => size >= LEAST_EVICTED)
      .map((max_cache_size) => ({
        eviction: "norm_sum" as const,
        max_cache_size,
        recent_size: Math.min(4, Math.floor(max_cache_size / (4 * BLOCK)) || 1) * BLOCK,
      })),
  refuses({ eviction, sparse_prefill, ...params }) {
    const odd = (names: readonly (keyof typeof params)[]) =>
      names.find((name) => Number(params[name]) % BLOCK !== 0);
    const parts = (name: keyof typeof params) =>
      `${name} is ${params[name]} tokens, no multiple of the ${BLOCK} of a block`;
    if (eviction === "none") {
      if (params.rotation) return "rotation is of what an eviction leaves, and eviction is none";
      if (params.kvcrush_blocks > 0) {
        return `kvcrush_blocks is ${params.kvcrush_blocks}, and eviction is none`;
      }
    } else {
      const size = odd(SIZES);
      if (size !== undefined) return parts(size);
      const kept = params.start_size + params.recent_size;
      if (params.max_cache_size <= kept) {
        return `start_size and recent_size keep ${kept} tokens: a max_cache_size of ` +
          `${params.max_cache_size} leaves no room for a choice`;
      }
      if (eviction === "adaptive_rkv" && params.kvcrush_blocks > 0) {
        return "adaptive_rkv chooses what KVCrush would: take one of both";
      }
    }
    const seen = sparse_prefill === "trishape" ? odd(["seen_start", "seen_recent"]) : undefined;
    return seen === undefined ? null : parts(seen);
  },
  launch: (params) => [
    `KV_CACHE_PRECISION=${params.kv_precision}`,
    ...(params.eviction === "none" ? [] : evictionWords(params)),
    ...(params.sparse_prefill === "none" ? [] : sparseWords(params)),
  ],
});

function holds(change: Change, facts: Parameters<typeof openvino.holds>[1]): Support {
  if (change.effect === "caches") {
    return { ok: false, reason: "its cache has settings of its own, which `pare caches` measures" };
  }
  return openvino.holds(change, facts);
}

/** The graph that `openvino` runs, under the paged cache of OpenVINO GenAI: run where it is asked for. */
export default defineRuntime({
  name: "openvino_genai",
  summary: "Runs the artifact's own integers in OpenVINO GenAI, whose cache evicts or is rounded",
  needs: { environment: "openvino_genai", gpu: false },
  form: { environment: "openvino_export", shared: "architecture" },
  supports: openvino.supports,
  formats: openvino.formats.replace(/, a model of floats alone .*$/, ""),
  holds,
  ...(openvino.reads === undefined ? {} : { reads: openvino.reads }),
  caches,
  unserved: "it gives tokens and no probabilities; openvino serves the same graph",
  preference: 6,
});
