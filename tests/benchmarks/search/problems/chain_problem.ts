import type { Space, SpacePoint } from "../../../../core/mod.ts";
import { byLog, choice, order, real, whole } from "./dimensions.ts";

const rounded = { name: "round", is: ["nearest", "solver", "scaled", "learned"] };
const calibrated = { name: "round", is: ["solver", "scaled", "learned"] };
const recovered = { name: "recover", is: ["adapter", "whole"] };

/** A chain of 13 knobs: cut, round, round the embedding, recover. */
export const CHAIN_SPACE: Space = {
  dimensions: [
    choice("cut", ["none", "width", "depth", "zeros"]),
    real("ratio", [0.05, 0.55], { name: "cut", is: ["width", "zeros"] }),
    choice("by", ["size", "slope"], { name: "cut", is: ["width"] }),
    whole("blocks", [1, 10], { name: "cut", is: ["depth"] }),
    choice("round", ["none", "nearest", "solver", "scaled", "learned"]),
    order("bits", [2, 3, 4, 8], rounded),
    order("group", [16, 32, 64, 128], rounded),
    byLog(whole("calib", [4, 256], calibrated)),
    order("embed", [16, 8, 4]),
    choice("recover", ["none", "adapter", "whole"]),
    byLog(real("rate", [1e-6, 1e-2], recovered)),
    byLog(whole("steps", [10, 500], recovered)),
    byLog(whole("rank", [2, 64], { name: "recover", is: ["adapter"] })),
  ],
};

const ROUNDING = { nearest: 1.5, solver: 1, scaled: 1.05, learned: 0.8 };
const EMBEDDING: Readonly<Record<number, number>> = { 16: 0, 8: 0.01, 4: 0.18 };
const BLOCKS = 24;

interface Effect {
  readonly damage: number;
  /** What is left of the weights, and of the work that no narrower weights save. */
  readonly weights: number;
  readonly work: number;
}

function cutEffect({ cut, ratio, by, blocks }: SpacePoint): Effect {
  const share = Number(ratio);
  if (cut === "width") {
    const worse = by === "size" ? 1.5 : 1;
    return { damage: 6 * share ** 1.8 * worse, weights: 1 - share, work: 1 - 0.8 * share };
  }
  if (cut === "depth") {
    const left = 1 - Number(blocks) / BLOCKS;
    return { damage: 0.11 * Number(blocks) ** 1.35, weights: left, work: left };
  }
  return { damage: cut === "zeros" ? 3 * share ** 3 : 0, weights: 1, work: 1 };
}

function roundingDamage({ round, bits, group, calib }: SpacePoint): number {
  if (round === "none") return 0;
  const few = calib === undefined ? 1.2 : 1 + 0.5 / Math.sqrt(Number(calib) / 16);
  return ROUNDING[round as keyof typeof ROUNDING] * few * 2.2 * 2 ** (-1.25 * (Number(bits) - 2)) *
    (Number(group) / 64) ** 0.25;
}

/** What is left of a damage after training: a rate far off makes it worse. */
function recoveredDamage({ recover, rate, steps, rank }: SpacePoint, damage: number): number {
  if (recover === "none") return damage;
  const best = recover === "adapter" ? 2e-4 : 4e-5;
  const near = Math.exp(-((Math.log10(Number(rate) / best) / 0.6) ** 2));
  const most = recover === "adapter" ? 0.55 * (1 - Math.exp(-Number(rank) / 12)) : 0.7;
  const power = most * (1 - Math.exp(-Number(steps) / 150));
  return damage * (1 - power * near) + 0.015 + (near < 0.05 ? 0.4 : 0);
}

function isForbidden({ round, bits, cut, blocks, recover }: SpacePoint): boolean {
  return (round === "scaled" && bits === 2) ||
    (cut === "depth" && Number(blocks) > 5 && recover === "none") ||
    (recover === "adapter" && round === "none" && cut === "none");
}

/** Share of answers lost, milliseconds, gigabytes: accuracy falls behind a knee, latency has a floor. */
export function chainObjectives(point: SpacePoint): number[] | null {
  if (isForbidden(point)) return null;
  const plain = point["round"] === "none";
  const [bits, group] = plain ? [16, 64] : [Number(point["bits"]), Number(point["group"])];
  const stored = bits + (plain ? 0 : 16 / group);
  const { damage, weights, work } = cutEffect(point);
  const embedding = Number(point["embed"]);
  const lost = recoveredDamage(
    point,
    roundingDamage(point) + EMBEDDING[embedding]! + damage,
  );
  const knee = (at: number) => 1 / (1 + Math.exp(-(1.6 - at) / 0.35));
  const floor = 4.5 * work + (bits < 4 ? 1.2 : 0) + (group <= 32 && !plain ? 0.5 : 0);
  return [
    1 - (0.25 + 0.42 * knee(lost) / knee(0)),
    1.2 + Math.max(floor, 14 * (stored / 16) * weights + 1.5 * embedding / 16),
    2.2 * stored / 16 * weights + 0.5 * embedding / 16,
  ];
}
