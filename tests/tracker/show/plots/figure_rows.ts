/** Fixed rows of every figure, as SQL gives them: whole numbers as bigint, what is not known as null. */
import { figures } from "../../../../tracker/show/plots/figures.ts";

const METHODS = ["baseline", "int8", "gptq + rtn", "autoround + rtn", "int8", "int8 + rtn"];
const id = (number: number) => `words/t0${number}`;
/** The same on every machine: the whole part of products keeps no digit that could differ. */
const some = (a: number, b: number) => (a * 37 + b * 17) % 100 / 100;

const trials = METHODS.map((methods, number) => {
  const [latency_ratio, drop] = [
    [1, 0.61, 0.5, 0.5, 0.59, 0.53][number]!,
    [0, 0, 33, 30, -2, 3][number]! / 1000,
  ];
  return {
    ...{
      trial_id: id(number),
      study_id: "words",
      number: BigInt(number),
      methods,
      state: "completed",
    },
    ...{
      fidelity: number === 5 ? "proxy" : "full",
      is_baseline: number === 0,
      on_front: number === 4,
    },
    ...{ recommended: number === 4, violated: number === 2 || number === 3 ? ["accuracy"] : [] },
    ...{
      recommended_because: number === 4
        ? "it keeps to the limit; t02 is smaller and breaks it."
        : null,
    },
    ...{ accuracy: 0.6 - drop, accuracy_difference: number === 0 ? null : -drop },
    accuracy_difference_low: number === 0 || number === 5 ? null : -drop - 0.02,
    accuracy_difference_high: number === 0 || number === 5 ? null : -drop + 0.02,
    ...{
      latency_ratio: number === 0 ? null : latency_ratio,
      latency_ratio_low: number === 0 ? null : latency_ratio - 0.1,
    },
    latency_ratio_high: number === 0 ? null : latency_ratio + 0.1,
    size_bytes: [269e6, 163e6, 86e6, 86e6, 163e6, 136e6][number],
    ...{
      energy_j_per_1k_tokens: number === 5 ? NaN : 225 * latency_ratio,
      energy_reader: number === 1 ? "rapl" : "estimate",
    },
    ...{ co2_g_per_1k_tokens: null, kl: [1e-8, 0.0066, 0.11, 0.14, 0.03, 0.032][number] },
    weight_bits: number === 0 ? null : methods.startsWith("int8") ? 8.02 : 4.25,
    ...{
      latency_ms: 29 * latency_ratio,
      roofline_ms: number === 5 ? null : 12 * latency_ratio,
      runtime: "openvino",
    },
  };
});

/** Checks of a ledger: what each attempt keeps, with its size beside the original's. */
const attempts = [
  { stage: "seedlm", attempt: 1n, ratio: 2.1, kept: 0.99, least: 0.98 },
  { stage: "vptq", attempt: 1n, ratio: 3.9, kept: 0.86, least: 0.95 },
  { stage: "vptq", attempt: 2n, ratio: 3.2, kept: 0.96, least: 0.95 },
  { stage: "hyper_compression", attempt: 1n, ratio: 2.4, kept: 0.93, least: 0.9 },
].flatMap(({ kept, least, ...attempt }) => {
  const check = (about: string, subject: string | null, value: number | null, half: number) => ({
    ...{ ...attempt, about, subject, value, threshold: about === "cumulative" ? 0.84 : least },
    interval_low: value === null ? null : value - half,
    interval_high: value === null ? null : value + half,
    decision: value === null ? "not_applicable" : value < least ? "failed" : "passed",
  });
  return [
    check("artifact", null, null, 0),
    check("core", "mmlu", kept - 0.005, 0.04),
    check("core", "gsm8k", kept + 0.005, 0.06),
    check("cumulative", null, kept, 0.03),
    check("expert", "analytical/hendrycks_math", null, 0),
    check("expert", "analytical/gsm8k", kept + 0.005, 0.06),
    check("expert", "code/humaneval", kept - 0.03, 0.7),
    check("expert", "code/mbpp", kept + 0.01, 0.1),
  ];
});

const knobs = [4, 8, 3, 4].flatMap((width, index) =>
  [
    ...[{ knob: "width", knob_value: String(width), knob_number: width }],
    ...[{ knob: "order", knob_value: index % 2 === 0 ? "static" : "dynamic", knob_number: null }],
  ].map((knob) => ({ ...trials[index + 1]!, method: index === 3 ? "round" : "tune", ...knob }))
);

const layers = ["tune", "round"].flatMap((format, f) =>
  Array.from(
    { length: 6 },
    (_, block) =>
      ["mlp.up_proj", "self_attn.a_projection_of_a_very_long_name"].map((part, p) => ({
        ...{ layer: `model.layers.${block}.${part}`, layer_index: BigInt(block * 2 + p), format },
        ...{
          scorer: "kl",
          unit: "nats/token",
          value: some(block, f + p) / 100 + 0.0001,
          trial_id: id(1),
        },
      })),
  ).flat()
);

/** Contexts of three lengths, whole and of a budget. */
const contexts = ["baseline", "s01-snapkv-128"].flatMap((readable_id, t) =>
  [256, 512, 1024].flatMap((tokens, l) =>
    [0, 1].map((i) => ({
      ...{
        readable_id,
        methods: t === 0 ? "baseline" : "snapkv",
        context_tokens: BigInt(tokens + i),
      },
      ...{ kv_bytes: BigInt(46_080 * (t === 0 ? tokens : 128)), seconds: 0.002 * tokens + l / 10 },
    }))
  )
);

/** A policy of a pyramid and one of places, on a context of three layers. */
const places = ["s01-pyramidkv-128", "s01-streaming-64"].flatMap((readable_id, t) =>
  [0, 1, 2].flatMap((layer) =>
    Array.from({ length: 16 }, (_, part) => ({
      ...{ readable_id, task: "needle_rank", layer_index: BigInt(layer), part: BigInt(part) },
      part_kept: t === 0
        ? (part > 13 ? 1 : some(layer, part) / (1 + layer))
        : part > 12
        ? 1
        : part === 0
        ? 0.25
        : 0,
    }))
  )
);

/** Needles of two trials at three lengths and five depths. */
const needles = ["baseline", "s01-streaming-64"].flatMap((readable_id, t) =>
  [512, 1024, 2048].flatMap((length, l) =>
    [0, 20, 40, 60, 80].map((depth, d) => ({
      ...{
        readable_id,
        task: "needle_rank",
        slice: `${length} tokens depth ${depth}-${depth + 20}`,
      },
      ...{ value: t === 0 ? 1 - l / 10 : d === 4 ? 0.9 : some(l, d) / 4, n: 20n },
    }))
  )
);

/** Two methods on two benchmarks beside the full cache: one of accuracy, one of KL. */
const caches = ["baseline", "snapkv", "streaming"].flatMap((methods, m) =>
  [1 / 16, 1 / 8, 1 / 4].slice(0, m === 0 ? 1 : 3).flatMap((share, b) => [
    {
      ...{ methods, task: "ruler_vt", metric: "accuracy", standard_error: 0.03 },
      ...{ share_kept: m === 0 ? 1 : share, value: m === 0 ? 0.9 : 0.7 - 0.2 * m + 0.1 * b },
    },
    {
      ...{ methods, task: "demo_text", metric: "kl", standard_error: m === 0 ? null : 0.02 },
      ...{ share_kept: m === 0 ? 1 : share, value: m === 0 ? 0 : 0.3 * m / (1 + b) },
    },
  ])
);

/** By figure the rows and, where it has its own, options. */
export const ROWS: Record<keyof typeof figures, readonly [readonly object[], object?]> = {
  pareto: [trials, { allowed_drop: 0.02 }],
  hypervolume: [[0.144, 0.277, 0.276, 0.277].map((hypervolume, number) => ({
    ...{
      study_id: "words",
      number: BigInt(number),
      hypervolume,
      spent_seconds: 190 + 130 * number,
    },
    ...{ hypervolume_low: hypervolume - 0.03, hypervolume_high: hypervolume + 0.05 },
    ...{ spent_gpu_hours: null, spent_joules: 4000 + 2500 * number },
  }))],
  recipes: [knobs],
  servedLoad: [
    ["http://127.0.0.1:8000/v1", "http://127.0.0.1:8001/v1"].flatMap((server, i) =>
      [1, 2, 4].map((level, l) => ({
        ...{ server, load: "concurrency", level, model: "words/t04" },
        ...{ output_tokens_per_second: 30 * (i + 1) * level ** 0.6 },
        ...{ first_token_p50_ms: 90 + 60 * l - 30 * i, first_token_p95_ms: 150 + 90 * l },
        ...{
          between_tokens_p50_ms: 22 + 6 * l,
          between_tokens_p95_ms: i === 1 && l === 2 ? null : 48,
        },
      }))
    ),
  ],
  retention: [
    trials.slice(1, 5).flatMap(({ trial_id }, i) =>
      ["everyday_choice", "last_words", null].map((task, t) => ({
        ...{ trial_id, task, metric: "accuracy", fidelity: "full", slice: null },
        ...{ ratio: i === 2 && t === 0 ? null : 0.7 + some(i, t) * 0.4, chance_corrected: NaN },
      }))
    ),
  ],
  knobEffects: [[3, 4, 8].flatMap((value, i) =>
    ["width", "samples"].map((knob) => ({
      ...{ study_id: "words", method: "tune", knob, knob_value: String(value), knob_number: value },
      ...{
        metric: "accuracy",
        fidelity: "full",
        n: 2n,
        mean: 0.55 + i * 0.02,
        minimum: 0.54,
        maximum: 0.6,
      },
    }))
  )],
  knobImportance: [["width", "order"].map((knob, i) => ({
    ...{ method: "tune", knob, metric: "accuracy", fidelity: "full", pairs: BigInt(i + 1) },
    ...{
      importance: 0.02 - i * 0.01,
      importance_low: i === 1 ? null : 0.01,
      importance_high: i === 1 ? null : 0.03,
    },
  }))],
  layerSensitivity: [layers],
  layerMix: [layers.slice(0, 12).map((row, i) => ({ ...row, format: `${[4, 8, 3][i % 3]}-bit` }))],
  flips: [[[0, 1, 3n], [1, 0, 4n], [0, 2, 29n], [2, 0, 16n], [1, 2, 9n]].map(([kept, lost, n]) => ({
    ...{
      kept_by: id(Number(kept)),
      lost_by: id(Number(lost)),
      task: "last_words",
      fidelity: "full",
      n,
    },
  }))],
  roofline: [
    trials.map((row, i) => ({ ...row, provenance: i === 2 ? "emulated" : "measured" })),
  ],
  memory: [["apply", "evaluate"].flatMap((call, s) =>
    Array.from({ length: 12 }, (_, i) => ({
      ...{ trial_id: id(i % 2), call, seconds: Math.floor(i / 2) + 1, gpu_memory_bytes: null },
      rss_bytes: BigInt(Math.round(1e9 * (0.4 + some(i, s)))),
    }))
  )],
  energy: [trials],
  lossCurves: [
    ["loss", "held_out_loss"].flatMap((metric, m) =>
      Array.from({ length: 20 }, (_, i) => ({
        ...{
          trial_id: id(i % 2),
          action_index: 0,
          metric,
          step: BigInt(i),
          value: i === 7 ? NaN : 3 - i / 10 + m / 5,
        },
      }))
    ),
  ],
  lineage: [
    [["a", null, "baseline"], ["b", "a", "int8"], ["c", "a", "gptq"], ["d", "c", "gptq + rtn"]].map(
      ([artifact_id, parent_id, recipe], i) => ({
        artifact_id,
        parent_id,
        recipe,
        size_bytes: BigInt(5e8 >> i),
      }),
    ),
    { front: ["d"], labels: { d: "t02" } },
  ],
  phases: [
    trials.slice(0, 3).flatMap(({ trial_id }, i) =>
      ["proxy", "full", "speed", null].map((phase, p) => ({
        trial_id,
        phase,
        seconds: 10 + 40 * some(i, p),
      }))
    ),
  ],
  rateDistortion: [trials],
  qualityByCache: [caches],
  needleMap: [needles],
  cacheByContext: [contexts],
  keptPlaces: [places],
  qualityByRatio: [attempts],
};
