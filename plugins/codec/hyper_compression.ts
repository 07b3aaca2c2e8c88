import { choice, defineMethod, type Facts, type Finding, flag, real } from "../../core/mod.ts";
import { latticeBytes, type LatticeForm, pairBits } from "../forms/lattice.ts";
import {
  codecHint,
  type CodedPart,
  encodesOnce,
  hasMatrices,
  leavesEncoded,
  NOT_A_CODECS,
  PROCESS_BYTES,
  shapesOf,
} from "./_codec.ts";

const POINTS = [100, 400, 1600, 6400] as const;
const CLASSES = [1, 2, 3] as const;
/** Weights a second on one core, the fit of the square with them: 3.2 million, halved. */
const WEIGHTS_A_SECOND = 1.6e6;
const START_SECONDS = 3;
/** A matrix in double precision, its pairs' numbers, and what is decoded of it. */
const COPIES_BYTES = 40;

type Targets = "linear" | "embedding" | "all";

interface LatticeParams {
  readonly lattice_points: (typeof POINTS)[number];
  readonly outer_classes: (typeof CLASSES)[number];
  readonly entropy_coded: boolean;
  readonly raw_above: number;
  readonly targets: Targets;
}

const partsOf = (targets: Targets): CodedPart[] =>
  targets === "all" ? ["linear", "embedding"] : [targets];

const latticeForm = (params: LatticeParams): LatticeForm => ({
  form: "lattice",
  lattice_points: params.lattice_points,
  outer_classes: params.outer_classes,
  entropy_coded: params.entropy_coded,
});

function weightsOf(targets: Targets, facts: Facts): number {
  return partsOf(targets).flatMap((part) => shapesOf(part, facts)).reduce(
    (sum, { out_features, in_features, count }) => sum + out_features * in_features * count,
    0,
  );
}

/** Four times as many points where quality was lost, a quarter where it was kept. */
function nextParams<P extends LatticeParams>(params: P, finding: Finding): P | null {
  const lattice_points = finding === "lost"
    ? POINTS.find((count) => count > params.lattice_points)
    : POINTS.findLast((count) => count < params.lattice_points);
  return lattice_points === undefined ? null : { ...params, lattice_points };
}

/** Hyper-Compression by its published code (arXiv 2409.00592), data-free. */
export default defineMethod({
  name: "hyper_compression",
  summary: "Stores each pair of weights as the number of the nearest point in a plane",
  knobs_named_for: NOT_A_CODECS,
  knobs: {
    lattice_points: choice(POINTS, {
      default: 1600,
      aliases: ["U"],
      unit: "points of the lattice",
      description: "Points in the square around the mean; the published number is 1600",
    }),
    outer_classes: choice(CLASSES, {
      default: 3,
      aliases: ["M"],
      unit: "classes outside the square",
      description: "Classes of farther pairs, which are drawn into the square by one factor each",
    }),
    entropy_coded: flag({
      default: false,
      description: "Give frequent points fewer bits: the published bits are then the most it takes",
    }),
    raw_above: real({
      minimum: 0.01,
      maximum: 1,
      default: 0.2,
      unit: "mean error in standard deviations",
      description: "A matrix whose mean absolute error would be larger stays in floats",
    }),
    targets: choice(["linear", "embedding", "all"], {
      default: "linear",
      unit: "part of the model",
      description: "What to encode: linear layers, embedding with output head, or both",
    }),
  },
  needs: { environment: "default", gpu: false },
  leaves(params, facts) {
    return leavesEncoded(partsOf(params.targets), latticeForm(params), latticeBytes, facts);
  },
  order: encodesOnce,
  label: (params) => [
    ...(params.targets === "linear" ? [] : [params.targets]),
    params.entropy_coded ? "entropy coded" : `${pairBits(params) / 2}-bit`,
    `U${params.lattice_points}`,
  ],
  hint: codecHint,
  supports: hasMatrices,
  accepts: (_params, facts) => hasMatrices(facts),
  seed(boldness) {
    if (boldness === "conservative") return { lattice_points: 1600 };
    return { lattice_points: boldness === "balanced" ? 400 : 100 };
  },
  next: nextParams,
  estimateSeconds: ({ targets }, facts) =>
    START_SECONDS + weightsOf(targets, facts) / WEIGHTS_A_SECOND,
  // The checkpoint stays on disk; every code, and one matrix at a time.
  estimateMemory({ targets }, facts) {
    const largest = partsOf(targets).flatMap((part) => shapesOf(part, facts)).reduce(
      (most, { out_features, in_features }) => Math.max(most, out_features * in_features),
      0,
    );
    return PROCESS_BYTES + weightsOf(targets, facts) + COPIES_BYTES * largest;
  },
});
