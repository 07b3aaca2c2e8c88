/** Recipes of 75 to 150 MB on the demo's model: pare's, and what the quantizers give that people take instead. */
import type { ActionInput } from "../../../core/mod.ts";

/** Whose recipe it is. What pare runs by a library's own call is the library's. */
export const MAKERS = ["pare", "llama.cpp", "AutoRound", "GPTQ", "HQQ"] as const;
export type Maker = (typeof MAKERS)[number];

type Params = Readonly<Record<string, number | string | boolean>>;
type Action = ActionInput & { readonly params: Params };

export interface SizeCell {
  readonly name: string;
  readonly maker: Maker;
  /** What measure_quantized.py is asked beside texts and model. */
  readonly asked:
    | { readonly actions: readonly Action[] }
    | { readonly bare: { readonly method: string; readonly params: Params } };
}

const act = (method: string, params: Params): Action => ({ agent: "quantization", method, params });

/** Embedding and head, which are one here: 28 of its 135 million weights. */
const EMBEDDING = act("rtn", { bits: 8, group_size: 32, targets: "embedding" });

interface Grid {
  readonly bits: number;
  readonly group: 32 | 64;
  readonly symmetric: boolean;
}

const gridName = ({ bits, group, symmetric }: Grid) =>
  `${bits}-bit g${group}${symmetric ? "" : " asymmetric"}`;

function rounded(method: string, grid: Grid): SizeCell {
  const params = { bits: grid.bits, group_size: grid.group, symmetric: grid.symmetric };
  const actions = [act(method, params), EMBEDDING];
  return { name: `${method} ${gridName(grid)}`, maker: "pare", asked: { actions } };
}

/** By the library's own call, with the embedding rounded as pare's is: libraries leave it in floats. */
function alone(maker: Maker, method: string, grid: Grid, more: Params): SizeCell {
  const params = { bits: grid.bits, group_size: grid.group, symmetric: grid.symmetric, ...more };
  return {
    name: `${maker}: ${gridName(grid)}`,
    maker,
    asked: { bare: { method, params: { ...params, embedding_group: 32 } } },
  };
}

const sized = (bits: number, group: 32 | 64, symmetric: boolean): Grid => ({
  bits,
  group,
  symmetric,
});

/** auto-round's and llm-compressor's settings, as `bench:quantization` has them. */
const TUNED: Params = { iters: 8, samples: 8, lr: 0.005, seqlen: 256 };
const SECOND: Params = { samples: 16, dampening: 0.01, actorder: "static", clip: true };

/** llama-quantize's own: no importance matrix, which most who call it do not make. */
const blocks = (name: string, params: Params, maker: Maker = "pare"): SizeCell => ({
  name,
  maker,
  asked: { actions: [act("kquant", params)] },
});

/** Fisher-scored widths under a mean, rounded by GPTQ. */
function mixed(average_bits: number, layer_bits: string): SizeCell {
  const params = { average_bits, layer_bits, group_size: 32, symmetric: false, rounded_by: "gptq" };
  const actions = [act("mixed", { ...params, samples: 16 }), EMBEDDING];
  return { name: `mixed ${average_bits} bits g32 asymmetric`, maker: "pare", asked: { actions } };
}

const CORRECTED: SizeCell = {
  name: "gptq 4-bit g32 asymmetric + eora",
  maker: "pare",
  asked: {
    actions: [
      act("gptq", { bits: 4, group_size: 32, symmetric: false }),
      act("eora", {}),
      EMBEDDING,
    ],
  },
};

const mixes = (names: readonly string[]) =>
  names.flatMap((mix): SizeCell[] => [
    blocks(`kquant ${mix}`, { block_mix: mix }),
    blocks(`llama.cpp: ${mix}`, { block_mix: mix, importance: false }, "llama.cpp"),
  ]);

const byFisher = (names: readonly string[]) =>
  names.map((mix) => blocks(`kquant ${mix} by fisher`, { block_mix: mix, kinds_by: "fisher" }));

/** The quantizer's scales, the integers by GPTQ's columns. */
const byGptq = (names: readonly string[], more: Params = {}) =>
  names.map((mix) => {
    const kinds = more["kinds_by"] === "fisher" ? "by fisher and gptq" : "by gptq";
    const params = { block_mix: mix, rounded_by: "gptq", ...more };
    return blocks(`kquant ${mix} ${kinds}`, params);
  });

/** With a smaller embedding than the mix's, by the columns too, and more for the layers. */
function withEmbedding(kind: string, mix: string, more: Params): SizeCell {
  const share = more["eight_bit_share"];
  const eight = share === undefined ? "" : ` + ${100 * Number(share)} % Q8_0`;
  const by = more["kinds_by"] === "fisher" ? "by fisher and gptq" : "by gptq";
  return blocks(`kquant ${mix}${eight} ${by}, embedding ${kind}`, {
    ...{ block_mix: mix, rounded_by: "gptq", embedding_blocks: kind, ...more },
  });
}

const hqq = (bits: number, group: number): SizeCell => ({
  name: `HQQ: ${bits}-bit g${group}`,
  maker: "HQQ",
  asked: { actions: [act("hqq", { bits, group_size: group }), EMBEDDING] },
});

const FINE = sized(4, 32, false);
const COARSE = sized(4, 64, false);
const EIGHT = sized(8, 32, true);

/** The most telling first: what a run of half an hour leaves out tells least. */
export const CELLS: readonly SizeCell[] = [
  rounded("gptq", FINE),
  ...mixes(["IQ4_XS", "Q4_K_M", "Q6_K", "Q4_0"]),
  ...byFisher(["Q4_K_M", "IQ4_XS"]),
  rounded("awq", FINE),
  hqq(4, 32),
  alone("AutoRound", "autoround", FINE, TUNED),
  alone("GPTQ", "gptq", FINE, SECOND),
  ...mixes(["Q5_K_M", "Q8_0"]),
  rounded("gptq", EIGHT),
  ...byFisher(["Q6_K", "Q5_K_M", "Q4_K_S"]),
  hqq(8, 32),
  mixed(5.5, "3-4-8"),
  CORRECTED,
  ...mixes(["Q4_K_S", "Q3_K_M"]),
  ...byGptq(["IQ4_XS", "IQ4_NL"]),
  withEmbedding("IQ4_NL", "IQ4_NL", { eight_bit_share: 0.1 }),
  withEmbedding("IQ4_NL", "Q4_K_S", { kinds_by: "fisher" }),
  withEmbedding("Q5_0", "Q4_K_M", { kinds_by: "fisher" }),
  withEmbedding("Q5_0", "Q5_K_M", { kinds_by: "fisher" }),
  withEmbedding("IQ4_NL", "IQ4_NL", {}),
  ...byGptq(["IQ4_XS", "Q4_K_S", "Q4_K_M"], { kinds_by: "fisher" }),
  ...byGptq(["Q4_K_M", "Q3_K_M", "Q4_0"]),
  ...byGptq(["Q3_K_M", "Q5_K_M", "Q6_K"], { kinds_by: "fisher" }),
  rounded("autoround", FINE),
  rounded("gptq", COARSE),
  rounded("awq", COARSE),
  ...[sized(4, 32, true), COARSE, EIGHT].flatMap((grid) => [
    alone("AutoRound", "autoround", grid, TUNED),
    alone("GPTQ", "gptq", grid, SECOND),
  ]),
  hqq(4, 64),
  mixed(6.5, "4-8"),
  rounded("gptq", sized(3, 32, false)),
  ...mixes(["Q3_K_L", "Q5_0", "Q5_K_S"]),
];

const TRIED = [
  "gptq 8-bit g32",
  "kquant Q4_0",
  "llama.cpp: Q4_0",
  "GPTQ: 8-bit g32",
  "HQQ: 8-bit g32",
];

/** The tiny model has eight windows to calibrate on. */
const fewer = (action: Action): Action =>
  ["gptq", "kquant"].includes(action.method)
    ? { ...action, params: { ...action.params, samples: 4 } }
    : action;

/** Some of each kind on the tiny model: the benchmark tried. */
export const QUICK: readonly SizeCell[] = CELLS.filter(({ name }) => TRIED.includes(name)).map((
  cell,
) => {
  const { asked } = cell;
  if ("actions" in asked) return { ...cell, asked: { actions: asked.actions.map(fewer) } };
  const params = { ...asked.bare.params, samples: 4 };
  return { ...cell, asked: { bare: { ...asked.bare, params } } };
});
