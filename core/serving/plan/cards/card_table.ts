/** A card as its driver and its data sheet tell it. */
export interface Card {
  readonly name: string;
  /** Other ways to write it, in capitals without spaces or dashes. */
  readonly aliases: readonly string[];
  /** Bytes that the driver gives a program as the card's total. */
  readonly memory_bytes: number;
  /** Where the bytes come from: a log, or the data sheet. */
  readonly memory_source: string;
  /** Bytes a second of its memory. */
  readonly bandwidth: number;
  /** Dense arithmetic in 10¹² operations a second, by the type of the factors; absent: not in hardware. */
  readonly tflops: { readonly bf16: number; readonly fp8?: number; readonly fp4?: number };
  /** CUDA's compute capability; null: another maker's. */
  readonly capability: number | null;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const TB = 1e12;
const SMI = "nvidia-smi";
/** By driver the same card differs by some tenths of a percent. */
const LOG = "vLLM's logs (± 0.5 %)";
/** No log or sheet of these was looked up. */
const UNSEEN = "recollection, not a log (± 1 %)";
const SHEET = "the maker's data sheet";

function card(
  name: string,
  aliases: string,
  [memory_bytes, memory_source]: readonly [number, string],
  bandwidth: number,
  [bf16, fp8, fp4]: readonly [number, number?, number?],
  capability: number | null,
): Card {
  const tflops = {
    bf16,
    ...(fp8 === undefined ? {} : { fp8 }),
    ...(fp4 === undefined ? {} : { fp4 }),
  };
  const own = aliases === "" ? [] : aliases.split(" ");
  return { name, aliases: own, memory_bytes, memory_source, bandwidth, tflops, capability };
}

/** Cards by name. Arithmetic is dense, never the doubled figure for sparse matrices. */
export const CARDS: readonly Card[] = [
  card("V100-16", "V100", [16_160 * MIB, SMI], .9 * TB, [125], 7.0),
  card("V100-32", "", [32_510 * MIB, SMI], .9 * TB, [125], 7.0),
  card("T4", "T4-16", [14.56 * GIB, UNSEEN], .32 * TB, [65], 7.5),
  card("A10", "A10-24 A10G A10G-24", [22.06 * GIB, LOG], .6 * TB, [125], 8.6),
  card("A30", "A30-24", [24_125 * MIB, SMI], .933 * TB, [165], 8.0),
  card("A40", "A40-48", [44.43 * GIB, UNSEEN], .696 * TB, [149.7], 8.6),
  card("A100-40", "", [39.39 * GIB, UNSEEN], 1.555 * TB, [312], 8.0),
  card("A100-80", "A100", [79.15 * GIB, UNSEEN], 2.039 * TB, [312], 8.0),
  card("A6000", "A6000-48 RTXA6000", [47.41 * GIB, UNSEEN], .768 * TB, [154.8], 8.6),
  card("RTX3090", "3090 RTX3090-24 3090-24", [23.58 * GIB, LOG], .936 * TB, [71], 8.6),
  card(
    "RTX4090",
    "4090 RTX4090-24 4090-24",
    [23.55 * GIB, UNSEEN],
    1.008 * TB,
    [165.2, 330.3],
    8.9,
  ),
  card(
    "RTX5090",
    "5090 RTX5090-32 5090-32",
    [31.37 * GIB, UNSEEN],
    1.792 * TB,
    [209.5, 419, 838],
    12.0,
  ),
  card("RTXPRO6000", "PRO6000 RTXPRO6000-96", [97_887 * MIB, SMI], 1.792 * TB, [
    467.8,
    935.6,
    1871.2,
  ], 12.0),
  card("L4", "L4-24", [22.03 * GIB, UNSEEN], .3 * TB, [121, 242], 8.9),
  card("L40", "L40-48", [44.39 * GIB, UNSEEN], .864 * TB, [181, 362], 8.9),
  card("L40S", "L40S-48", [44.39 * GIB, UNSEEN], .864 * TB, [362, 733], 8.9),
  card("H20-96", "H20", [95.0 * GIB, UNSEEN], 4 * TB, [148, 296], 9.0),
  card("H100-80", "H100 H100SXM H100SXM-80", [79.19 * GIB, UNSEEN], 3.35 * TB, [989, 1978], 9.0),
  card("H100PCIE-80", "H100PCIE", [79.19 * GIB, UNSEEN], 2 * TB, [756.5, 1513], 9.0),
  card("H100NVL-94", "H100NVL", [93.11 * GIB, UNSEEN], 3.9 * TB, [835, 1671], 9.0),
  card("H200-141", "H200", [150_109_880_320, "torch on one H200"], 4.8 * TB, [989, 1978], 9.0),
  card("GH200-96", "GH200", [94.5 * GIB, UNSEEN], 4 * TB, [989, 1978], 9.0),
  card("GH200-144", "", [143 * GIB, SHEET], 4.9 * TB, [989, 1978], 9.0),
  card("B200-192", "B200 B200-180", [178.36 * GIB, "vLLM's pull request 21489"], 7.7 * TB, [
    2250,
    4500,
    9000,
  ], 10.0),
  card("GB200-192", "GB200", [189_471 * MIB, SMI], 8 * TB, [2500, 5000, 10_000], 10.0),
  card("B300-288", "B300", [275_040 * MIB, SMI], 7.75 * TB, [2250, 4500, 14_000], 10.3),
  card("GB300-288", "GB300", [284_208 * MIB, SMI], 8 * TB, [2500, 5000, 15_000], 10.3),
  card("GB10-128", "GB10 DGXSPARK SPARK", [121.69 * GIB, LOG], .273 * TB, [62.5, 125, 500], 12.1),
  card("MI300X-192", "MI300X", [191.98 * GIB, UNSEEN], 5.3 * TB, [1307, 2615], null),
  card("MI325X-256", "MI325X", [255.98 * GIB, SHEET], 6 * TB, [1307, 2615], null),
  card("MI355X-288", "MI355X", [287.98 * GIB, SHEET], 8 * TB, [2516, 5033, 10_066], null),
];

/** Cards that do not exist as they are called, with what is right. */
export const NO_SUCH_CARD: Readonly<
  Record<string, { readonly why: string; readonly means: string }>
> = {
  "GH200-480": {
    why: "a GH200's 480 GB are memory of its CPU: its card has 96 GB, or 144 GB as GH200-144",
    means: "GH200-96",
  },
  "GH200-576": {
    why: "576 GB are a GH200's card and CPU together: its card has 96 GB",
    means: "GH200-96",
  },
  "GH200-624": {
    why: "624 GB are a GH200's card and CPU together: its card has 144 GB",
    means: "GH200-144",
  },
};
