import type { Artifact, ArtifactChange, Verification, VerifiedPart } from "../schemas/artifact.ts";
import type { GateDecision } from "../schemas/trial.ts";

/** Least cosine of weights that an action leaves alone: all that they lose is written in 16 bits. */
const UNTOUCHED_COSINE = 0.99999;

/** What a part of an artifact must meet; a null cosine: its shapes may differ from the source's. */
interface Demand {
  readonly part: VerifiedPart;
  readonly least_cosine: number | null;
}

/** Whether a change reaches a part: whole blocks take their norms along, narrower layers their biases. */
function reaches(change: ArtifactChange, part: string): boolean {
  if (change.part === part) return true;
  if (change.part === "block") return part !== "embedding";
  return part === "bias" && change.part === "linear" && change.least_cosine === null;
}

function demandOn(part: VerifiedPart, changes: readonly ArtifactChange[]): Demand {
  const floors = changes.filter((change) => reaches(change, part.part))
    .map(({ least_cosine }) => least_cosine);
  if (floors.length === 0) return { part, least_cosine: UNTOUCHED_COSINE };
  const numbers = floors.filter((floor) => floor !== null);
  return { part, least_cosine: numbers.length < floors.length ? null : Math.min(...numbers) };
}

/** Why a part is not what its action was to leave; null: it is. */
function faultOf({ part, least_cosine }: Demand, brings_tensors: boolean): string | null {
  if (least_cosine === null) return null;
  const others = part.reshaped + part.missing + (brings_tensors ? 0 : part.added);
  if (others > 0) {
    return `${others} ${part.part} tensors are not those of the source, which the action was to ` +
      `leave in their shapes: ${part.differs}`;
  }
  const cosine = part.minimum_cosine;
  if (cosine === null || cosine >= least_cosine) return null;
  return `least cosine of ${part.layers} ${part.part} tensors with their source is ` +
    `${digits(cosine)} (${part.worst_layer}), below ${least_cosine}`;
}

/** Five digits where it is nearly 1, else four: 0.99998 is not 1.0000. */
function digits(cosine: number): string {
  return cosine.toFixed(cosine > 0.999 ? 6 : 4);
}

/** The part that comes nearest to what it must meet; none where no cosine counts. */
function nearest(demands: readonly Demand[]): Demand | undefined {
  const room = ({ part, least_cosine }: Demand) =>
    part.minimum_cosine === null || least_cosine === null
      ? Infinity
      : part.minimum_cosine - least_cosine;
  const ordered = demands.filter((demand) => Number.isFinite(room(demand)))
    .sort((one, other) => room(one) - room(other));
  // A part that was changed says more than one that was not.
  return ordered.find(({ least_cosine }) => least_cosine !== UNTOUCHED_COSINE) ?? ordered[0];
}

function passed(verification: Verification, demands: readonly Demand[]): string {
  const told = demands.filter(({ part }) => part.layers > 0 || part.reshaped + part.added > 0)
    .map(({ part, least_cosine }) => {
      if (least_cosine === UNTOUCHED_COSINE) return `${part.part} as before`;
      if (least_cosine === null) return `${part.part} of other shapes, finite`;
      return `${part.part} at least ${digits(part.minimum_cosine ?? 1)} (${part.worst_layer}), ` +
        `not below ${least_cosine}`;
    });
  return `cosines of ${verification.layers} tensors with their source: ${told.join("; ")}`;
}

/** By what the action was to do: what it left alone is as it was, what it changed still resembles. */
function judged(
  verification: Verification,
  parts: readonly VerifiedPart[],
  changes: readonly ArtifactChange[],
): Omit<GateDecision, "gate"> {
  const abort = (reason: string, value: number | null = null, threshold: number | null = null) => ({
    decision: "abort" as const,
    reason,
    value,
    threshold,
  });
  const { not_finite, not_generated } = verification;
  if (not_finite !== null && not_finite !== undefined) {
    return abort(`the artifact holds values that are not finite: ${not_finite}`);
  }
  const demands = parts.map((part) => demandOn(part, changes));
  // What is trained and has nothing to be compared with lies beside the weights.
  const brings_tensors = changes.some(({ effect, least_cosine }) =>
    effect === "trains" && least_cosine === null
  );
  for (const demand of demands) {
    const fault = faultOf(demand, brings_tensors);
    if (fault !== null) return abort(fault, demand.part.minimum_cosine, demand.least_cosine);
  }
  if (not_generated !== null && not_generated !== undefined) {
    return abort(`the artifact generates no text: ${not_generated}`);
  }
  const least = nearest(demands);
  return {
    decision: "pass",
    reason: passed(verification, demands),
    value: least?.part.minimum_cosine ?? null,
    threshold: least?.least_cosine ?? null,
  };
}

/** The floor of records that tell the least cosine of all layers alone, by bits. */
function minimumCosine(weightBits: number | null): number {
  return weightBits === null || weightBits < 7 ? 0.1 : 0.6;
}

/** Records from before parts were told apart: their stage failed by itself where a part had changed. */
function judgedWhole(artifact: Artifact, verification: Verification): Omit<GateDecision, "gate"> {
  const threshold = minimumCosine(artifact.weight_bits);
  const value = verification.minimum_cosine ?? NaN;
  const sound = value >= threshold;
  return {
    decision: sound ? "pass" : "abort",
    reason: `least cosine of ${verification.layers} layers with their source is ` +
      `${value.toFixed(4)} (${verification.worst_layer}), ` +
      `${sound ? "not below" : "below"} ${threshold}`,
    value: Number.isNaN(value) ? null : value,
    threshold,
  };
}

/**
 * After each action: whether what was written is what the action was to make of its source. It finds
 * broken files (a swapped or transposed layer has a cosine of about 0), not poor ones: judging those
 * is the evaluation's work.
 */
export function verificationGate(artifact: Artifact): GateDecision {
  const gate = "verification";
  const { verification, changes } = artifact;
  if (verification === null) {
    return {
      gate,
      decision: "abort",
      reason: `artifact ${artifact.artifact_id} was not verified after it was written`,
      value: null,
      threshold: null,
    };
  }
  const { parts } = verification;
  if (parts === undefined || changes === undefined) {
    return { gate, ...judgedWhole(artifact, verification) };
  }
  return { gate, ...judged(verification, parts, changes) };
}

/** Whether an artifact was refused as it holds what is not a number, which is a failure of its own. */
export function isNotFinite({ verification }: Artifact): boolean {
  return Number.isNaN(verification?.minimum_cosine) ||
    (verification?.not_finite !== undefined && verification.not_finite !== null);
}
