import type { Dimension, PointValue, SpacePoint } from "../../../../core/mod.ts";
import type { Problem } from "./problem.ts";

const choice = (
  name: string,
  choices: readonly PointValue[],
  when?: Dimension["when"],
): Dimension => ({ name, kind: "choice", choices, ...(when === undefined ? {} : { when }) });

const range = (
  kind: "integer" | "real",
  name: string,
  minimum: number,
  maximum: number,
  log: boolean,
  when: NonNullable<Dimension["when"]>,
): Dimension => ({ name, kind, minimum, maximum, log, when });

const quantized = { name: "quant", is: ["rtn", "gptq", "awq", "autoround"] };
const calibrated = { name: "quant", is: ["gptq", "awq", "autoround"] };
const cut = { name: "prune", is: ["unstructured", "structured"] };
const tuned = { name: "ft", is: [true] };

const GROUP_ERROR: Readonly<Record<number, number>> = { [-1]: 1.5, 128: 1, 64: 0.9, 32: 0.85 };
const METHOD_ERROR = { rtn: 1.6, gptq: 1, awq: 0.95, autoround: 0.8 };
const BITS_ERROR: Readonly<Record<number, number>> = { 8: 0.002, 4: 0.02, 3: 0.07, 2: 0.35 };
const BITS_SLOWER: Readonly<Record<number, number>> = { 8: 0.3, 4: 0.4, 3: 1.2, 2: 1.2 };
const CACHE_ERROR: Readonly<Record<number, number>> = { 16: 0, 8: 0.002, 4: 0.015 };

/** Bits a weight, error and slowness of the rounding. */
function rounded(point: SpacePoint): { bits: number; error: number; slower: number } {
  const method = point["quant"] as keyof typeof METHOD_ERROR | "none";
  if (method === "none") return { bits: 16, error: 0, slower: 0 };
  const [bits, group] = [Number(point["bits"]), Number(point["group"])];
  const symmetric = point["sym"] === true;
  const length = group === -1 ? 4096 : group;
  let error = BITS_ERROR[bits]! * METHOD_ERROR[method] * GROUP_ERROR[group]! *
    (symmetric ? 1.1 : 1);
  if (method !== "rtn") error *= 1 + 0.6 * Math.exp(-Number(point["calib"]) / 64);
  return {
    bits: bits + (symmetric ? 16 : 20) / length,
    error,
    slower: BITS_SLOWER[bits]! + (group === 32 ? 0.3 : 0),
  };
}

/** Error, memory and latency of a made-up compression; null where methods do not go together. */
export function mixedObjectives(point: SpacePoint): number[] | null {
  const prune = point["prune"] as "none" | "unstructured" | "2:4" | "structured";
  if (point["quant"] === "awq" && point["bits"] !== 4) return null;
  if (point["quant"] !== "none" && prune === "2:4" && point["bits"] === 2) return null;
  const { bits, error, slower } = rounded(point);
  const sparsity = Number(point["sparsity"] ?? 0);
  const keep = { none: 1, unstructured: 1, "2:4": 0.5625, structured: 1 - sparsity }[prune];
  const pruned = {
    none: 0,
    unstructured: 0.25 * sparsity ** 2.5,
    "2:4": 0.05,
    structured: 0.6 * sparsity ** 1.5,
  }[prune];
  let total = Math.min(1, 1 - (1 - error) * (1 - pruned) + 0.5 * Math.sqrt(error * pruned));
  if (point["ft"] === true) {
    const away = (Math.log10(Number(point["lr"])) + 4) / 0.5;
    const won = 0.5 * (1 - Math.exp(-Number(point["rank"]) / 16)) * Math.exp(-(away ** 2));
    total = total * (1 - won) + 0.003;
  }
  const cache = Number(point["kv"]);
  const weights = 8.03 * bits / 8 * keep;
  return [
    Math.min(1, total + CACHE_ERROR[cache]!),
    weights + 1.6 + 2 * cache / 16,
    1 + 0.6 * weights * (prune === "2:4" ? 0.8 : 1) + slower + 0.1 * cache / 16,
  ];
}

/**
 * A space of kinds and conditions like that of compression recipes. Its numbers say nothing about real
 * models. The greatest hypervolume is that of a fine grid.
 */
export const MIXED: Problem = {
  name: "mixed",
  space: {
    dimensions: [
      choice("quant", ["none", "rtn", "gptq", "awq", "autoround"]),
      choice("bits", [2, 3, 4, 8], quantized),
      choice("group", [32, 64, 128, -1], quantized),
      choice("sym", [false, true], quantized),
      range("integer", "calib", 16, 512, true, calibrated),
      choice("prune", ["none", "unstructured", "2:4", "structured"]),
      range("real", "sparsity", 0.1, 0.6, false, cut),
      choice("ft", [false, true]),
      range("integer", "rank", 4, 64, true, tuned),
      range("real", "lr", 1e-5, 1e-3, true, tuned),
      choice("kv", [16, 8, 4]),
    ],
  },
  reference: [1, 21, 12],
  maximum: 168.348,
  tuned: true,
  evaluate: mixedObjectives,
};
