import type { Space, SpacePoint } from "../../../../core/mod.ts";
import { byLog, choice, order, real, whole } from "./dimensions.ts";

const BITS = [2, 3, 4, 5, 6, 8];

/** Bits and sparsity for each third of the depth. */
export const THIRDS_SPACE: Space = {
  dimensions: [
    ...[0, 1, 2].map((third) => order(`b${third}`, BITS)),
    ...[0, 1, 2].map((third) => real(`s${third}`, [0, 0.7])),
    choice("fit", ["plain", "solved"]),
    choice("pack", ["dense", "sparse"]),
    order("kv", [16, 8, 4]),
    whole("skip", [0, 9]),
    choice("heal", [false, true]),
    byLog(real("rate", [1e-6, 1e-2], { name: "heal", is: [true] })),
  ],
};

const BLOCKS = 28;

const thirdsOf = (point: SpacePoint, name: string) =>
  [0, 1, 2].map((third) => Number(point[`${name}${third}`]));

/** What is left of a damage by training, at a rate that may be far off. */
function healed({ heal, rate }: SpacePoint, damage: number, most: number): number {
  if (heal !== true) return damage;
  const near = Math.exp(-((Math.log10(Number(rate) / 1e-4) / 0.5) ** 2));
  return damage * (1 - most * near) + 0.004;
}

function milliseconds({ skip, kv, pack }: SpacePoint, bytes: number): number {
  const left = 1 - Number(skip) / BLOCKS;
  return Math.max(3.2 * left, 13 * bytes * left) + 0.9 * Number(kv) / 16 +
    (pack === "sparse" ? 0.6 : 0) + 0.8;
}

/**
 * KL and milliseconds; three points in five cannot be: what is packed as sparse is sparse everywhere, and
 * the middle is never wider than the beginning.
 */
export function thirdsObjectives(point: SpacePoint): number[] | null {
  const [bits, zeros] = [thirdsOf(point, "b"), thirdsOf(point, "s")];
  const sparse = point["pack"] === "sparse";
  if ((sparse && Math.min(...zeros) < 0.2) || bits[1]! > bits[0]!) return null;
  const [harm, weight] = [[2.4, 0.7, 1.5], [0.33, 0.34, 0.33]];
  let [damage, bytes] = [0, 0];
  for (let third = 0; third < 3; third++) {
    const rounding = 4 ** -(bits[third]! - 1.5);
    const zero = zeros[third]!;
    damage += harm[third]! * (rounding * 1.1 * (point["fit"] === "plain" ? 1.4 : 1) +
      1.8 * zero ** 2.6 + 0.6 * Math.sqrt(rounding) * zero ** 2);
    bytes += weight[third]! * (bits[third]! / 16) * (sparse ? 1 - zero + 1 / bits[third]! : 1);
  }
  const skip = Number(point["skip"]);
  damage += ({ 16: 0, 8: 0.003, 4: 0.06 } as Record<number, number>)[Number(point["kv"])]! +
    0.012 * skip ** 2 * (skip > 4 ? 2.2 : 1);
  damage = healed(point, damage, 0.45);
  // It grows slowly first, then faster.
  const kl = 2.5 * damage ** 2 / (0.15 + damage) + 0.05 * damage;
  return [Math.min(3, kl), milliseconds(point, bytes)];
}

/** Share of answers lost, which falls off a knee, and milliseconds: all of it can be. */
export function kneeObjectives(point: SpacePoint): number[] {
  const [bits, zeros] = [thirdsOf(point, "b"), thirdsOf(point, "s")];
  const [harm, weight] = [[1.3, 0.5, 0.9], [0.3, 0.4, 0.3]];
  let [damage, bytes] = [0, 0];
  for (let third = 0; third < 3; third++) {
    const zero = zeros[third]!;
    damage += harm[third]! *
      (2 ** (-1.7 * (bits[third]! - 2)) * 0.45 * (point["fit"] === "plain" ? 1.3 : 1) +
        0.9 * zero ** 2.4);
    const kept = point["pack"] === "dense" ? 1 : Math.min(1, (1 - zero) * 1.15 + 0.06);
    bytes += weight[third]! * (bits[third]! / 16) * kept;
  }
  const skip = Number(point["skip"]);
  damage += ({ 16: 0, 8: 0.003, 4: 0.05 } as Record<number, number>)[Number(point["kv"])]! +
    0.008 * skip ** 2;
  damage = healed(point, damage, 0.5);
  const accuracy = 0.62 - 0.37 * (1 - 1 / (1 + (damage / 0.28) ** 2.2));
  return [1 - accuracy, milliseconds(point, bytes)];
}
