import { z } from "zod";
import {
  type Action,
  type Agent,
  type AgentMethod,
  type Change,
  choice,
  defineAgent,
  defineMethod,
  defineRuntime,
  defineScorer,
  defineTask,
  type Facts,
  flag,
  integer,
  type Leaves,
  type Method,
  type Order,
  real,
  type ResolvedAction,
  type Runtime,
  type Scorer,
  scorerMetric,
  type SpecPlugins,
  type StoredForm,
  StudyRequest,
  type StudyRequestInput,
  type Support,
  type Task,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";

export { largeFacts, smallFacts, withDataset } from "./spec_facts.ts";

export function request(more: Partial<StudyRequestInput> = {}): StudyRequest {
  return StudyRequest.parse({ model_name: "small", dataset: "words", ...more });
}

const bits = choice([2, 3, 4, 8], { default: 4, unit: "bits", description: "a weight" });
const group_size = choice([32, 64, 128], { default: 64, unit: "weights", description: "a scale" });

function groupDivides(params: ResolvedAction["params"], facts: Facts): Support {
  const group = Number(params["group_size"]);
  if (facts.model.group_sizes.includes(group)) return { ok: true };
  return { ok: false, reason: `groups of ${group} do not divide the rows` };
}

const groupedBits = (params: ResolvedAction["params"]) =>
  Number(params["bits"]) + 16 / Number(params["group_size"]);

/** A form that only these fixtures know: so many bits per weight. */
export interface Packed extends StoredForm {
  readonly bits: number;
}

/** What leaving so many bits per weight in some parts means for the model. */
export function leavesBits(
  parts: readonly ("linear" | "embedding")[],
  bits: number,
  { model }: Facts,
  change: Partial<Change> = {},
): Leaves {
  const bytes = { ...weightBytes(model) };
  if (parts.includes("linear")) bytes.linear = model.linear_parameters * bits / 8;
  if (parts.includes("embedding")) bytes.embedding = model.embedding_parameters * bits / 8;
  const form: Packed = { form: "packed", bits };
  return {
    changes: parts.map((part) => ({ part, effect: "rounds", form, least_cosine: 0.1, ...change })),
    model: withWeightBytes(model, bytes),
  };
}

const roundsOnce: Order = {
  effect: "rounds",
  follows: ["trains", "prunes"],
  precedes: ["encodes"],
  reason: "it rounds floats, once",
};

const method = (
  name: string,
  seeds: Partial<Record<"conservative" | "balanced" | "aggressive", Action["params"]>>,
  more: Partial<Method>,
): Method =>
  defineMethod({
    name,
    summary: `${name} it`,
    knobs: { bits, group_size },
    needs: { environment: "default", gpu: false },
    leaves: (params, facts) => leavesBits(["linear"], groupedBits(params), facts),
    label: ({ bits, group_size, targets }) => [
      ...(targets === "embedding" ? [targets] : []),
      ...(bits === undefined ? [] : [`${bits}-bit`]),
      ...(group_size === undefined ? [] : [`g${group_size}`]),
    ],
    hint: (about) => about === "quality" ? "Take more bits" : "Take fewer bits",
    order: roundsOnce,
    next: () => null,
    supports: () => ({ ok: true }),
    accepts: groupDivides,
    seed: (boldness) => seeds[boldness] ?? null,
    estimateSeconds: () => 10,
    estimateMemory: (_, facts) => 4 * facts.model.parameters,
    ...more,
  });

const all = (params: Action["params"]) => ({
  conservative: params,
  balanced: params,
  aggressive: params,
});

/** Nearest rounding; can change the linear layers, the embedding or both. */
export const round = method("round", all({ bits: 4 }), {
  knobs: {
    bits,
    group_size,
    symmetric: flag({ default: true, description: "no zero point" }),
    targets: choice(["linear", "embedding", "both"], {
      default: "linear",
      unit: "name",
      description: "what is rounded",
    }),
  },
  leaves(params, facts) {
    const { targets } = params;
    const parts = targets === "both"
      ? ["linear" as const, "embedding" as const]
      : [targets === "embedding" ? "embedding" as const : "linear" as const];
    return leavesBits(parts, groupedBits(params), facts);
  },
});

/** Solves for the rounding; has a rule for its group size, none for its damping. */
export const solve = method("solve", {
  conservative: { bits: 8 },
  balanced: { bits: 4, group_size: "auto" },
  aggressive: { bits: 3, group_size: 32 },
}, {
  knobs: {
    bits,
    group_size,
    damping: real({
      minimum: 0.001,
      maximum: 0.1,
      default: 0.01,
      unit: "1",
      description: "of the diagonal",
      log: true,
    }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  auto: () => ({ group_size: { value: 32, reason: "32 divides every row" } }),
  next(params, finding) {
    const widths = finding === "lost" ? [3, 4, 8] : [4, 3, 2];
    const next = widths.find((width) =>
      finding === "lost" ? width > Number(params["bits"]) : width < Number(params["bits"])
    );
    return next === undefined ? null : { ...params, bits: next };
  },
});

/** Learns the rounding. */
export const tune = method("tune", all({ bits: 4 }), {
  knobs: {
    bits,
    group_size,
    steps: integer({ minimum: 8, maximum: 200, default: 20, unit: "steps", description: "taken" }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
});

/** Eight bits a channel; nothing to choose. */
export const octet = method("octet", all({}), {
  knobs: {},
  accepts: () => ({ ok: true }),
  leaves: (_params, facts) => leavesBits(["linear"], 8, facts),
});

export const gpuOnly = method("gpu_only", all({}), {
  needs: { environment: "default", gpu: true },
});

/** Sets weights to zero; may stand before what rounds. Not among `methods`. */
export const thin = method("thin", all({}), {
  knobs: {
    share: real({
      minimum: 0.1,
      maximum: 0.9,
      default: 0.5,
      unit: "share of the weights",
      description: "set to zero",
    }),
  },
  order: {
    effect: "prunes",
    follows: ["trains"],
    precedes: ["rounds"],
    reason: "it counts floats",
  },
  accepts: () => ({ ok: true }),
  leaves: (_params, facts) => leavesBits(["linear"], 15, facts, { effect: "prunes", form: null }),
});

const AGENT = "shrinking";

/** As loaded: by file name. */
export const methods: readonly AgentMethod[] = [gpuOnly, octet, round, solve, tune]
  .map((one) => ({ agent: AGENT, method: one }));

export const agents: readonly Agent[] = [
  defineAgent({
    name: AGENT,
    summary: "makes weights smaller",
    preferred: { large: ["solve", "tune"], small: ["octet", "tune"] },
  }),
  defineAgent({
    name: "measuring",
    summary: "measures",
    benchmark_sets: [
      { datasets: ["gsm8k"], dataset_class: "math", tasks: ["sums"] },
      {
        datasets: ["general", "default"],
        dataset_class: "general",
        tasks: ["sums", "knowledge", "truth", "programs", "puzzles"],
      },
      { datasets: ["code"], dataset_class: "code", tasks: ["programs"] },
      { datasets: ["reasoning"], dataset_class: "reasoning", tasks: ["puzzles"] },
      { datasets: ["words"], dataset_class: "language", tasks: ["words"] },
    ],
  }),
];

const task = (name: string, more: Partial<Task>): Task =>
  defineTask({
    name,
    version: "1",
    summary: name,
    scorers: [{ scorer: "scoring" }],
    lm_eval_task: name,
    definition: null,
    data_file: null,
    shipped: false,
    few_shot: 0,
    metric: "acc,none",
    reported_metric: "accuracy",
    chance: 0,
    proxy_samples: 100,
    full_samples: 1000,
    window_tokens: null,
    datasets: [name],
    ...more,
  });

const perplexity = {
  scorers: [{ scorer: "losing" }],
  reported_metric: "perplexity",
  window_tokens: 256,
} as const;

const nothing = { row: {}, right: {}, wrong: {} };

/** What scores the tasks below: by whatever they report, and windows of text. */
export const scorers: readonly Scorer[] = [
  defineScorer({
    name: "scoring",
    version: "1",
    summary: "Scores whatever is answered",
    reads: ["choices", "text"],
    metrics: (_, reported) => [scorerMetric(reported)],
    params: z.strictObject({}),
    example: nothing,
  }),
  defineScorer({
    name: "losing",
    version: "1",
    summary: "Counts what a window loses",
    reads: ["windows"],
    metrics: [scorerMetric("perplexity")],
    params: z.strictObject({}),
    example: nothing,
  }),
];

export const tasks: readonly Task[] = [
  task("custom_prompt_answer", { datasets: ["custom_prompt_answer"], full_samples: null }),
  task("custom_text", { datasets: ["custom_text"], ...perplexity, full_samples: null }),
  task("sums", { datasets: ["gsm8k"] }),
  task("pages", { datasets: ["wikitext2", "wikitext"], ...perplexity, full_samples: null }),
  task("words", { full_samples: 200 }),
  task("words_text", { datasets: ["words"], ...perplexity, full_samples: 40, proxy_samples: 20 }),
];

const runtime = (name: string, preference: number, supports: Runtime["supports"]): Runtime =>
  defineRuntime({
    name,
    summary: name,
    needs: { environment: "default", gpu: false },
    form: null,
    formats: "everything",
    holds: () => ({ ok: true }),
    preference,
    supports,
  });

export const runtimes: readonly Runtime[] = [
  runtime("plain", 1, () => ({ ok: true })),
  runtime(
    "swift",
    10,
    (facts) => facts.device.device === "cpu" ? { ok: true } : { ok: false, reason: "runs on CPUs" },
  ),
  runtime(
    "served",
    20,
    (facts) => facts.device.device === "cuda" ? { ok: true } : { ok: false, reason: "needs a GPU" },
  ),
];

export const plugins: SpecPlugins = { agents, methods, tasks, runtimes };
