import type { Space, SpacePoint } from "../../../../core/mod.ts";
import { byLog, choice, order, real, whole } from "./dimensions.ts";

const factored = { name: "form", is: ["factors"] };
const bookish = { name: "form", is: ["codebook"] };
const policy = (...is: string[]) => ({ name: "cache", is });

/** Four ways to keep weights and three to keep a cache, each with knobs of its own, two of them under others. */
export const FACTORS_SPACE: Space = {
  dimensions: [
    choice("form", ["floats", "grid", "codebook", "factors"]),
    order("bits", [2, 3, 4, 6, 8], { name: "form", is: ["grid"] }),
    order("group", [32, 64, 128, 256], { name: "form", is: ["grid"] }),
    order("length", [2, 4, 8], bookish),
    whole("index", [6, 14], bookish),
    real("rank", [0.05, 0.6], factored),
    choice("rest", ["dropped", "rounded"], factored),
    order("rest_bits", [2, 3, 4], { name: "rest", is: ["rounded"] }),
    choice("cache", ["whole", "window", "evicted"]),
    byLog(whole("window", [128, 4096], policy("window"))),
    real("budget", [0.1, 1], policy("evicted")),
    whole("recent", [4, 128], policy("evicted")),
    choice("adapter", [false, true]),
    byLog(whole("adapter_rank", [2, 64], { name: "adapter", is: [true] })),
    byLog(real("rate", [1e-6, 1e-2], { name: "adapter", is: [true] })),
  ],
};

/** Bits a weight, relative error and slowness of the form. */
function formOf(point: SpacePoint): { bits: number; error: number; slower: number } | null {
  const number = (name: string) => Number(point[name]);
  if (point["form"] === "grid") {
    const bits = number("bits") + 20 / number("group");
    const error = 3 * 4 ** -number("bits") * (number("group") / 32) ** 0.3;
    return { bits, error, slower: number("bits") === 3 || number("bits") === 6 ? 0.6 : 0.1 };
  }
  if (point["form"] === "codebook") {
    const [length, index] = [number("length"), number("index")];
    if (length * 2 ** index > 65_536) return null; // the table does not fit where it is read
    const bits = index / length + length * 2 ** index * 16 / 4e6;
    return { bits, error: 1.6 * 4 ** -(index / length), slower: 0.5 + index / 12 };
  }
  if (point["form"] === "factors") {
    const rank = number("rank");
    const kept = 0.55 * Math.exp(-4.5 * rank);
    if (point["rest"] === "dropped") return { bits: 16 * rank * 2, error: kept, slower: 0.3 };
    const bits = 16 * rank + number("rest_bits");
    return { bits, error: 3 * kept * 4 ** -number("rest_bits"), slower: 0.7 };
  }
  return { bits: 16, error: 0, slower: 0 };
}

/** Error and share of the cache that is kept. */
function cacheOf(point: SpacePoint): { error: number; kept: number } {
  if (point["cache"] === "window") {
    const kept = Number(point["window"]) / 4096;
    return { error: 0.5 * (1 - kept) ** 3, kept };
  }
  if (point["cache"] === "evicted") {
    const kept = Number(point["budget"]);
    const forgetful = 1 + 1.5 * Math.exp(-Number(point["recent"]) / 24);
    return { error: 0.06 * forgetful * (1 - kept) ** 2 / kept ** 0.5, kept };
  }
  return { error: 0, kept: 1 };
}

/** Perplexity's logarithm beyond the original's, gigabytes of weights and cache, milliseconds. */
export function factorsObjectives(point: SpacePoint): number[] | null {
  const form = formOf(point);
  if (form === null) return null;
  const cache = cacheOf(point);
  let error = form.error + 0.4 * Math.sqrt(form.error * cache.error);
  if (point["adapter"] === true) {
    if (form.error === 0) return null;
    const off = Math.log10(Number(point["rate"]) / 3e-4) / 0.7;
    const won = 0.65 * (1 - Math.exp(-Number(point["adapter_rank"]) / 10)) * Math.exp(-(off ** 2));
    error = error * (1 - won) + 0.004 + (off > 1.8 ? 0.8 : 0);
  }
  const extra = point["adapter"] === true ? 0.004 * Number(point["adapter_rank"]) : 0;
  const weights = 7 * form.bits / 8 + extra;
  return [
    4 * (error + cache.error) / (1 + error + cache.error),
    weights + 3 * cache.kept,
    2 + 0.7 * weights + form.slower + 1.2 * cache.kept + extra,
  ];
}
