import type { Artifact } from "../../../schemas/artifact.ts";
import type { Facts } from "../../../schemas/facts.ts";
import type { StageDecision } from "../../../schemas/stages/decision.ts";
import type { StagesPlan } from "../plan.ts";
import { countedBytes } from "../checks/artifact_checks.ts";

/** What an attempt at a stage left on disk, beside the formula and what was expected. */
export interface StageSize {
  readonly stage: string;
  readonly attempt: number;
  readonly artifact_id: string;
  /** Weight files on disk. */
  readonly bytes: number;
  /** As the format's formula predicts; null: it has none. */
  readonly formula_bytes: number | null;
  /** To what stood before, and to the original at 2 bytes a weight. */
  readonly ratio: number;
  readonly cumulative_ratio: number;
  /** As the document expects it; null: it does not. */
  readonly expected_bytes: number | null;
  readonly expected_ratio: number | null;
  /** Why what was expected cannot be; null: nothing was, or it is so. */
  readonly why_not: string | null;
  readonly passed: boolean;
}

/** Ratios that are not met by a tenth are told. */
const NEAR = 0.9;

/** Why the expected ratio was not met: of what is left in floats, and of the place that a code takes. */
function whyNot(
  size: Pick<StageSize, "ratio" | "expected_ratio" | "bytes">,
  artifact: Artifact,
  parent: Artifact,
): string | null {
  const { ratio, expected_ratio } = size;
  if (expected_ratio === null || ratio >= NEAR * expected_ratio) return null;
  const { weight_bits } = artifact;
  const floats = (artifact.floats ?? []).reduce((sum, part) => sum + part.bytes, 0);
  return [
    `${expected_ratio} times was expected, it is ${ratio.toFixed(2)}`,
    ...weight_bits === null ? [] : [
      `linear weights take ${(16 / weight_bits).toFixed(2)} times less than at 16 each, at most`,
    ],
    ...floats === 0
      ? []
      : [`${floats} bytes are left in floats, ${(100 * floats / size.bytes).toFixed(0)} % of it`],
    ...parent.parent_id === null
      ? []
      : ["it takes the place of the stage before it: their ratios do not multiply"],
  ].join("; ");
}

/** The size after each attempt that made something, in the order of the ledger. */
export function stageSizes(
  rows: readonly StageDecision[],
  plan: StagesPlan,
  artifacts: ReadonlyMap<string, Artifact>,
  facts: Facts,
): StageSize[] {
  const attempts = rows.filter(({ about, attempt }) => about === "size" && attempt > 0);
  return attempts.flatMap(({ stage, stage_index, attempt, from_artifact, to_artifact }) => {
    const artifact = artifacts.get(to_artifact ?? "");
    const parent = artifacts.get(from_artifact ?? "");
    if (artifact === undefined || parent === undefined) return [];
    const { expected } = plan.stages[stage_index]!;
    const bytes = artifact.size_bytes;
    const before = countedBytes(parent, facts);
    const ratio = before / bytes;
    const expected_bytes = expected.bytes ??
      (expected.ratio === undefined ? null : before / expected.ratio);
    const expected_ratio = expected.ratio ??
      (expected.bytes === undefined ? null : before / expected.bytes);
    const passed = rows.some((row) =>
      row.decision === "advance" && row.stage_index === stage_index && row.attempt === attempt
    );
    const size = { ratio, bytes, expected_ratio, expected_bytes };
    return [{
      ...{ stage, attempt, artifact_id: artifact.artifact_id, passed, ...size },
      formula_bytes: artifact.formula_bytes,
      cumulative_ratio: facts.model.fp16_bytes / bytes,
      why_not: whyNot(size, artifact, parent),
    }];
  });
}
